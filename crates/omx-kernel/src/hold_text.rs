//! The texts about a run that is not finished.
//!
//! Hosts show a hold to the person as well as to the agent, so its text is in plain words
//! and names no field. The exact instruction is for the agent alone: it goes into context
//! that hosts do not show.

use std::borrow::Cow;

use crate::dialect::Dialect;
use crate::document::Document;
use crate::evidence::{FactQuery, FileFacts, Requirement, missing_evidence};
use crate::hold_bounds::{MAX_ITERATIONS_REACHED, iteration_limit};
use crate::ids::SessionId;
use crate::mode::Mode;
use crate::outcome::RunEnding;
use crate::transition::{next_phases, transitions};

/// Formats the message of a hold, without how to stop the run: that depends on where it is
/// read.
pub fn format_hold(mode: Mode, document: &Document) -> String {
    let phase = document.phase().unwrap_or("unknown");
    let (title, count) = (mode.title(), format_count(mode, document));
    format!("{title} is not finished (phase {phase}{count}). Next: {}.", next_work(mode, phase))
}

/// Formats how the person stops a run from inside the conversation.
pub fn format_stop_word(dialect: Dialect) -> String {
    format!("To stop it, type {}.", dialect.cancel_word)
}

/// Formats what the person reads when a run reached a bound.
pub fn format_exhausted(
    mode: Mode,
    document: &Document,
    ending: RunEnding,
    error: &str,
    session: Option<&SessionId>,
    dialect: Dialect,
) -> String {
    let (title, name) = (mode.title(), mode.name());
    let limit = iteration_limit(mode, document);
    match (ending, limit, session) {
        (RunEnding::Failed, Some(limit), Some(session)) if error == MAX_ITERATIONS_REACHED => {
            let (why, program) = (describe_error(error), dialect.name);
            let more = limit.saturating_mul(2);
            format!(
                "{title} has ended and is not finished: {why} ({limit}). To continue it, run {program} limit --mode {name} {session} {more} in a terminal, then type ${name}."
            )
        }
        (RunEnding::Blocked, ..) => format!(
            "{title} is paused and not finished: {error}. Type continue to resume it, or {} to end it.",
            dialect.cancel_word
        ),
        _ => format!("{title} has ended and is not finished: {error}."),
    }
}

/// Formats that a resumed run has no iteration left, and how the person gives it more.
/// `None` if it has some.
pub fn format_used_up(
    mode: Mode,
    document: &Document,
    session: &SessionId,
    dialect: Dialect,
) -> Option<String> {
    let limit = iteration_limit(mode, document)?;
    if document.get_u64("iteration")? < limit {
        return None;
    }
    let (name, program, more) = (mode.name(), dialect.name, limit.saturating_mul(2));
    Some(format!(
        "Its limit of iterations is used up ({limit}), so it ends at the next stop. To give it more, run {program} limit --mode {name} {session} {more} in a terminal."
    ))
}

/// The reason why a run ended, in plain words.
pub fn describe_error(error: &str) -> &str {
    match error {
        MAX_ITERATIONS_REACHED => "its limit of iterations is reached",
        _ => error,
    }
}

/// Formats what the person reads when they interrupted a run.
pub fn format_interrupted(mode: Mode, dialect: Dialect) -> String {
    format!(
        "{} is paused because you interrupted it. Type continue to resume it, or {} to end it.",
        mode.title(),
        dialect.cancel_word
    )
}

/// Formats what the agent reads beside the prompts that follow an interrupt.
pub fn format_paused(mode: Mode) -> String {
    format!(
        "{} is paused: the person interrupted it. Do what their prompt asks and then stop; continue {} only if they ask for it.",
        mode.title(),
        mode.name()
    )
}

fn format_count(mode: Mode, document: &Document) -> String {
    match (document.get_u64("iteration"), iteration_limit(mode, document)) {
        (Some(iteration), Some(limit)) => format!(", iteration {iteration}/{limit}"),
        _ => String::new(),
    }
}

