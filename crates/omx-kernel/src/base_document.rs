//! The document a write starts from: a new one, a reopened one or the current one. Also
//! the default fields of a new run.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::document::{Document, DocumentStatus};
use crate::mode::{Mode, StartsAt};
use crate::outcome::{DocumentOutcome, RunEnding};
use crate::phase;
use crate::refusal::{Refusal, RefusalCode};
use crate::request::{WriteIntent, WriteRequest};
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::value::Value;
use crate::write_goal::WriteGoal;

/// Configured `max_iterations` of new runs, where they differ from the mode's default.
pub type IterationLimits = BTreeMap<Mode, u64>;

/// The document that a write is applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BaseDocument {
    /// An empty document of a new run.
    New,
    /// The document of an ended run, live again with all its fields.
    Reopened(Document),
    /// The current document.
    Current(Document),
}

impl BaseDocument {
    /// Selects the document for a request, or refuses the request.
    pub fn select(
        request: &WriteRequest,
        goal: &WriteGoal,
        snapshot: &Snapshot,
        now: Timestamp,
        dialect: Dialect,
    ) -> Result<Self, Refusal> {
        let mode = request.mode;
        let name = mode.name();
        let activity = &snapshot.activity;
        let Some(old) = snapshot.documents.get(&mode) else {
            return match request.intent {
                WriteIntent::Resume => Err(Refusal::new(
                    RefusalCode::IllegalTransition,
                    format!("there is no {name} run to resume; start one with \"active\": true"),
                )),
                WriteIntent::Change if goal.active.is_none() => Err(Refusal::invalid_input(
                    format!("there is no {name} document yet; the first write must set active"),
                )),
                // A cleared cancel also blocks writes that record any other ending.
                WriteIntent::Change
                    if activity.remembers_cancel(name, now)
                        && goal.ending != Some(RunEnding::Cancelled) =>
                {
                    Err(refuse_recently_cancelled(mode))
                }
                _ => Ok(Self::New),
            };
        };
        let ending = match old.status() {
            DocumentStatus::Active if request.intent == WriteIntent::Start => {
                return Err(Refusal::new(
                    RefusalCode::ModeConflict,
                    format!(
                        "{name} is already running here; cancel it first ({} cancel --mode {name})",
                        dialect.name
                    ),
                ));
            }
            DocumentStatus::Active => return Ok(Self::Current(old.clone())),
            DocumentStatus::Ended(ending) => ending,
        };
        if !goal.wants_live {
            check_ended(mode, goal, old, ending)?;
            return Ok(Self::Current(old.clone()));
        }
        match (request.intent, ending) {
            (WriteIntent::Start, _) => Ok(Self::New),
            (WriteIntent::Resume, _) if old.can_resume(mode) => {
                Ok(Self::Reopened(reopen(mode, old)))
            }
            (WriteIntent::Change, RunEnding::Finished | RunEnding::Failed) => Ok(Self::New),
            (WriteIntent::Change, RunEnding::Cancelled) => {
                Err(refuse_ended(mode, old, ending, RefusalCode::RecentlyCancelled))
            }
            (WriteIntent::Resume, _) | (WriteIntent::Change, RunEnding::Blocked) => {
                Err(refuse_ended(mode, old, ending, RefusalCode::IllegalTransition))
            }
        }
    }
}

/// Returns the refusal of a write to an ended run. The way that keeps the run's progress
/// comes before the one that begins anew.
fn refuse_ended(mode: Mode, old: &Document, ending: RunEnding, code: RefusalCode) -> Refusal {
    let state = match ending {
        RunEnding::Finished => "has finished",
        RunEnding::Blocked => "waits for the person (blocked_on_user)",
        RunEnding::Failed => "has failed",
        RunEnding::Cancelled => "was cancelled",
    };
    let resume = match old.can_resume(mode) {
        true => "continue it, with everything it has, by \"resume\": true",
        false => "\"resume\": true cannot continue it",
    };
    let name = mode.name();
    Refusal::new(code, format!("{name} {state}; {resume}; begin anew by \"start\": true"))
}

/// Returns the refusal of a write to a run that was cancelled and cleared a moment ago:
/// nothing is left to resume.
fn refuse_recently_cancelled(mode: Mode) -> Refusal {
    Refusal::new(
        RefusalCode::RecentlyCancelled,
        format!("{} was cancelled and cleared; begin anew by \"start\": true", mode.name()),
    )
}

