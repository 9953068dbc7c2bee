//! What becomes of a step's changes, and the message of their commit.

use omx_agents::results::ResultKind;
use omx_kernel::Mode;
use omx_runs::StepEdits;
use serde_json::Value;

use crate::workflow::{Step, StepKind};

/// The maximum length of a commit message's first line.
const LONGEST: usize = 72;

/// Returns what becomes of the changes of a step of a run in this mode. Only steps that do
/// work change anything; what a check changes stays in the workspace.
pub(super) fn step_edits(mode: Mode, step: &Step, result: &Value) -> StepEdits {
    let StepKind::Agent(agent) = &step.kind else { return StepEdits::Keep };
    if agent.wants != ResultKind::Work {
        return StepEdits::Discard;
    }
    let summary = result.get("summary").and_then(Value::as_str).unwrap_or_default();
    let line: String = summary.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    StepEdits::Commit(format!("{line}\n\n{} of {} ({})", agent.role, mode.name(), step.key))
}
