//! Exit codes: one table for the whole program. The man page prints it.

/// How the program ends.
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
            Self::Interrupted => 130,
        }
    }
}

/// What help and man page end with: examples, and all codes there are.
pub const AFTER_HELP: &str = "\
Examples:
  omx status                     what runs in this project
  omx cancel                     stop it
  omx state read --mode ralph    one mode's document

Exit codes:
  0    done
  1    refused or failed
  2    wrong usage
  3    the person is needed (blocked_on_user)
  4    cancelled
  5    a limit or budget was reached
  130  interrupted";
