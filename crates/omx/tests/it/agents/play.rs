//! What an agent does in a test, in words of no driver: the stage of a real
//! program turns it into a script of the model, the rehearsal's into a scenario.

use serde_json::Value;

/// A named list of steps. A prompt chooses it with [`Play::cue`].
#[derive(Debug, Clone)]
pub struct Play {
    pub name: &'static str,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub enum Step {
    /// Final words, or words between.
    Say(&'static str),
    /// Words that take a minute.
    SaySlowly,
    /// A new file in the project.
    Write(&'static str, &'static str),
    /// A shell command.
    Shell(&'static str),
    /// A tool of the MCP server `omx`.
    Mcp(&'static str, Value),
    /// A structured answer.
    Answer(Value),
    /// An answer that is not the structured one that was asked for.
    Chatter,
    /// Trouble at the vendor's.
    Fail(Failing),
}

#[derive(Debug, Clone, Copy)]
pub enum Failing {
    /// 429 without a word on when it ends.
    Limited,
    /// 429 until this moment (seconds since 1970).
    LimitedUntil(u64),
    /// 401
    Unauthorised,
    /// 500
    Service,
    /// The stream breaks off.
    Cut,
    /// The model is not known.
    UnknownModel,
}

impl Play {
    pub fn new(name: &'static str, steps: impl IntoIterator<Item = Step>) -> Self {
        Self { name, steps: steps.into_iter().collect() }
    }

    /// The prompt that starts it.
    pub fn cue(&self, words: &str) -> String {
        format!("{words} [[script:{}]]", self.name)
    }
}

/// The prompt that starts the play of this name.
pub fn cue(name: &str) -> String {
    format!("please [[script:{name}]]")
}
