//! Checks that the project's folder is writable, by taking the lock once.

use std::path::Path;
use std::time::Duration;

use omx_store::StoreError;
use rustix::fs::{Access, access, statvfs};

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding, Fix};

const AREA: CheckArea = CheckArea::Store;

/// Whoever holds the lock longer hangs.
const PATIENCE: Duration = Duration::from_secs(2);

const MEGABYTE: u64 = 1024 * 1024;

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let (root, tree) = (env.store.root(), env.store.tree());
    let mut findings = Vec::new();
    if tree.symlink_metadata().is_err() {
        findings.push(match access(root, Access::WRITE_OK) {
            Ok(()) => DoctorFinding::fine(AREA, "store", "this project has no state yet").at(root),
            Err(error) => {
                let what = format!("the project's folder is not writable: {error}");
                DoctorFinding::failure(AREA, "store", what, "change its permissions").at(root)
            }
        });
    } else {
        findings.extend(check_tree(env, tree));
    }
    findings.extend(check_disk(if tree.is_dir() { tree } else { root }));
    findings
}

fn check_tree(env: &DoctorEnv<'_>, tree: &Path) -> Vec<DoctorFinding> {
    let ignored = std::fs::read(tree.join(".gitignore")).is_ok_and(|text| !text.is_empty());
    let purpose = format!("{} doctor", env.context.dialect.name);
    let state = env.store.state_path();
    if state.symlink_metadata().is_err() {
        // Taking the lock would create it.
        let what = "the folder of documents is missing";
        let fix = format!("the next write creates it, or run {purpose} --fix");
        return vec![
            DoctorFinding::warning(AREA, "store", what, fix).at(&state).fixed_by(Fix::Folders),
        ];
    }
    if !ignored {
        let what = format!(".gitignore is missing, so git shows {}'s files", env.program());
        let fix = format!("run {purpose} --fix");
        let finding = DoctorFinding::failure(AREA, "gitignore", what, fix);
        return vec![finding.at(&tree.join(".gitignore")).fixed_by(Fix::Folders)];
    }
    vec![match env.store.lock(PATIENCE, &purpose) {
        Ok(_) => {
            DoctorFinding::fine(AREA, "store", "the store is writable and can be locked").at(tree)
        }
        Err(error @ StoreError::Busy { .. }) => {
            let fix = "wait for that process, or kill it if it hangs";
            DoctorFinding::failure(AREA, "lock", error.to_string(), fix).at(&state)
        }
        Err(error @ StoreError::Unsafe { .. }) => {
            let fix = "move it away";
            DoctorFinding::failure(AREA, "store", error.to_string(), fix).at(&state)
        }
        Err(error) => {
            let fix = "change the permissions, or free disk space";
            DoctorFinding::failure(AREA, "store", error.to_string(), fix).at(&state)
        }
    }]
}

fn check_disk(place: &Path) -> Option<DoctorFinding> {
    let stat = statvfs(place).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    Some(check_free_space(free).at(place))
}

/// The finding for so many free bytes.
fn check_free_space(free: u64) -> DoctorFinding {
    let megabytes = free / MEGABYTE;
    let what = format!("{megabytes} MB free");
    match megabytes {
        0..64 => {
            DoctorFinding::failure(AREA, "disk", what, "free some space: writes will fail soon")
        }
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
        assert_eq!(check_free_space(10 * MEGABYTE).level, FindingLevel::Failure);
        assert_eq!(check_free_space(500 * MEGABYTE).level, FindingLevel::Warning);
        assert_eq!(check_free_space(5000 * MEGABYTE).level, FindingLevel::Fine);
    }
}
