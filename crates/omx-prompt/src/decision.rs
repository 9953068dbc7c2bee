//! The types of the decision on a prompt, and of the verdict on each candidate in it.

use omx_kernel::Mode;

/// The configured meaning of phrases (`keywords`). Explicit calls and cancel words work
/// under every policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeywordPolicy {
    /// Phrases suggest a mode.
    #[default]
    Explicit,
    /// Phrases start a mode.
    Phrases,
    /// Phrases are ignored.
    Off,
}

impl KeywordPolicy {
    /// Parses the configured value.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "explicit" => Some(Self::Explicit),
            "phrases" => Some(Self::Phrases),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// The state of the session that the prompt belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// No mode is active or blocked.
    #[default]
    Idle,
    /// A mode is active.
    Active,
    /// No mode is active, and one is `blocked_on_user`.
    Blocked,
}

/// What the prompt means for omx.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PromptDecision<'a> {
    /// Nothing.
    Nothing,
    /// Tell the agent that the mode exists and how the person can start it.
    Suggest(Mode),
    /// Start a mode.
    Start(ModeStart<'a>),
    /// Cancel active modes.
    Cancel(CancelCall),
    /// Resume the mode that is `blocked_on_user`.
    Resume,
    /// Continue the active mode: tell the agent what its phase asks for.
    Continue,
}

/// A cancel in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CancelCall {
    /// What it ends.
    pub reach: CancelReach,
    /// Its form: a call, a coined word or phrase, or a bare command (`Address`).
    pub form: CallForm,
}

/// What a cancel in a prompt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelReach {
    /// The active modes of this session.
    Session,
    /// One mode of this session, and what is linked to it.
    Mode(Mode),
    /// The active modes of every session; nothing is deleted.
    EverySession,
    /// The active modes of every session, and the state of all of them.
    Force,
}

/// A mode to start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModeStart<'a> {
    /// The mode.
    pub mode: Mode,
    /// The modes to start together with it and link to it.
    pub linked: Vec<Mode>,
    /// The task: the text after the call, otherwise the text before it. May be empty.
    pub task: &'a str,
    /// The form of the call.
    pub form: CallForm,
}

/// The form in which a prompt names a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallForm {
    /// `$name` or `/name` at the start of a line.
    Call,
    /// The name at the start of the prompt, with a task after it.
    Address,
    /// A phrase of hosts.md 3.
    Phrase,
}

/// What a candidate calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallTarget {
    /// A mode.
    Mode(Mode),
    /// Cancel.
    Cancel,
}

impl CallTarget {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mode(mode) => mode.name(),
            Self::Cancel => "cancel",
        }
    }
}

/// A part of the prompt that could call a mode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate<'a> {
    /// What it calls.
    pub target: CallTarget,
    /// Its form.
    pub form: CallForm,
    /// Its text as typed.
    pub text: &'a str,
    /// Its byte offset in the prompt.
    pub at: usize,
    /// Whether it is accepted.
    pub verdict: CandidateVerdict,
}

/// Whether a candidate is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CandidateVerdict {
    /// It is.
    Accepted,
    /// It is not.
    Rejected(RejectReason),
}

/// Why a candidate is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectReason {
    /// It is in code.
    Code,
    /// It is in a quotation.
    Quoted,
    /// It is in text that a program inserted, or in a comment.
    Injected,
    /// It is part of a file name, a URL or a longer word.
    Joined,
    /// It is in the middle of a line.
    NotAtLineStart,
    /// It continues the sentence of the previous line.
    MidSentence,
    /// The previous line introduces it as an example.
    Announced,
    /// It is an item in a list of modes.
    Listed,
    /// It is in a question.
    Question,
    /// It is negated.
    Negated,
    /// The person talks about it.
    Mention,
    /// It is in a problem report.
    Report,
    /// No task follows.
    NoTask,
    /// The person only wants to explore.
    Exploring,
    /// The configuration turns phrases off.
    TurnedOff,
    /// A mode is already active.
    Busy,
    /// Another candidate takes precedence.
    Outranked,
    /// Only an explicit call can start this mode.
    NeedsCall,
}

impl RejectReason {
    /// The reason, for an explanation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "it is in code",
            Self::Quoted => "it is quoted",
            Self::Injected => "a program inserted it",
            Self::Joined => "it is part of a longer name",
            Self::NotAtLineStart => "it is not at the start of a line",
            Self::MidSentence => "it continues the previous line",
            Self::Announced => "the previous line introduces it as an example",
            Self::Listed => "it is in a list of modes",
            Self::Question => "it is in a question",
            Self::Negated => "it is negated",
            Self::Mention => "the person talks about it",
            Self::Report => "it is in a problem report",
            Self::NoTask => "no task follows",
            Self::Exploring => "the person wants to think first",
            Self::TurnedOff => "keywords are off",
            Self::Busy => "a mode is already active",
            Self::Outranked => "another candidate takes precedence",
            Self::NeedsCall => "only an explicit call can start it",
        }
    }
}

/// The decision together with every candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PromptExplanation<'a> {
    /// The same decision that [`crate::decide`] returns.
    pub decision: PromptDecision<'a>,
    /// Every candidate, in text order.
    pub candidates: Vec<Candidate<'a>>,
}
