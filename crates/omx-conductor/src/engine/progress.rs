//! Progress of steps and agents.

use omx_agents::event::{ApprovalRequest, ToolAction};
use omx_agents::failure::Failure;
use omx_runs::StepKey;
use omx_runs::progress::Progress;
use serde_json::Value;

use crate::prompts;
use crate::workflow::{JobStep, Step, StepKind, WorkflowContext};

pub(super) fn step_began(step: &Step, context: &WorkflowContext) -> Progress {
    let own = context.dialect.name.to_owned();
    let (who, what) = match &step.kind {
        StepKind::Agent(agent) => {
            (agent.role.clone(), prompts::describe_purpose(&agent.purpose).to_owned())
        }
        StepKind::Check => (own, "runs the check".to_owned()),
        StepKind::Job(JobStep::KeepPlan(_)) => (own, "keeps the plan".to_owned()),
    };
    Progress::StepBegan {
        step: step.key.clone(),
        mode: step.mode.name().into(),
        phase: step.phase.clone().into(),
        who: who.into(),
        what: what.into(),
    }
}

pub(super) fn step_finished(step: &Step, result: &Value) -> Progress {
    let word = |name: &str| result.get(name).and_then(Value::as_str).map(str::to_owned);
    let count = |name: &str| result.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    let how = if let Some(verdict) = word("verdict") {
        match count("findings") {
            0 => verdict,
            1 => format!("{verdict}, 1 finding"),
            many => format!("{verdict}, {many} findings"),
        }
    } else if let Some(passed) = result.get("passed").and_then(Value::as_bool) {
        if passed { "passed".to_owned() } else { "not passed".to_owned() }
    } else if let Some(code) = result.get("exit_code") {
        format!("exit {code}")
    } else if let Some(path) = word("plan_path") {
        path
    } else {
        word("title").or_else(|| word("summary")).unwrap_or_default()
    };
    Progress::StepFinished { step: step.key.clone(), how: how.into() }
}

pub(super) fn tool(step: &StepKey, tool: &ToolAction) -> Progress {
    let tool = match tool {
        ToolAction::Command(line) => format!("runs {line}"),
        ToolAction::Edit(paths) => {
            let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            format!("edits {}", names.join(", "))
        }
        ToolAction::Mcp { server, tool } => format!("calls {server} {tool}"),
        ToolAction::Other(name) => format!("uses {name}"),
    };
    Progress::Tool { step: step.clone(), tool: tool.into() }
}

pub(super) fn failure(step: &StepKey, failure: &Failure) -> Progress {
    Progress::Trouble {
        step: step.clone(),
        kind: failure.kind().into(),
        text: failure.to_string().into(),
    }
}

pub(super) fn needs_person(step: &StepKey, ask: &ApprovalRequest) -> Progress {
    Progress::NeedsYou { step: step.clone(), what: describe_approval_request(ask).into() }
}

/// Text on one line, in which a line break cannot be taken for a space: a command that
/// looks like a comment must not hide a second one.
fn with_visible_breaks(text: &str) -> String {
    text.trim_end().replace('\r', "\\r").replace('\n', "\\n")
}

/// Describes what an agent wants to do, for people.
pub(crate) fn describe_approval_request(ask: &ApprovalRequest) -> String {
    match ask {
        ApprovalRequest::Edit { paths, .. } => {
            let paths: Vec<String> = paths.iter().map(|path| with_visible_breaks(path)).collect();
            format!("edit {}", paths.join(", "))
        }
        ApprovalRequest::Command { command, .. } => {
            format!("run {}", with_visible_breaks(command))
        }
        ApprovalRequest::Tool { server, tool } => format!("call {server} {tool}"),
        ApprovalRequest::Other { what } => what.clone(),
    }
}

#[cfg(test)]
mod tests {
    use omx_kernel::approval::TargetLocation;

    use super::*;

    #[test]
    fn trust_6_2_a_question_shows_the_line_breaks_of_a_command() {
        let ask = ApprovalRequest::Command {
            command: "# only a comment\nrm -rf x\n".to_owned(),
            location: TargetLocation::Inside,
        };
        assert_eq!(describe_approval_request(&ask), "run # only a comment\\nrm -rf x");
    }
}
