//! What an agent does in a test, independent of the driver: the stage of a real
//! program turns it into a script of the model, the rehearsal's into a scenario.

use serde_json::Value;

/// A named list of steps. A prompt chooses it with [`Play::cue`].
#[derive(Debug, Clone)]
pub struct AgentPlay {
    pub name: &'static str,
    pub steps: Vec<PlayStep>,
}

#[derive(Debug, Clone)]
pub enum PlayStep {
    /// Text, at the end of a turn or before it.
    Say(&'static str),
    /// A reply that takes a minute.
    SaySlowly,
    /// A new file in the project.
    Write(&'static str, &'static str),
    /// A shell command.
    Shell(&'static str),
    /// A tool of the MCP server `omx`.
    Mcp(&'static str, Value),
    /// A structured answer.
    Answer(Value),
    /// Text instead of the requested structured answer.
    Chatter,
    /// A failure of the vendor.
    Fail(PlayFailure),
}

#[derive(Debug, Clone, Copy)]
pub enum PlayFailure {
    /// 429 without an end.
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

impl AgentPlay {
    pub fn new(name: &'static str, steps: impl IntoIterator<Item = PlayStep>) -> Self {
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
