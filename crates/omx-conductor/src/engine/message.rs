//! How the work of a step is called in the history of its branch.

use serde_json::Value;

use super::{Doing, Engine};
use crate::story::{StepKey, Work};

/// The longest first line of a commit.
const LONGEST: usize = 72;

impl Engine {
    /// The message of the commit that holds a step's work; none for steps that
    /// only look.
    pub fn commit_message(&self, key: &StepKey) -> Option<String> {
        let active = self.active.get(key)?;
        let Work::Errand(errand) = &active.step.work else { return None };
        if errand.wants != omx_agents::results::ResultKind::Work {
            return None;
        }
        let Doing::Settling(result) = &active.doing else { return None };
        let summary = result.get("summary").and_then(Value::as_str).unwrap_or_default();
        let line: String =
            summary.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
        Some(format!("{line}\n\n{} of {} ({key})", errand.role, self.asked.mode.name()))
    }
}
