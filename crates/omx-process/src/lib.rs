//! Child processes: the guard, pipes, deadlines, process identity, signals.
//!
//! Everything omx starts on behalf of a run goes through here, so that it ends on
//! time and leaves nothing behind. This crate knows nothing about agents, runs or
//! documents, and links no other crate of the workspace. Whatever differs by operating
//! system is in [`platform`], and nowhere else.

mod command_output;
mod confinement;
mod disk_space;
pub mod git_dir;
pub mod guard;
mod guarded;
mod guarded_run;
mod last_answer;
mod launch;
mod marked;
mod parent;
mod plain_file;
pub mod platform;
mod process_info;
mod search_path;

pub use command_output::{
    CommandLimits, CommandOutput, KeptOutput, Leftovers, kill_group, run_with_deadline,
};
pub use confinement::{
    Confinement, ConfinementMeans, FileRules, OLDEST_LANDLOCK, confine_command, find_confinement,
    try_bubblewrap,
};
pub use disk_space::{DiskSpace, disk_space};
pub use guard::signal_descendants;
pub use guarded::{GuardedProcess, ProcessEvent};
pub use guarded_run::{GuardedExit, GuardedOutput, GuardedRun};
pub use last_answer::{answer_after, claim_answer, ignore_file_size_signal};
pub use launch::Launch;
pub use marked::{end_marked, find_marked};
pub use parent::on_parent_exit;
pub use plain_file::{read_plain_file, read_plain_tail};
pub use platform::ProcessHandle;
pub use process_info::{ProcessId, ProcessInfo, has_variable, with_ancestors};
pub use rustix::process::Signal;
pub use search_path::SearchPath;
