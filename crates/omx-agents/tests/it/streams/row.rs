//! What the other side of each driver is.

use omx_agents::AgentKind;
use omx_agents::protocol::Launch;
use serde_json::Value;

/// Whether a program can be made to ask before it acts.
#[derive(PartialEq)]
pub enum Leave {
    Asked,
    NeverAsked,
}

/// One driver's program, as far as its lines go.
pub struct Row {
    pub kind: AgentKind,
    pub leave: Leave,
    /// What it says to a line written to it; plain words are a string.
    pub answer: fn(&mut Mind, &Value) -> Vec<Value>,
    /// Other lines it may say, at any time: one JSON value a line.
    pub unasked: &'static str,
    /// Lines it may write to standard error.
    pub complaints: &'static [&'static str],
}

impl Row {
    pub fn unasked(&self) -> Vec<Value> {
        let lines = self.unasked.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

/// What a program keeps in mind.
#[derive(Default)]
pub struct Mind {
    /// The arguments it was started with.
    pub args: Vec<String>,
    /// Turns it was asked for.
    pub turns: usize,
    /// The id of the request that began the last turn.
    pub request: Value,
}

impl Mind {
    pub fn of(launch: &Launch) -> Self {
        let args = launch.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        Self { args, ..Self::default() }
    }

    /// The argument after this one.
    pub fn argument(&self, name: &str) -> Option<&str> {
        let at = self.args.iter().position(|arg| arg == name)?;
        self.args.get(at + 1).map(String::as_str)
    }
}
