//! The plan of a whole setup or uninstall.

use super::disk::Disk;
use super::ground::{Catalogue, Ground, Scope};
use super::hosts;
use super::manifest::{FileRecord, Manifest};
use super::planner::{Plan, Planner};
use crate::HostKind;

/// What setting up these hosts would do.
pub fn plan_setup(
    ground: &Ground,
    disk: &dyn Disk,
    manifest: Option<Manifest>,
    catalogue: &Catalogue,
    wanted: &[HostKind],
) -> Plan {
    let mut planner = Planner::new(ground, disk, manifest);
    for &host in wanted {
        match host {
            HostKind::Codex => hosts::codex::set_up(&mut planner, catalogue),
            HostKind::Claude => hosts::claude::set_up(&mut planner, catalogue),
            HostKind::Gemini => hosts::gemini::set_up(&mut planner, catalogue),
        }
        let mut folders = vec![ground.homes.of(host)];
        folders.extend(match &ground.scope {
            Scope::User => None,
            Scope::Project(root) => Some(root.as_path()),
        });
        planner.take_out_rest(host, &folders);
    }
    planner.finish()
}

/// What taking omx out of these hosts would do.
pub fn plan_uninstall(
    ground: &Ground,
    disk: &dyn Disk,
    manifest: Option<Manifest>,
    wanted: &[HostKind],
) -> Plan {
    let mut planner = Planner::new(ground, disk, manifest);
    let records: Vec<FileRecord> = planner.old.files.clone();
    for record in records.iter().rev().filter(|record| wanted.contains(&record.host)) {
        planner.take_out(record);
    }
    if wanted.contains(&HostKind::Codex) {
        hosts::codex::keep_trust(&mut planner);
    }
    planner.finish()
}