/// A write without `active` may add fields to an ended document, but neither revive it
/// nor change its ending.
fn check_ended(
    mode: Mode,
    goal: &WriteGoal,
    old: &Document,
    ending: RunEnding,
) -> Result<(), Refusal> {
    if goal.live_outcome.is_some() {
        return Err(refuse_ended(mode, old, ending, RefusalCode::Contradiction));
    }
    let other_end = goal.ending.is_some_and(|goal| goal != ending);
    let other_phase = goal.phase.as_deref().is_some_and(|phase| old.phase() != Some(phase));
    if other_end || other_phase {
        return Err(refuse_ended(mode, old, ending, RefusalCode::IllegalTransition));
    }
    Ok(())
}

/// Returns the document of an ended run, live again in the phase in which it ended.
fn reopen(mode: Mode, old: &Document) -> Document {
    let mut document = old.clone();
    let stages = old.stages();
    let phase = [old.get_str("ended_in_phase"), old.phase()]
        .into_iter()
        .flatten()
        .find(|word| phase::is_live(mode, word, &stages))
        .map_or_else(|| first_phase(mode, &stages), str::to_owned);
    document.set("active", Value::bool(true));
    document.set("current_phase", Value::string(&phase));
    document.set("run_outcome", Value::string(DocumentOutcome::Continue.as_str()));
    for name in ["lifecycle_outcome", "completed_at", "ended_in_phase", "error"] {
        document.remove(name);
    }
    document
}

fn first_phase(mode: Mode, stages: &[String]) -> String {
    match mode.spec().phases.first() {
        Some(first) => (*first).to_owned(),
        // A pipeline without named stages numbers them.
        None => stages.first().cloned().unwrap_or_else(|| "stage:1".to_owned()),
    }
}

/// Fills in the fields that a start omits.
pub(crate) fn fill_defaults(
    document: &mut Document,
    mode: Mode,
    goal: &WriteGoal,
    limits: &IterationLimits,
    now: Timestamp,
) -> Result<(), Refusal> {
    let spec = mode.spec();
    let first = first_phase(mode, &goal.stages);
    let phase = goal.phase.clone().unwrap_or_else(|| first.clone());
    if spec.starts_at == StartsAt::First && phase != first {
        return Err(Refusal::new(
            RefusalCode::IllegalTransition,
            format!("{} starts in {first:?}, not in {phase:?}", mode.name()),
        ));
    }
    document.set("active", Value::bool(true));
    document.set("current_phase", Value::string(&phase));
    let outcome = goal.live_outcome.unwrap_or(DocumentOutcome::Continue);
    document.set("run_outcome", Value::string(outcome.as_str()));
    let linked_team = mode == Mode::Ralph && document.is_set("linked_team");
    let limit = limits.get(&mode).copied().or(if linked_team {
        Some(LINKED_TEAM_ITERATIONS)
    } else {
        spec.max_iterations
    });
    // The autopilot preset of a pipeline counts the returns from its review.
    let is_preset = mode == Mode::Pipeline && goal.stages == Mode::Autopilot.spec().phases;
    let spec = if is_preset { Mode::Autopilot.spec() } else { spec };
    let limit = limit.or(spec.max_iterations);
    let mut default = |name: &str, value: Value| {
        if document.get(name).is_none() {
            document.set(name, value);
        }
    };
    default("iteration", Value::integer(spec.first_iteration));
    if let Some(limit) = limit {
        default("max_iterations", Value::integer(limit));
    }
    default("started_at", Value::string(&now.to_string()));
    match mode {
        _ if mode == Mode::Autopilot || is_preset => {
            default("review_cycle", Value::integer(0));
            default("phase_cycle", Value::strings(spec.phases));
            default("handoff_artifacts", Value::object(Vec::new()));
            default("review_verdict", Value::null());
            default("return_to_ralplan_reason", Value::null());
            let given =
                document.get("handoff_artifacts").and_then(Value::as_object).unwrap_or_default();
            let empty = ["context_snapshot_path", "ralplan", "ralph", "code_review"];
            let slots = empty.into_iter().map(|name| (name.to_owned(), Value::null())).collect();
            let filled = Value::object(slots).merged(given);
            document.set("handoff_artifacts", filled);
        }
        Mode::Team => {
            default("fix_loop_count", Value::integer(0));
            default("max_fix_loops", Value::integer(DEFAULT_FIX_LOOPS));
        }
        _ => {}
    }
    Ok(())
}

/// `max_iterations` of a ralph that is linked to a team.
const LINKED_TEAM_ITERATIONS: u64 = 10;

/// `max_fix_loops` of a team: how often verification may return to fixing.
pub(crate) const DEFAULT_FIX_LOOPS: u64 = 3;
