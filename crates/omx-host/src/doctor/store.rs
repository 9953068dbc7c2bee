//! Whether the project's folder can be written: the lock is taken once.

use std::path::Path;
use std::time::Duration;

use omx_store::StoreError;
use rustix::fs::{Access, access, statvfs};

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding, Fix};

const AREA: CheckArea = CheckArea::Store;

/// A lock that is held longer is held by something that hangs.
const PATIENCE: Duration = Duration::from_secs(2);

const MEGABYTE: u64 = 1024 * 1024;

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let (root, tree) = (env.store.root(), env.store.tree());
    let mut findings = Vec::new();
    if tree.symlink_metadata().is_err() {
        findings.push(match access(root, Access::WRITE_OK) {
            Ok(()) => DoctorFinding::fine(AREA, "store", "nothing was written in this project yet")
                .at(root),
            Err(error) => {
                let what = format!("the project's folder cannot be written: {error}");
                DoctorFinding::failure(AREA, "store", what, "change who may write it").at(root)
            }
        });
    } else {
        findings.extend(tree_works(env, tree));
    }
    findings.extend(disk(if tree.is_dir() { tree } else { root }));
    findings
}

fn tree_works(env: &DoctorEnv<'_>, tree: &Path) -> Vec<DoctorFinding> {
    let ignored = std::fs::read(tree.join(".gitignore")).is_ok_and(|text| !text.is_empty());
    let purpose = format!("{} doctor", env.context.dialect.name);
    let state = env.store.state_path();
    if state.symlink_metadata().is_err() {
        // Taking the lock would make it.
        let what = "the folder of documents is not there";
        let fix = "the next write makes it, or: omx doctor --fix";
        return vec![
            DoctorFinding::warning(AREA, "store", what, fix).at(&state).fixed_by(Fix::Folders),
        ];
    }
    if !ignored {
        let what = "git would show omx's files: .gitignore is missing";
        let fix = "omx doctor --fix";
        let finding = DoctorFinding::failure(AREA, "gitignore", what, fix);
        return vec![finding.at(&tree.join(".gitignore")).fixed_by(Fix::Folders)];
    }
    vec![match env.store.lock(PATIENCE, &purpose) {
        Ok(_) => DoctorFinding::fine(AREA, "store", "the store can be written and locked").at(tree),
        Err(error @ StoreError::Busy { .. }) => {
            let fix = "wait for that process, or end it if it hangs";
            DoctorFinding::failure(AREA, "lock", error.to_string(), fix).at(&state)
        }
        Err(error @ StoreError::Unsafe { .. }) => {
            let fix = "move away what stands there";
            DoctorFinding::failure(AREA, "store", error.to_string(), fix).at(&state)
        }
        Err(error) => {
            let fix = "change who may write there, or free the disk";
            DoctorFinding::failure(AREA, "store", error.to_string(), fix).at(&state)
        }
    }]
}

fn disk(place: &Path) -> Option<DoctorFinding> {
    let stat = statvfs(place).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    Some(room(free).at(place))
}

/// What so many free bytes mean.
fn room(free: u64) -> DoctorFinding {
    let megabytes = free / MEGABYTE;
    let what = format!("{megabytes} MB are free");
    match megabytes {
        0..64 => DoctorFinding::failure(
            AREA,
            "disk",
            what,
            "free some space: nothing can be written soon",
        ),
        64..1024 => {
            DoctorFinding::warning(AREA, "disk", what, "free some space: worktrees need it")
        }
        _ => DoctorFinding::fine(AREA, "disk", what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::FindingLevel;

    #[test]
    fn hosts_6_a_full_disk_is_a_failure() {
        assert_eq!(room(10 * MEGABYTE).level, FindingLevel::Failure);
        assert_eq!(room(500 * MEGABYTE).level, FindingLevel::Warning);
        assert_eq!(room(5000 * MEGABYTE).level, FindingLevel::Fine);
    }
}
