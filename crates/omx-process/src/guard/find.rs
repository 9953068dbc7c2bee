//! Finds the guard that a process works under. A process cannot leave the tree of its
//! guard: one that loses its parent becomes a child of the guard.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::parent_id;
use std::sync::OnceLock;

use crate::platform;
use crate::process_info::{ProcessId, ProcessInfo};

/// The name of a guard in the process table. An ancestor's name cannot be changed by
/// what runs below it.
pub(crate) const GUARD_NAME: &str = "omx-guard";
/// The flag of a guard's command line after which it says whom its program works for.
pub(crate) const FOR_FLAG: &str = "--for";

/// The outermost guard above a process. What runs under a guard can start processes that
/// look like one, but none above the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AncestorGuard {
    /// Whom its program works for, as omx wrote it on the guard's command line.
    pub context: Option<OsString>,
}

impl AncestorGuard {
    /// Finds the guard above this process. A process never changes its guard, so the
    /// first answer stays valid: a server looks only once, and what outlives a killed
    /// guard still counts as its own.
    pub fn find() -> Option<&'static Self> {
        static GUARD: OnceLock<Option<AncestorGuard>> = OnceLock::new();
        let find = || {
            let guard = platform::find_outermost_named(parent_id(), GUARD_NAME)?;
            Some(Self { context: read_context(guard) })
        };
        GUARD.get_or_init(find).as_ref()
    }
}

/// A guard and the process that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveGuard {
    /// Whom its program works for, as its command line says. What an agent starts can
    /// look like a guard and say anything here.
    pub context: OsString,
    /// The process that started it.
    pub parent: ProcessId,
}

impl LiveGuard {
    /// Finds the guards that say whom they work for, by the process table alone.
    pub fn find_all() -> Vec<Self> {
        let guards = ProcessInfo::read_all();
        let guards = guards.into_iter().filter(|info| !info.is_dead && info.program == GUARD_NAME);
        let live = |info: ProcessInfo| {
            let parent = info.read_parent()?.id;
            Some(Self { context: read_context(info.id.pid)?, parent })
        };
        guards.filter_map(live).collect()
    }
}

fn read_context(guard: u32) -> Option<OsString> {
    let line = platform::read_command_line(guard);
    let mut words = line.split(|&byte| byte == 0).skip(2);
    let context = (words.next() == Some(FOR_FLAG.as_bytes())).then(|| words.next()).flatten();
    context.map(|text| OsString::from_vec(text.to_vec()))
}
