//! Processes that carry omx's mark, work in this project, and have no omx above
//! them any more.

use std::fs;
use std::path::{Path, PathBuf};

use omx_store::Store;

/// A process without its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrphanProcess {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Where it works.
    pub folder: PathBuf,
}

/// No chain of parents is longer.
const GENERATIONS: usize = 200;

/// The orphans of a project. Without `/proc` there are none to be seen.
pub(super) fn orphans(mark: &str, store: &Store) -> Vec<OrphanProcess> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mine: Vec<u32> = parents(std::process::id()).collect();
    let is_orphan =
        |pid: &u32| !mine.contains(pid) && is_marked(*pid, mark) && !parents(*pid).any(is_omx);
    let mut orphans: Vec<OrphanProcess> = pids.filter(is_orphan).filter_map(told).collect();
    orphans.retain(|orphan| {
        orphan.folder.starts_with(store.root()) || orphan.folder.starts_with(store.tree())
    });
    orphans.sort_by_key(|orphan| orphan.pid);
    orphans
}

fn told(pid: u32) -> Option<OrphanProcess> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned();
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    Some(OrphanProcess { pid, name, folder })
}

/// Whether the process was started with the mark.
fn is_marked(pid: u32, mark: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let wanted = format!("{mark}=");
    environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(wanted.as_bytes()))
}

/// The process and all above it.
fn parents(pid: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(pid), |pid| parent(*pid)).take(GENERATIONS)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().nth(1)?.parse().ok()?;
    (parent > 0).then_some(parent)
}

/// Whether the process is this program, also one that was replaced since.
fn is_omx(pid: u32) -> bool {
    let name = |pid: &str| {
        let path = fs::read_link(Path::new("/proc").join(pid).join("exe")).ok()?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some(name.trim_end_matches(" (deleted)").to_owned())
    };
    let own = name("self");
    own.is_some() && name(&pid.to_string()) == own
}
