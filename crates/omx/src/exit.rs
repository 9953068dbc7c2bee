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
}

impl Exit {
    /// The number the shell sees.
    pub const fn code(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
        }
    }
}

/// All codes there are, as the man page and the help tell them.
pub const TABLE: &str = "\
Exit codes:
  0    done
  1    refused or failed
  2    wrong usage
  3    the person is needed (blocked_on_user)
  4    cancelled
  5    a limit or budget was reached
  130  interrupted";
