//! What a prompt can mean, in types: the decision, and for each candidate in it
//! why it counts or not.

use omx_kernel::Mode;

/// What the person configured about phrases (`keywords`). Explicit calls and
/// cancel words count in every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeywordPolicy {
    /// Phrases suggest a mode.
    #[default]
    Explicit,
    /// Phrases start a mode.
    Phrases,
    /// Phrases mean nothing.
    Off,
}

impl KeywordPolicy {
    /// Reads the configured word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "explicit" => Some(Self::Explicit),
            "phrases" => Some(Self::Phrases),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// What there is in the session the prompt was typed into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// Nothing that waits for anything.
    #[default]
    Idle,
    /// A mode is active.
    Active,
    /// No mode is active, and one ended as `blocked_on_user`.
    Blocked,
}

/// What the prompt means for omx.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PromptDecision<'a> {
    /// Nothing.
    Nothing,
    /// The agent is told that the mode exists and how the person can start it.
    Suggest(Mode),
    /// A mode starts.
    Start(ModeStart<'a>),
    /// What is active is cancelled.
    Cancel,
    /// What is `blocked_on_user` goes on.
    Resume,
}

/// A mode to start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModeStart<'a> {
    /// The mode.
    pub mode: Mode,
    /// The modes that start with it, linked to it.
    pub linked: Vec<Mode>,
    /// The task: what follows the call, else what stands before it; may be empty.
    pub task: &'a str,
    /// What started it.
    pub form: CallForm,
}

/// How a mode was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallForm {
    /// `$name` or `/name` where a line begins.
    Call,
    /// The name leading the prompt, with a task after it.
    Address,
    /// A phrase of hosts.md 3.
    Phrase,
}

/// What a candidate stands for.
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

/// Something in the prompt that could have meant a mode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate<'a> {
    /// What it stands for.
    pub target: CallTarget,
    /// Its form.
    pub form: CallForm,
    /// Its text as typed.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub at: usize,
    /// Whether it counts.
    pub verdict: CandidateVerdict,
}

/// Whether a candidate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CandidateVerdict {
    /// It does.
    Accepted,
    /// It does not.
    Rejected(RejectReason),
}

/// Why a candidate does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectReason {
    /// It stands in code.
    Code,
    /// It stands in a quotation.
    Quoted,
    /// It stands in text a program put there, or in a comment.
    Injected,
    /// It is part of a file name, an address or a longer word.
    Joined,
    /// It stands in the middle of a line.
    NotAtLineStart,
    /// It goes on with the sentence of the line before.
    MidSentence,
    /// The line before announces it as an example.
    Announced,
    /// It is one entry of a list of modes.
    Listed,
    /// It stands in a question.
    Question,
    /// It is negated.
    Negated,
    /// Something is said about it.
    Mention,
    /// It stands in a report about what went wrong.
    Report,
    /// Nothing that could be a task follows.
    NoTask,
    /// The person only wants to look at it first.
    Exploring,
    /// Phrases do not start modes as configured.
    TurnedOff,
    /// A mode is active already.
    Busy,
    /// Another one comes first.
    Outranked,
    /// Only an explicit call starts this one.
    NeedsCall,
}

impl RejectReason {
    /// The reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "it is in code",
            Self::Quoted => "it is quoted",
            Self::Injected => "a program wrote it",
            Self::Joined => "it is part of a longer name",
            Self::NotAtLineStart => "it is not at the start of a line",
            Self::MidSentence => "it goes on with the line before",
            Self::Announced => "the line before announces it as an example",
            Self::Listed => "it is in a list of modes",
            Self::Question => "it is in a question",
            Self::Negated => "it is negated",
            Self::Mention => "it is talked about",
            Self::Report => "it is in a report about a problem",
            Self::NoTask => "no task follows",
            Self::Exploring => "the person wants to think first",
            Self::TurnedOff => "keywords are off",
            Self::Busy => "a mode is active already",
            Self::Outranked => "another one comes first",
            Self::NeedsCall => "only an explicit call starts it",
        }
    }
}

/// The decision with everything that was weighed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PromptExplanation<'a> {
    /// The same as [`crate::decide`] gives.
    pub decision: PromptDecision<'a>,
    /// Every candidate, in the order of the text.
    pub candidates: Vec<Candidate<'a>>,
}
