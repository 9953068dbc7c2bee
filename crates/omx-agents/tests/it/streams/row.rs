//! The simulated program of each driver.

use omx_agents::AgentKind;
use omx_agents::protocol::Launch;
use serde_json::Value;

/// Whether a program can ask before it acts.
#[derive(PartialEq)]
pub enum ApprovalSupport {
    Asks,
    NeverAsks,
}

/// The lines of one driver's program.
pub struct DriverRow {
    pub kind: AgentKind,
    pub approvals: ApprovalSupport,
    /// Its response to a line; plain text is a string.
    pub answer: fn(&mut ProgramMemory, &Value) -> Vec<Value>,
    /// Other lines it may write at any time, one JSON value per line.
    pub unsolicited: &'static str,
    /// Lines it may write to standard error.
    pub stderr_lines: &'static [&'static str],
}

impl DriverRow {
    pub fn unsolicited_lines(&self) -> Vec<Value> {
        let lines = self.unsolicited.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

/// The memory of a program.
#[derive(Default)]
pub struct ProgramMemory {
    /// The arguments it was started with.
    pub args: Vec<String>,
    /// The number of requested turns.
    pub turns: usize,
    /// The id of the request that started the last turn.
    pub request: Value,
}

impl ProgramMemory {
    pub fn from_launch(launch: &Launch) -> Self {
        let args = launch.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        Self { args, ..Self::default() }
    }

    /// The argument after this one.
    pub fn argument(&self, name: &str) -> Option<&str> {
        let at = self.args.iter().position(|arg| arg == name)?;
        self.args.get(at + 1).map(String::as_str)
    }
}
