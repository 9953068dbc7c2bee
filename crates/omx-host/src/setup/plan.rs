//! Plans a whole setup or uninstall.

use super::disk::SetupDisk;
use super::manifest::{FileRecord, Manifest};
use super::paths::{SetupCatalog, SetupPaths, SetupScope};
use super::planner::{SetupPlan, SetupPlanner};
use omx_kernel::HostKind;

use crate::hosts::host_spec;

/// Plans the setup of these hosts.
pub fn plan_setup(
    paths: &SetupPaths,
    disk: &dyn SetupDisk,
    manifest: Option<Manifest>,
    catalog: &SetupCatalog,
    wanted: &[HostKind],
) -> SetupPlan {
    let mut planner = SetupPlanner::new(paths, disk, manifest);
    for &host in wanted {
        (host_spec(host).setup.set_up)(&mut planner, catalog);
        let mut folders = vec![paths.homes.folder(host)];
        folders.extend(match &paths.scope {
            SetupScope::User => None,
            SetupScope::Project(root) => Some(root.as_path()),
        });
        planner.take_out_rest(host, &folders);
    }
    planner.finish()
}

/// Plans the removal of omx from these hosts.
pub fn plan_uninstall(
    paths: &SetupPaths,
    disk: &dyn SetupDisk,
    manifest: Option<Manifest>,
    wanted: &[HostKind],
) -> SetupPlan {
    let mut planner = SetupPlanner::new(paths, disk, manifest);
    let records: Vec<FileRecord> = planner.old.files.clone();
    for record in records.iter().rev().filter(|record| wanted.contains(&record.host)) {
        planner.take_out(record);
    }
    for &host in wanted {
        (host_spec(host).setup.after_removal)(&mut planner);
    }
    planner.finish()
}
