//! The message of the commit that holds a step's work.

use omx_agents::results::ResultKind;
use omx_kernel::Mode;
use serde_json::Value;

use crate::workflow::{Step, StepKind};

/// The longest first line of a commit message.
const LONGEST: usize = 72;

/// The commit message for a step of a run in this mode; none for steps that change nothing.
pub(super) fn commit_message(mode: Mode, step: &Step, result: &Value) -> Option<String> {
    let StepKind::Agent(agent) = &step.kind else { return None };
    if agent.wants != ResultKind::Work {
        return None;
    }
    let summary = result.get("summary").and_then(Value::as_str).unwrap_or_default();
    let line: String = summary.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    Some(format!("{line}\n\n{} of {} ({})", agent.role, mode.name(), step.key))
}
