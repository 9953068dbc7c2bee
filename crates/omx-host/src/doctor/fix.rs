//! Fixes what can be fixed without risk. Nothing of the person's is changed or deleted.

use std::time::Duration;

use omx_kernel::Scope;
use omx_store::StoreError;

use super::env::{DoctorEnv, Installation};
use super::finding::{DoctorReport, Fix};
use super::setup::plan_again;
use crate::setup::{Manifest, apply, lock_setup};

/// How long to wait for a lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// Applies the fixes of a report, and returns what was done, or why not.
pub fn apply_fixes(env: &DoctorEnv<'_>, report: &DoctorReport) -> Vec<Result<String, String>> {
    let mut done = Vec::new();
    for fix in report.fixes() {
        match fix {
            Fix::SetAside => done.extend(set_aside(env)),
            Fix::Folders => done.push(folders(env)),
            Fix::SetUp => done.extend(env.installed.iter().flat_map(set_up)),
        }
    }
    done
}

fn folders(env: &DoctorEnv<'_>) -> Result<String, String> {
    let purpose = format!("{} doctor", env.context.dialect.name);
    match env.store.lock(PATIENCE, &purpose) {
        Ok(_) => Ok(format!("created the folders of {}", env.store.tree().display())),
        Err(error) => Err(error.to_string()),
    }
}

/// Moves every unreadable document aside.
fn set_aside(env: &DoctorEnv<'_>) -> Vec<Result<String, String>> {
    let purpose = format!("{} doctor", env.context.dialect.name);
    let locked = match env.store.lock(PATIENCE, &purpose) {
        Ok(locked) => locked,
        Err(error) => return vec![Err(error.to_string())],
    };
    let now = env.context.clock.now();
    let mut reads = Vec::new();
    let all = locked.state().scope(&Scope::Compatibility).map(|read| reads.push(read));
    let all = all.and_then(|()| locked.state().for_each_session(|read| reads.push(read)));
    let mut done: Vec<Result<String, String>> = Vec::new();
    done.extend(all.err().map(|error: StoreError| Err(error.to_string())));
    for found in reads.iter().flat_map(|read| &read.unreadable) {
        match locked.quarantine(found, now) {
            Ok(Some(moved)) => {
                let (from, to) = (found.path.display(), moved.path.display());
                done.push(Ok(format!("moved {from} to {to}")));
            }
            Ok(None) => {}
            Err(error) => done.push(Err(error.to_string())),
        }
    }
    done
}

/// Runs setup again in one scope.
fn set_up(installed: &Installation) -> Vec<Result<String, String>> {
    let path = installed.paths.manifest();
    let fail = |error: &dyn std::error::Error| vec![Err(error.to_string())];
    match Manifest::load(&path) {
        Ok(Some(_)) => {}
        // Nothing is set up here, or the manifest is unreadable, which is a finding.
        Ok(None) | Err(_) => return Vec::new(),
    }
    let held = match lock_setup(&installed.paths.manifests, PATIENCE) {
        Ok(held) => held,
        Err(error) => return fail(&error),
    };
    let old = match Manifest::load(&path) {
        Ok(Some(manifest)) => manifest,
        Ok(None) => return Vec::new(),
        Err(error) => return fail(&error),
    };
    let program = old.omx.clone();
    let plan = plan_again(installed, old);
    let moved = plan.after.omx != program;
    match apply(&plan, &held) {
        Ok(notes) => {
            let changed = plan.changes.iter().map(|change| &change.path);
            let changed = changed.filter(|path| notes.iter().all(|note| note.path != **path));
            let manifest = moved.then_some(&path).into_iter();
            let done = changed.chain(manifest).map(|path| Ok(format!("wrote {}", path.display())));
            done.chain(
                notes.iter().map(|note| Err(format!("{}: {}", note.path.display(), note.text))),
            )
            .collect()
        }
        Err(error) => fail(&error),
    }
}
