//! Whether the project's folder can be written: the lock is taken once.

use std::path::Path;
use std::time::Duration;

use omx_store::StoreError;
use rustix::fs::{Access, access, statvfs};

use super::finding::{Area, Finding, Mend};
use super::patient::Patient;

const AREA: Area = Area::Store;

/// A lock that is held longer is held by something that hangs.
const PATIENCE: Duration = Duration::from_secs(2);

const MEGABYTE: u64 = 1024 * 1024;

pub(super) fn check(patient: &Patient<'_>) -> Vec<Finding> {
    let (root, tree) = (patient.store.root(), patient.store.tree());
    let mut findings = Vec::new();
    if tree.symlink_metadata().is_err() {
        findings.push(match access(root, Access::WRITE_OK) {
            Ok(()) => {
                Finding::fine(AREA, "store", "nothing was written in this project yet").at(root)
            }
            Err(error) => {
                let what = format!("the project's folder cannot be written: {error}");
                Finding::failure(AREA, "store", what, "change who may write it").at(root)
            }
        });
    } else {
        findings.extend(tree_works(patient, tree));
    }
    findings.extend(disk(if tree.is_dir() { tree } else { root }));
    findings
}

fn tree_works(patient: &Patient<'_>, tree: &Path) -> Vec<Finding> {
    let ignored = std::fs::read(tree.join(".gitignore")).is_ok_and(|text| !text.is_empty());
    let purpose = format!("{} doctor", patient.context.dialect.name);
    let state = patient.store.state_path();
    if state.symlink_metadata().is_err() {
        // Taking the lock would make it.
        let what = "the folder of documents is not there";
        let fix = "the next write makes it, or: omx doctor --fix";
        return vec![
            Finding::warning(AREA, "store", what, fix).at(&state).mended_by(Mend::Folders),
        ];
    }
    if !ignored {
        let what = "git would show omx's files: .gitignore is missing";
        let fix = "omx doctor --fix";
        let finding = Finding::failure(AREA, "gitignore", what, fix);
        return vec![finding.at(&tree.join(".gitignore")).mended_by(Mend::Folders)];
    }
    vec![match patient.store.lock(PATIENCE, &purpose) {
        Ok(_) => Finding::fine(AREA, "store", "the store can be written and locked").at(tree),
        Err(error @ StoreError::Busy { .. }) => {
            let fix = "wait for that process, or end it if it hangs";
            Finding::failure(AREA, "lock", error.to_string(), fix).at(&state)
        }
        Err(error @ StoreError::Unsafe { .. }) => {
            let fix = "move away what stands there";
            Finding::failure(AREA, "store", error.to_string(), fix).at(&state)
        }
        Err(error) => {
            let fix = "change who may write there, or free the disk";
            Finding::failure(AREA, "store", error.to_string(), fix).at(&state)
        }
    }]
}

fn disk(place: &Path) -> Option<Finding> {
    let stat = statvfs(place).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    Some(room(free).at(place))
}

/// What so many free bytes mean.
fn room(free: u64) -> Finding {
    let megabytes = free / MEGABYTE;
    let what = format!("{megabytes} MB are free");
    match megabytes {
        0..64 => {
            Finding::failure(AREA, "disk", what, "free some space: nothing can be written soon")
        }
        64..1024 => Finding::warning(AREA, "disk", what, "free some space: worktrees need it"),
        _ => Finding::fine(AREA, "disk", what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn hosts_6_a_full_disk_is_a_failure() {
        assert_eq!(room(10 * MEGABYTE).level, Level::Failure);
        assert_eq!(room(500 * MEGABYTE).level, Level::Warning);
        assert_eq!(room(5000 * MEGABYTE).level, Level::Fine);
    }
}
