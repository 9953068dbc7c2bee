//! Lock files that a killed git left behind. omx removes those of a git that it started
//! itself, in the worktree of the run; the trace of each call tells whether that git died.

use std::fs;
use std::path::{Path, PathBuf};

use omx_process::ProcessInfo;
use serde::Deserialize;

use super::error::GitError;
use super::names::BranchName;
use super::place::Checkout;

#[derive(Deserialize)]
struct TraceEvent {
    event: String,
    sid: String,
}

impl Checkout {
    /// Removes the lock files in this worktree, and of this branch, if a git that omx
    /// started there died. Returns those that it removed. The caller holds the run's lock,
    /// so no other omx calls git there.
    pub(crate) fn remove_dead_locks(&self, branch: &BranchName) -> Result<Vec<PathBuf>, GitError> {
        let traces = traces(self.git.scratch());
        let died = traces.iter().filter(|(_, state)| *state == TracedGit::Died);
        let mut removed = Vec::new();
        if died.clone().next().is_some() {
            let reference = format!("{}.lock", branch.reference());
            for lock in [
                self.git_dir().join("index.lock"),
                self.git_dir().join("HEAD.lock"),
                self.common_dir().join(reference),
            ] {
                match fs::remove_file(&lock) {
                    Ok(()) => removed.push(lock),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => return Err(GitError::io("remove", &lock, error)),
                }
            }
        }
        for (trace, _) in died {
            let _ = fs::remove_file(trace);
        }
        Ok(removed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TracedGit {
    /// It is running.
    Alive,
    /// It ended by itself, and removed its locks.
    Ended,
    /// It was killed.
    Died,
}

/// The traces in a scratch folder.
fn traces(scratch: &Path) -> Vec<(PathBuf, TracedGit)> {
    let entries = fs::read_dir(scratch).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("trace-"))
        .map(|entry| (entry.path(), state(&fs::read_to_string(entry.path()).unwrap_or_default())))
        .collect()
}

fn state(trace: &str) -> TracedGit {
    let events: Vec<TraceEvent> =
        trace.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // A git that another one started has the other's id before its own.
    let own = |event: &&TraceEvent| !event.sid.contains('/');
    if events.iter().filter(own).any(|event| event.event == "atexit") {
        return TracedGit::Ended;
    }
    let pid = events.iter().find(own).and_then(|event| pid(&event.sid));
    match pid.and_then(ProcessInfo::read) {
        Some(info) if info.program == "git" => TracedGit::Alive,
        _ => TracedGit::Died,
    }
}

/// The process id at the end of a session id, such as `…-H0a7c9cdf-P00007f8e`.
fn pid(sid: &str) -> Option<u32> {
    u32::from_str_radix(sid.rsplit_once("-P")?.1, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(event: &str, sid: &str) -> String {
        format!("{{\"event\":\"{event}\",\"sid\":\"{sid}\",\"time\":\"x\"}}\n")
    }

    #[test]
    fn a_git_died_if_its_trace_has_no_end_and_its_process_is_gone() {
        let sid = "20261116T084156.289652Z-H0a7c9cdf-Pffffffff";
        let start = event("start", sid);
        assert_eq!(state(&start), TracedGit::Died);
        assert_eq!(state(&(start.clone() + &event("atexit", sid))), TracedGit::Ended);
        let child = event("atexit", &format!("{sid}/{sid}"));
        assert_eq!(state(&(start + &child)), TracedGit::Died);
        // The trace of a git that was killed at once.
        assert_eq!(state(""), TracedGit::Died);
    }
}
