//! Why something was refused: one sentence for a person, one code for a program.

use std::fmt;

/// The codes a program can rely on (`{"error":…,"code":…}`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalCode {
    /// A value of the wrong type or out of its range, or a request that says nothing usable.
    InvalidInput,
    /// Not one of the modes.
    UnknownMode,
    /// Not a usable session id.
    InvalidSessionId,
    /// A phase the mode does not have.
    InvalidPhase,
    /// An outcome nobody knows.
    InvalidOutcome,
    /// A phase that may not follow, or may not follow yet.
    IllegalTransition,
    /// Two things at once that exclude each other.
    Contradiction,
    /// The document changed since it was read.
    RevisionConflict,
    /// The run was cancelled; only an explicit start begins a new one.
    RecentlyCancelled,
    /// Another driver runs in this session.
    ModeConflict,
    /// The mode hangs on another one.
    LinkedMode,
    /// The mode is active in a session and none was named.
    SessionRequired,
    /// Modes are active in several sessions and none was named.
    AmbiguousSession,
    /// The project's lock was not had in time.
    Busy,
    /// The stored document cannot be read.
    CorruptState,
    /// Something other than a file stands where a document belongs.
    UnsafePath,
    /// Over the size or depth a document may have.
    TooLarge,
    /// The file system said no.
    Io,
}

impl RefusalCode {
    /// The word that stands in `"code"`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::UnknownMode => "unknown_mode",
            Self::InvalidSessionId => "invalid_session_id",
            Self::InvalidPhase => "invalid_phase",
            Self::InvalidOutcome => "invalid_outcome",
            Self::IllegalTransition => "illegal_transition",
            Self::Contradiction => "contradiction",
            Self::RevisionConflict => "revision_conflict",
            Self::RecentlyCancelled => "recently_cancelled",
            Self::ModeConflict => "mode_conflict",
            Self::LinkedMode => "linked_mode",
            Self::SessionRequired => "session_required",
            Self::AmbiguousSession => "ambiguous_session",
            Self::Busy => "busy",
            Self::CorruptState => "corrupt_state",
            Self::UnsafePath => "unsafe_path",
            Self::TooLarge => "too_large",
            Self::Io => "io",
        }
    }
}

/// A request that was not carried out. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// For programs.
    pub code: RefusalCode,
    /// For people: what is wrong and what to do.
    pub message: String,
}

impl Refusal {
    /// A refusal with its sentence.
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The most common kind.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(RefusalCode::InvalidInput, message)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// `a, b or c`, for sentences that list what may be.
pub(crate) fn join_alternatives<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", first.join(", "), last.as_ref())
        }
    }
}
