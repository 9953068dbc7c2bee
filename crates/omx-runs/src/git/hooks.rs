//! Which hook failed. git's exit code does not tell, and what a hook prints is
//! anybody's guess; git's own trace of what it started does.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

/// A hook of the person's that said no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedHook {
    /// Its name, as `pre-commit`.
    pub name: String,
    /// Its exit code.
    pub code: i32,
    /// The end of what was said.
    pub words: String,
}

impl fmt::Display for FailedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the git hook {} failed with {}", self.name, self.code)?;
        if self.words.is_empty() { Ok(()) } else { write!(f, ": {}", self.words) }
    }
}

#[derive(Deserialize)]
struct Event {
    event: String,
    sid: String,
    child_id: Option<i64>,
    hook_name: Option<String>,
    code: Option<i32>,
}

/// The last hook that failed, from a trace in git's event format.
pub(super) fn failed_hook(trace: &Path) -> Option<(String, i32)> {
    let text = std::fs::read_to_string(trace).ok()?;
    let events: Vec<Event> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        // What a hook itself starts writes into the same trace, as a child.
        .filter(|event: &Event| !event.sid.contains('/'))
        .collect();
    let name_of = |child: Option<i64>| {
        let start =
            events.iter().find(|event| event.event == "child_start" && event.child_id == child);
        start.and_then(|event| event.hook_name.clone())
    };
    events
        .iter()
        .rev()
        .filter(|event| event.event == "child_exit")
        .filter_map(|event| Some((name_of(event.child_id)?, event.code?)))
        .find(|(_, code)| *code != 0)
}
