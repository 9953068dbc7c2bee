//! The messages that agents receive: the person's task, the agent's part in it, and
//! the results it builds on. The role's own prompt is separate.

use std::fmt::Write as _;

use omx_agents::results::{ResultKind, instructions};
use omx_kernel::confinement::WorkspaceAccess;
use omx_runs::{RunSpec, Workspace};
use serde_json::Value;

use crate::workflow::{AgentStep, CompletedSteps, StepPurpose};

/// The maximum length of one earlier result.
const LONGEST: usize = 48 << 10;

/// The message that gives an agent its task.
pub fn task(spec: &RunSpec, completed: &CompletedSteps, agent: &AgentStep) -> String {
    let mut text = opening(spec) + "\n\n";
    section(&mut text, "Your part", &part(spec, &agent.purpose));
    for key in agent.purpose.reads() {
        if let Some(done) = completed.get(key) {
            section(&mut text, &format!("From step {key}"), &render_result(&done.result));
        }
    }
    let limits = describe_limits(agent.access());
    section(&mut text, "Where", &format!("{}\n\n{limits}", describe_workspace(spec, agent.wants)));
    section(&mut text, "Answer", &instructions(agent.wants));
    text.trim_end().to_owned()
}

/// The beginning of the message that gives an agent its task. An agent program's record of a
/// conversation is searched for it, so it depends on nothing that a resume can change.
pub fn opening(spec: &RunSpec) -> String {
    format!("## Task\n\n{}", spec.task.raw().trim())
}

/// The message for a conversation that was interrupted before its agent acknowledged the task.
pub fn task_again(spec: &RunSpec, completed: &CompletedSteps, agent: &AgentStep) -> String {
    format!(
        "You may have received this before and been interrupted. If so, look at what is already \
         done, finish it, and do nothing twice.\n\n{}",
        task(spec, completed, agent)
    )
}

/// The message for a conversation that was interrupted while its agent worked.
pub fn resume(wants: ResultKind) -> String {
    format!(
        "You were interrupted. The folder is as you left it. Look at what is already done, finish \
         the part you were given, and do nothing twice.\n\n{}",
        instructions(wants)
    )
}

fn part(spec: &RunSpec, purpose: &StepPurpose) -> String {
    let words = match purpose {
        StepPurpose::Draft { reviews } if reviews.is_empty() => {
            "Plan the task: what to change, in which order, and how it will be tested. Read the \
             code first. Change nothing."
        }
        StepPurpose::Draft { .. } => {
            "A review of the finished change was not clean; its findings are below and come first. \
             Plan again so that each of them is resolved. What is already built stays unless a \
             finding objects to it. Change nothing."
        }
        StepPurpose::ReviewPlan { .. } => {
            "Review the plan below against the code. Approve it only if somebody could build it \
             as it stands and its tests would show that it works. Change nothing."
        }
        StepPurpose::Revise { .. } => {
            "Revise the plan below so that every finding of the reviews is resolved. Keep what was \
             not objected to. Change nothing but the plan."
        }
        StepPurpose::Implement { plan: Some(_) } => {
            "Build what the plan below says, with its tests. Leave no part of it for later."
        }
        StepPurpose::Implement { plan: None } => {
            "Do the task completely, with tests where the project has any. Leave no part for later."
        }
        StepPurpose::Fix { .. } => {
            "Something below fails. Find the cause and fix it there; do not weaken a test or a \
             check to make it pass."
        }
        StepPurpose::Verify { .. } => {
            "Verify that the task is done: look, and run things yourself. Believe nothing you \
             have not seen. Change nothing."
        }
        StepPurpose::Tidy => {
            "The task is done. Go over the whole change once: remove what need not be there \
             (dead code, needless comments, leftovers, duplication) and change no behavior."
        }
        StepPurpose::ReviewChange { .. } => {
            "Review the change. A finding is something that has to change; give each a title \
             that stays the same from round to round. Change nothing."
        }
        StepPurpose::Diagnose { .. } => {
            "The check below fails. Find out why, down to the cause, and say what would fix it. \
             Change nothing yet."
        }
        StepPurpose::Stage { number, .. } => {
            return match spec.stages.get(*number) {
                Some(stage) if !stage.prompt.trim().is_empty() => stage.prompt.trim().to_owned(),
                _ => "Do the part of the task that your role is for, with what came before."
                    .to_owned(),
            };
        }
    };
    words.to_owned()
}

fn describe_workspace(spec: &RunSpec, wants: ResultKind) -> String {
    let mut words = match &spec.workspace {
        Workspace::Worktree { base, .. } => format!(
            "You are in a git worktree made for this run. The change so far is everything that \
             differs from commit {base}: `git diff {base}` shows it, with new files by `git status`."
        ),
        Workspace::InPlace { .. } => "You are in the person's own folder.".to_owned(),
    };
    if wants == ResultKind::Work {
        words
            .push_str(" Edit files here and nowhere else. Do not commit, push or switch branches.");
        if let Some(check) = &spec.check {
            let _ = write!(words, " Afterwards this check runs: `{}`", check.raw());
        }
    }
    words
}

/// What the agent can change. The errors of the system do not say why they happen.
fn describe_limits(access: WorkspaceAccess) -> &'static str {
    match access {
        WorkspaceAccess::ReadWrite => {
            "You can write in this folder, in $TMPDIR and in the caches set in your environment. \
             Everything else is read-only; 'Permission denied' there is intended: do not work \
             around it, report it."
        }
        WorkspaceAccess::ReadOnly => {
            "You can write in $TMPDIR and in the caches set in your environment. Everything else, \
             this folder included, is read-only; 'Permission denied' there is intended: do not \
             work around it, report it."
        }
    }
}

fn section(text: &mut String, title: &str, words: &str) {
    let _ = write!(text, "## {title}\n\n{words}\n\n");
}

/// Renders a result for an agent: long texts as they are, the rest as JSON.
fn render_result(result: &Value) -> String {
    let mut rest = result.clone();
    let mut text = String::new();
    for (name, title) in
        [("plan_markdown", "Plan"), ("test_spec_markdown", "Tests"), ("output", "Output")]
    {
        let Some(object) = rest.as_object_mut() else { break };
        if let Some(Value::String(words)) = object.remove(name) {
            let _ = write!(text, "{title}:\n\n{}\n\n", words.trim());
        }
    }
    let json = serde_json::to_string_pretty(&rest).unwrap_or_default();
    let _ = write!(text, "```json\n{json}\n```");
    shortened(text)
}

/// Keeps the start and the end of a text that is too long.
fn shortened(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let mut head = LONGEST / 2;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - LONGEST / 2;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n… ({} bytes left out) …\n{}", &text[..head], tail - head, &text[tail..])
}

/// What a step does, in a few words for people.
pub fn describe_purpose(purpose: &StepPurpose) -> &'static str {
    match purpose {
        StepPurpose::Draft { .. } => "plans",
        StepPurpose::ReviewPlan { .. } => "reviews the plan",
        StepPurpose::Revise { .. } => "revises the plan",
        StepPurpose::Implement { .. } => "builds",
        StepPurpose::Fix { .. } => "fixes",
        StepPurpose::Verify { .. } => "verifies",
        StepPurpose::Tidy => "tidies up",
        StepPurpose::ReviewChange { .. } => "reviews the change",
        StepPurpose::Diagnose { .. } => "looks for the cause",
        StepPurpose::Stage { .. } => "runs its stage",
    }
}
