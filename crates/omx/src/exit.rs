//! Exit codes: one table for the whole program. The man page prints it.

/// The exit status of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Refused or failed.
    Failed,
    /// Wrong usage.
    Usage,
    /// The person is needed.
    NeedsPerson,
    /// Cancelled.
    Cancelled,
    /// A limit or budget was reached.
    Limit,
    /// A guard cannot confine its program. Only guards exit with it.
    CannotConfine,
    /// The person stopped it.
    Interrupted,
}

impl Exit {
    /// The number the shell sees.
    pub const fn code(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NeedsPerson => 3,
            Self::Cancelled => 4,
            Self::Limit => 5,
            Self::CannotConfine => 126,
            Self::Interrupted => 130,
        }
    }
}

/// The end of help and man page: examples and the exit codes.
pub const AFTER_HELP: &str = "\
Examples:
  omx autopilot \"add a --dry-run flag\"    run a task to the end
  omx status                              show what is active in this project
  omx cancel                              stop it

Exit codes:
  0    success
  1    refused or failed
  2    usage error
  3    needs you (blocked_on_user)
  4    cancelled
  5    limit or budget reached
  130  interrupted";
