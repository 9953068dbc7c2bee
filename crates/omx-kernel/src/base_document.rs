//! How a write begins: on a new run, on a reopened one, or on what is there.
//! And what a new run is filled with.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::document::{Document, DocumentStatus};
use crate::mode::{Mode, OnCancel, StartsAt};
use crate::outcome::{RunEnding, RunOutcome};
use crate::phase;
use crate::refusal::{Refusal, RefusalCode};
use crate::request::{WriteIntent, WriteRequest};
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::value::Value;
use crate::write_goal::WriteGoal;

/// `max_iterations` of starts, where the person configured others than the table's.
pub type IterationLimits = BTreeMap<Mode, u64>;

/// Where a write begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BaseDocument {
    /// A new run: nothing is carried over.
    New,
    /// The run that ended goes on with everything it had.
    Reopened(Document),
    /// The document as it is.
    Current(Document),
}

impl BaseDocument {
    /// Decides where a write begins, or that it may not.
    pub fn select(
        request: &WriteRequest,
        asked: &WriteGoal,
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
                WriteIntent::Change if asked.active.is_none() => Err(Refusal::invalid_input(
                    format!("there is no {name} document yet; its first write must say active"),
                )),
                // Nor may it come back by way of another end.
                WriteIntent::Change
                    if activity.remembers_cancel(name, now)
                        && asked.ending != Some(RunEnding::Cancelled) =>
                {
                    Err(recently_cancelled(mode))
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
        if !asked.wants_live {
            ended_stays_ended(mode, asked, old, ending)?;
            return Ok(Self::Current(old.clone()));
        }
        match (request.intent, ending) {
            (WriteIntent::Start, _) => Ok(Self::New),
            (WriteIntent::Resume, RunEnding::Blocked | RunEnding::Failed) => {
                Ok(Self::Reopened(reopened(mode, old)))
            }
            (WriteIntent::Resume, RunEnding::Cancelled)
                if mode.spec().on_cancel != OnCancel::Ends =>
            {
                Ok(Self::Reopened(reopened(mode, old)))
            }
            (WriteIntent::Resume, _) => Err(Refusal::new(
                RefusalCode::IllegalTransition,
                format!(
                    "this {name} run has {} and cannot be resumed; begin a new one with \"start\": true",
                    if ending == RunEnding::Finished { "finished" } else { "been cancelled" }
                ),
            )),
            (WriteIntent::Change, RunEnding::Finished | RunEnding::Failed) => Ok(Self::New),
            (WriteIntent::Change, RunEnding::Cancelled) => Err(recently_cancelled(mode)),
            (WriteIntent::Change, RunEnding::Blocked) => Err(Refusal::new(
                RefusalCode::IllegalTransition,
                format!(
                    "{name} waits for the person (blocked_on_user); go on with \"resume\": true, or begin anew with \"start\": true"
                ),
            )),
        }
    }
}

fn recently_cancelled(mode: Mode) -> Refusal {
    let resume = if mode.spec().on_cancel == OnCancel::Ends {
        ""
    } else {
        ", or go on with it by \"resume\": true"
    };
    Refusal::new(
        RefusalCode::RecentlyCancelled,
        format!("{} was cancelled; a new run needs \"start\": true{resume}", mode.name()),
    )
}

/// A write without `active` may add to an ended document, never revive or re-end it.
fn ended_stays_ended(
    mode: Mode,
    asked: &WriteGoal,
    old: &Document,
    ending: RunEnding,
) -> Result<(), Refusal> {
    if asked.live_outcome.is_some() {
        return Err(Refusal::new(
            RefusalCode::Contradiction,
            format!(
                "{} has ended as {}; it does not go on",
                mode.name(),
                ending.lifecycle_outcome()
            ),
        ));
    }
    let other_end = asked.ending.is_some_and(|asked| asked != ending);
    let other_phase = asked.phase.as_deref().is_some_and(|phase| old.phase() != Some(phase));
    if other_end || other_phase {
        return Err(Refusal::new(
            RefusalCode::IllegalTransition,
            format!(
                "{} has ended as {}; nothing follows but a new run (\"start\": true)",
                mode.name(),
                ending.lifecycle_outcome()
            ),
        ));
    }
    Ok(())
}

/// The document of an ended run, live again in the phase it was in.
fn reopened(mode: Mode, old: &Document) -> Document {
    let mut document = old.clone();
    let stages = old.stages();
    let phase = [old.get_str("ended_in_phase"), old.phase()]
        .into_iter()
        .flatten()
        .find(|word| phase::is_live(mode, word, &stages))
        .map_or_else(|| first_phase(mode, &stages), str::to_owned);
    document.set("active", Value::bool(true));
    document.set("current_phase", Value::string(&phase));
    document.set("run_outcome", Value::string(RunOutcome::Continue.as_str()));
    for gone in ["lifecycle_outcome", "completed_at", "ended_in_phase", "error"] {
        document.remove(gone);
    }
    document
}

fn first_phase(mode: Mode, stages: &[String]) -> String {
    match mode.spec().phases.first() {
        Some(first) => (*first).to_owned(),
        // A pipeline that names no stages has numbered ones.
        None => stages.first().cloned().unwrap_or_else(|| "stage:1".to_owned()),
    }
}

/// Fills what a start leaves open.
pub(crate) fn fill_defaults(
    document: &mut Document,
    mode: Mode,
    asked: &WriteGoal,
    limits: &IterationLimits,
    now: Timestamp,
) -> Result<(), Refusal> {
    let row = mode.spec();
    let first = first_phase(mode, &asked.stages);
    let phase = asked.phase.clone().unwrap_or_else(|| first.clone());
    if row.starts_at == StartsAt::First && phase != first {
        return Err(Refusal::new(
            RefusalCode::IllegalTransition,
            format!("{} starts in {first:?}, not in {phase:?}", mode.name()),
        ));
    }
    document.set("active", Value::bool(true));
    document.set("current_phase", Value::string(&phase));
    let outcome = asked.live_outcome.unwrap_or(RunOutcome::Continue);
    document.set("run_outcome", Value::string(outcome.as_str()));
    let linked_team = mode == Mode::Ralph && document.is_set("linked_team");
    let limit = limits.get(&mode).copied().or(if linked_team {
        Some(LINKED_TEAM_ITERATIONS)
    } else {
        row.max_iterations
    });
    let mut default = |name: &str, value: Value| {
        if document.get(name).is_none() {
            document.set(name, value);
        }
    };
    default("iteration", Value::integer(row.first_iteration));
    if let Some(limit) = limit {
        default("max_iterations", Value::integer(limit));
    }
    default("started_at", Value::string(&now.to_string()));
    match mode {
        Mode::Autopilot => {
            default("review_cycle", Value::integer(0));
            default("phase_cycle", Value::strings(row.phases));
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

/// Rounds of a ralph that is linked to a team.
const LINKED_TEAM_ITERATIONS: u64 = 10;

/// How often a team may go from verification back to fixing.
pub(crate) const DEFAULT_FIX_LOOPS: u64 = 3;
