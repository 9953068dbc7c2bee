//! Finds out which hook failed. git's exit code does not say, and a hook's output is
//! unreliable, so this reads git's own trace of its child processes.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

/// One of the person's hooks that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedHook {
    /// Its name, such as `pre-commit`.
    pub name: String,
    /// Its exit code.
    pub code: i32,
    /// The end of standard error.
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

/// Returns the last hook that failed, from a trace in git's event format.
pub(super) fn failed_hook(trace: &Path) -> Option<(String, i32)> {
    let text = std::fs::read_to_string(trace).ok()?;
    let events: Vec<Event> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        // Processes that a hook starts write to the same trace, as children.
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