/// What a phase asks for, in plain words.
fn next_work(mode: Mode, phase: &str) -> Cow<'static, str> {
    if let Some(stage) = phase.strip_prefix("stage:") {
        return Cow::Owned(format!("finish the stage {stage} and record its result"));
    }
    Cow::Borrowed(match (mode, phase) {
        (Mode::Autopilot, "ralplan") => {
            "agree on a plan and a test specification, then enter ralph"
        }
        (Mode::Autopilot, "ralph") => "implement and verify the plan, then enter code-review",
        (Mode::Autopilot, "code-review") => {
            "review the change in both lanes; complete if it is clean, else return to ralplan with the findings"
        }
        (Mode::Ralph, "starting") => "begin the work and enter executing",
        (Mode::Ralph | Mode::Ultrawork | Mode::Ecomode | Mode::Ultrapilot, "executing") => {
            match mode {
                Mode::Ultrapilot => "finish the tasks, then enter integrating",
                _ => "finish the work, then enter verifying",
            }
        }
        (Mode::Ultrapilot, "integrating") => "integrate the results, then enter verifying",
        (Mode::Ralph | Mode::Ultrawork | Mode::Ecomode | Mode::Ultrapilot, "verifying") => {
            "check that everything asked for works, and record the evidence"
        }
        (Mode::Ralph, "fixing") => "fix what the verification found, then enter executing",
        (Mode::Ultrawork | Mode::Ecomode | Mode::Ultrapilot, "planning") => {
            "plan the tasks, then enter executing"
        }
        (Mode::Ralplan, "draft") => {
            "draft a plan and a test specification, then enter architect-review"
        }
        (Mode::Ralplan, "architect-review") => {
            "have the architect review the plan, then enter critic-review"
        }
        (Mode::Ralplan, "critic-review") => {
            "have the critic review the plan; complete if architect and critic approve, else enter revise"
        }
        (Mode::Ralplan, "revise") => "revise the plan, then enter architect-review",
        (Mode::CodeReview, _) => "review the change in both lanes and record the verdict",
        (Mode::Ultraqa, "qa") => "run the check and record how it ended",
        (Mode::Ultraqa, "diagnose") => "find the cause of the failure, then enter fix",
        (Mode::Ultraqa, "fix") => "fix the cause, then enter qa",
        (Mode::Team, "team-plan") => "plan the tasks, then enter team-exec",
        (Mode::Team, "team-prd") => "write the requirements, then enter team-exec",
        (Mode::Team, "team-exec") => "have the team finish its tasks, then enter team-verify",
        (Mode::Team, "team-verify") => "verify the team's work and record the checks",
        (Mode::Team, "team-fix") => "fix what the verification found, then enter team-exec",
        (Mode::Swarm, _) => "finish the open tasks",
        _ => "continue the task",
    })
}

/// Formats what a run asks of its agent, with the names of fields and phases. For the
/// agent alone.
pub fn format_instruction(mode: Mode, document: &Document, dialect: Dialect) -> String {
    let phase = document.phase().unwrap_or("unknown");
    let count = format_count(mode, document);
    let next = match (mode, phase) {
        (Mode::Autopilot, "ralplan") => {
            "Agree on a plan and a test specification, record their paths under handoff_artifacts.ralplan, then enter ralph.".to_owned()
        }
        (Mode::Autopilot, "ralph") => {
            "Implement and verify the plan, record changed files and evidence under handoff_artifacts.ralph, then enter code-review.".to_owned()
        }
        (Mode::Autopilot, "code-review") => {
            "Review the change in both lanes. Clean: complete with the verdict. Not clean: back to ralplan with the findings.".to_owned()
        }
        _ => {
            let allowed = next_phases(mode, Some(phase), &document.stages());
            let missing = match missing_for_completion(mode, phase, document) {
                parts if parts.is_empty() => String::new(),
                parts => format!(": missing {}", parts.join(", ")),
            };
            format!("It is not complete{missing}; allowed next: {}.", allowed.join(", "))
        }
    };
    format!(
        "[{} active: phase {phase}{count}] {next} To end it: {} cancel",
        mode.title(),
        dialect.name
    )
}

/// Describes what `complete` still requires, as far as the document shows: files that it
/// names are assumed to exist, and an audit in a file to pass.
fn missing_for_completion(mode: Mode, phase: &str, document: &Document) -> Vec<String> {
    let requirement = match mode {
        Mode::Pipeline => Requirement::StageResult,
        _ => transitions(mode)
            .iter()
            .find(|step| step.to == "complete")
            .map_or(Requirement::Nothing, |s| s.requirement),
    };
    let query = FactQuery::for_document(document);
    let takes_audit =
        matches!(requirement, Requirement::CompletionAudit | Requirement::CheckOrAudit);
    if takes_audit && query.audit_path.is_some() {
        return Vec::new();
    }
    let facts = FileFacts::assume(query.paths);
    missing_evidence(requirement, document, phase, &facts)
}
