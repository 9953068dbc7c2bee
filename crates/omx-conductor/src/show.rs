//! Progress lines of a run, made from what the engine and its agents do.

use omx_agents::event::{self, ApprovalRequest, ToolAction};
use omx_agents::failure::Failure;
use omx_runs::progress::Progress;
use omx_runs::{StepKey, Usage};
use serde_json::Value;

use crate::prompts;
use crate::story::{Step, Work};

pub(crate) fn began(step: &Step) -> Progress {
    let (who, what) = match &step.work {
        Work::Errand(errand) => {
            (errand.role.clone(), prompts::in_short(&errand.purpose).to_owned())
        }
        Work::Check => ("omx".to_owned(), "runs the check".to_owned()),
        Work::KeepPlan(_) => ("omx".to_owned(), "keeps the plan".to_owned()),
    };
    Progress::StepBegan {
        step: step.key.clone(),
        mode: step.mode.name().to_owned(),
        phase: step.phase.clone(),
        who,
        what,
    }
}

pub(crate) fn finished(step: &Step, result: &Value) -> Progress {
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
    Progress::StepFinished { step: step.key.clone(), how }
}

pub(crate) fn tool(step: &StepKey, tool: &ToolAction) -> Progress {
    let tool = match tool {
        ToolAction::Command(line) => format!("runs {line}"),
        ToolAction::Edit(paths) => {
            let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            format!("edits {}", names.join(", "))
        }
        ToolAction::Mcp { server, tool } => format!("calls {server} {tool}"),
        ToolAction::Other(name) => format!("uses {name}"),
    };
    Progress::Tool { step: step.clone(), tool }
}

pub(crate) fn trouble(step: &StepKey, trouble: &Failure) -> Progress {
    Progress::Trouble {
        step: step.clone(),
        kind: trouble.kind().to_owned(),
        text: trouble.to_string(),
    }
}

pub(crate) fn needs_you(step: &StepKey, ask: &ApprovalRequest) -> Progress {
    Progress::NeedsYou { step: step.clone(), what: describe_request(ask) }
}

/// What an agent asks permission for, in words.
pub(crate) fn describe_request(ask: &ApprovalRequest) -> String {
    match ask {
        ApprovalRequest::Edit { paths, .. } => format!("edit {}", paths.join(", ")),
        ApprovalRequest::Command { command, .. } => format!("run {command}"),
        ApprovalRequest::Tool { server, tool } => format!("call {server} {tool}"),
        ApprovalRequest::Other { what } => what.clone(),
    }
}

/// Usage as the journal keeps it.
pub(crate) fn usage(reported: event::Usage) -> Usage {
    Usage {
        input: reported.input_tokens,
        output: reported.output_tokens,
        micro_usd: reported.micro_usd,
    }
}
