//! The host among the processes that this one descends from.

use std::os::unix::process::parent_id;

use omx_process::{ProcessId, ProcessInfo, with_ancestors};

/// Programs that hosts run their hooks with; none of them is the host itself.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout"];

/// The ancestors of this process, nearest first, without the first process of the system.
pub fn ancestors() -> impl Iterator<Item = ProcessInfo> {
    with_ancestors(parent_id()).take_while(|info| info.id.pid > 1)
}

/// The host that runs this hook: the nearest ancestor that is not a shell.
pub fn host() -> Option<ProcessId> {
    let is_shell = |program: &str| SHELLS.contains(&program.trim_start_matches('-'));
    ancestors().find(|info| !is_shell(&info.program)).map(|info| info.id)
}
