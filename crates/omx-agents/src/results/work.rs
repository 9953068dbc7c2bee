//! Work: what was done, as the one who did it tells it.

use super::field::{FilePath, Text};
use super::record::record;

record! {
    /// What a worker did.
    pub struct Work {
        /// What works now, and what a reader would not expect.
        summary: Text as &str,
        /// Every file created, changed or removed: paths from the project's
        /// folder, without "..".
        changed_files: Vec<FilePath> as &[FilePath],
        /// The commands that prove it.
        commands: Vec<CommandRun> as &[CommandRun],
        /// Whether all of the task is done.
        done: bool as bool,
        /// Why it is not done; null if it is.
        blocked_reason: Option<Text> as Option<&str>,
    }
}

record! {
    /// A command that was run.
    pub struct CommandRun {
        /// The command, as it was run.
        command: Text as &str,
        /// The exit code that was seen.
        exit_code: i64 as i64,
    }
}
