//! The message of the commit for a step's work.

use omx_agents::results::ResultKind;
use omx_kernel::Mode;
use serde_json::Value;

use crate::workflow::{Step, StepKind};

/// The maximum length of a commit message's first line.
const LONGEST: usize = 72;

/// Returns the commit message for a step of a run in this mode; `None` for steps that
/// change nothing.
pub(super) fn commit_message(mode: Mode, step: &Step, result: &Value) -> Option<String> {
    let StepKind::Agent(agent) = &step.kind else { return None };
    if agent.wants != ResultKind::Work {
        return None;
    }
    let summary = result.get("summary").and_then(Value::as_str).unwrap_or_default();
    let line: String = summary.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    Some(format!("{line}\n\n{} of {} ({})", agent.role, mode.name(), step.key))
}
