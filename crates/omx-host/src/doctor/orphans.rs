//! Processes that carry omx's mark, work in this project, and have no omx above them
//! anymore.

use std::ffi::OsString;
use std::path::PathBuf;

use omx_process::platform::{read_executable, read_working_directory};
use omx_process::{ProcessInfo, has_variable, with_ancestors};
use omx_store::Store;

/// A process that lost its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrphanProcess {
    /// Its pid.
    pub pid: u32,
    /// The name of its program.
    pub name: String,
    /// Its working directory.
    pub folder: PathBuf,
}

/// The orphans of a project. `mark` is the environment variable of omx's workers.
pub(super) fn orphans(mark: &str, store: &Store) -> Vec<OrphanProcess> {
    let own_line: Vec<u32> = with_ancestors(std::process::id()).map(|info| info.id.pid).collect();
    let is_orphan = |pid: u32| {
        !own_line.contains(&pid)
            && has_variable(pid, mark)
            && !with_ancestors(pid).any(|info| is_omx(info.id.pid))
    };
    let marked = ProcessInfo::read_all().into_iter().filter(|info| is_orphan(info.id.pid));
    let mut orphans: Vec<OrphanProcess> = marked
        .filter_map(|info| {
            let folder = read_working_directory(info.id.pid)?;
            Some(OrphanProcess { pid: info.id.pid, name: info.program, folder })
        })
        .collect();
    orphans.retain(|orphan| {
        orphan.folder.starts_with(store.root()) || orphan.folder.starts_with(store.tree())
    });
    orphans.sort_by_key(|orphan| orphan.pid);
    orphans
}

/// Whether a process runs this program, also a version that was replaced since.
fn is_omx(pid: u32) -> bool {
    let own = program_name(std::process::id());
    own.is_some() && program_name(pid) == own
}

fn program_name(pid: u32) -> Option<OsString> {
    Some(read_executable(pid)?.file_name()?.to_owned())
}
