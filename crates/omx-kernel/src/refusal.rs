//! Refusals: a sentence for the person and a code for programs.

use std::fmt;

/// The codes that programs can rely on (`{"error":…,"code":…}`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalCode {
    /// A value of the wrong type or out of range, or an unusable request.
    InvalidInput,
    /// Not one of the modes.
    UnknownMode,
    /// Not a valid session id.
    InvalidSessionId,
    /// A phase the mode does not have.
    InvalidPhase,
    /// An unknown outcome.
    InvalidOutcome,
    /// A phase that may not follow the current one, or not yet.
    IllegalTransition,
    /// The request contradicts itself.
    Contradiction,
    /// The document has changed since the caller read it.
    RevisionConflict,
    /// The run was cancelled; a new one needs an explicit start.
    RecentlyCancelled,
    /// Another driver mode runs in this session.
    ModeConflict,
    /// The mode is linked to another one.
    LinkedMode,
    /// The mode is active in a session and none was named.
    SessionRequired,
    /// Modes are active in several sessions and none was named.
    AmbiguousSession,
    /// Another process held the project's lock for too long.
    Busy,
    /// The stored document is unreadable.
    CorruptState,
    /// Something other than a plain file is in a document's place.
    UnsafePath,
    /// The document exceeds the maximum size or depth.
    TooLarge,
    /// The project's configuration counts only after the person trusts it.
    NeedsTrust,
    /// Only the person may do this, and an agent asked for it.
    PersonOnly,
    /// The system cannot confine agents, and the person has not agreed to go without.
    NotConfined,
    /// The file system reported an error.
    Io,
}

impl RefusalCode {
    /// The value of `"code"`.
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
            Self::NeedsTrust => "needs_trust",
            Self::PersonOnly => "person_only",
            Self::NotConfined => "not_confined",
            Self::Io => "io",
        }
    }
}

/// A request that was refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// For programs.
    pub code: RefusalCode,
    /// For the person: what is wrong and what to do.
    pub message: String,
}

impl Refusal {
    /// Creates a refusal.
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Creates a refusal with the code `invalid_input`.
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

/// Formats alternatives as `a, b or c`.
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
