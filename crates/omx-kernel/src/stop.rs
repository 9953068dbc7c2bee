//! The stop decision: may the agent end its turn, or does unfinished work hold it?
//!
//! In doubt the stop is allowed. Holds are counted and bounded here; reaching a bound is
//! recorded as such, never as success.

use std::borrow::Cow;

use crate::activity::SessionActivity;
use crate::counters::default_limit;
use crate::dialect::Dialect;
use crate::document::Document;
use crate::evidence::{FactQuery, FileFacts, Requirement, missing_evidence};
use crate::links;
use crate::mode::Mode;
use crate::outcome::RunEnding;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::transition::{next_phases, transitions};
use crate::value::Value;

/// Hosts give up after 8 holds in a row. omx gives up one earlier, to record the reason.
pub const HOLDS_WITHOUT_TOOL: u32 = 7;

pub use crate::progress::SAME_PROGRESS_LIMIT;

/// Why the agent stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopCause {
    /// The agent considers its work done.
    TurnEnded,
    /// The person interrupted it.
    Interrupted,
    /// The context is full.
    ContextLimit,
    /// A rate or usage limit was reached.
    RateLimit,
    /// The login or the payment is missing.
    Account,
}

/// The agent that stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoppingAgent {
    /// The session's main agent.
    Main,
    /// An agent that the main agent started.
    Subagent,
}

/// A stop that is about to happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopEvent {
    /// Why.
    pub cause: StopCause,
    /// The agent that stops.
    pub agent: StoppingAgent,
    /// Whether the current prompt requested a cancel.
    pub cancel_requested: bool,
    /// The modes that a live omx process drives itself.
    pub self_driven: Vec<Mode>,
    /// The progress fingerprint; equal values mean that nothing has changed.
    pub progress: Option<u64>,
    /// The configured time budget of a run, in milliseconds.
    pub time_budget: Option<i64>,
}

impl StopEvent {
    /// The ordinary end of a turn.
    pub fn turn_ended() -> Self {
        Self {
            cause: StopCause::TurnEnded,
            agent: StoppingAgent::Main,
            cancel_requested: false,
            self_driven: Vec::new(),
            progress: None,
            time_budget: None,
        }
    }
}

/// Why a stop is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllowReason {
    /// The event has no session.
    NoSession,
    /// Nothing is active.
    NothingActive,
    /// Everything active is stale.
    Stale,
    /// A live omx process drives the run.
    SelfDriven,
    /// The run waits for something outside the agent's control.
    Waiting,
    /// The person or the host ended the turn.
    Interrupted,
    /// A limit of the model provider was reached.
    Limit,
    /// The login or the payment is missing.
    Account,
    /// A cancel was requested.
    CancelRequested,
    /// A subagent is never held.
    Subagent,
}

impl AllowReason {
    /// The reason, for messages; it names the program of the dialect.
    pub fn describe(self, dialect: &Dialect) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::SelfDriven => {
                return Cow::Owned(format!("an {} process drives the run", dialect.name));
            }
            Self::NoSession => "no session",
            Self::NothingActive => "nothing active",
            Self::Stale => "stale",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::Limit => "a limit of the model provider",
            Self::Account => "login or billing",
            Self::CancelRequested => "cancel requested",
            Self::Subagent => "a subagent",
        })
    }
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StopDecision {
    /// The turn may end.
    Allow(AllowReason),
    /// The agent must continue.
    Hold(StopHold),
    /// The turn may end because the run reached a bound; the document records it.
    Exhausted(StopExhausted),
}

/// A hold, with the changes it makes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopHold {
    /// The mode that holds.
    pub mode: Mode,
    /// The message for the agent.
    pub text: String,
    /// The mode's document, with this hold counted.
    pub document: Document,
    /// The session's activity record, with this hold counted.
    pub activity: SessionActivity,
}

/// The end of a run that reached a bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopExhausted {
    /// The mode that ends.
    pub mode: Mode,
    /// The reason.
    pub error: String,
    /// The documents to write, in this order: its dependents' and its own.
    pub writes: Vec<(Mode, Document)>,
    /// The session's activity record, with its counters reset.
    pub activity: SessionActivity,
}

impl StopExhausted {
    /// The document of the mode that ends.
    pub fn document(&self) -> Option<&Document> {
        self.writes.iter().find(|(mode, _)| *mode == self.mode).map(|(_, document)| document)
    }
}

/// Decides whether a stop is allowed or held.
pub fn decide(
    snapshot: &Snapshot,
    event: &StopEvent,
    dialect: Dialect,
    now: Timestamp,
) -> StopDecision {
    use StopDecision::Allow;
    if snapshot.scope.session().is_none() {
        return Allow(AllowReason::NoSession);
    }
    if event.agent == StoppingAgent::Subagent {
        return Allow(AllowReason::Subagent);
    }
    if event.cancel_requested {
        return Allow(AllowReason::CancelRequested);
    }
    match event.cause {
        StopCause::TurnEnded if snapshot.activity.interrupted => {
            return Allow(AllowReason::Interrupted);
        }
        StopCause::TurnEnded => {}
        StopCause::Interrupted => return Allow(AllowReason::Interrupted),
        StopCause::ContextLimit | StopCause::RateLimit => return Allow(AllowReason::Limit),
        StopCause::Account => return Allow(AllowReason::Account),
    }
    let mut reason = AllowReason::NothingActive;
    for mode in Mode::STOP_PRIORITY {
        let Some(document) = snapshot.active(mode) else { continue };
        if event.self_driven.contains(&mode) {
            reason = AllowReason::SelfDriven;
        } else if snapshot.is_stale(mode, now) {
            reason = AllowReason::Stale;
        } else if is_waiting(document, now) {
            reason = AllowReason::Waiting;
        } else {
            return hold_or_exhaust(snapshot, mode, document, event, dialect, now);
        }
    }
    Allow(reason)
}

/// Whether the run waits for a limit, the network or a worker, and not past the deadline.
fn is_waiting(document: &Document, now: Timestamp) -> bool {
    document.get("waiting").is_some_and(|waiting| {
        let until = waiting.get("until").and_then(Value::as_str).and_then(Timestamp::parse);
        waiting.as_object().is_some() && until.is_none_or(|until| now < until)
    })
}

fn hold_or_exhaust(
    snapshot: &Snapshot,
    mode: Mode,
    old: &Document,
    event: &StopEvent,
    dialect: Dialect,
    now: Timestamp,
) -> StopDecision {
    let mut activity = snapshot.activity.clone();
    activity.last_seen = Some(now);
    let moved = event.progress.is_none() || activity.fingerprint != event.progress;
    activity.same_fingerprint = if moved { 1 } else { activity.same_fingerprint.saturating_add(1) };
    activity.fingerprint = event.progress;
    let iteration = old.get_u64("iteration").unwrap_or(0);
    let age = old.get_time("started_at").map_or(0, |started| now.millis_since(started));
    let bound = if event.time_budget.is_some_and(|budget| age > budget) {
        Some((RunEnding::Blocked, "budget.time is used up".to_owned()))
    } else if iteration >= iteration_limit(mode, old) {
        Some((RunEnding::Failed, "max_iterations reached".to_owned()))
    } else if activity.holds_in_a_row >= HOLDS_WITHOUT_TOOL {
        Some((
            RunEnding::Blocked,
            format!("held {HOLDS_WITHOUT_TOOL} times in a row without a tool call"),
        ))
    } else if activity.same_fingerprint >= SAME_PROGRESS_LIMIT {
        Some((
            RunEnding::Blocked,
            format!(
                "no progress: {SAME_PROGRESS_LIMIT} stops in a row found the same state in phase {}",
                old.phase().unwrap_or("unknown")
            ),
        ))
    } else {
        None
    };
    let session = snapshot.scope.session().map(|id| id.as_str());
    if let Some((ending, error)) = bound {
        activity.holds_in_a_row = 0;
        activity.same_fingerprint = 0;
        activity.fingerprint = None;
        let writes = end_with_dependents(snapshot, mode, ending, &error, now);
        return StopDecision::Exhausted(StopExhausted { mode, error, writes, activity });
    }
    let mut document = old.clone();
    activity.holds_in_a_row = activity.holds_in_a_row.saturating_add(1);
    document.set("iteration", Value::integer(iteration.saturating_add(1)));
    document.stamp(mode, session, old.next_revision(), now);
    let text = format_hold(mode, &document, dialect);
    StopDecision::Hold(StopHold { mode, text, document, activity })
}

/// Ends the run together with its dependents, which would hold the session for a parent
/// that is gone.
fn end_with_dependents(
    snapshot: &Snapshot,
    mode: Mode,
    ending: RunEnding,
    error: &str,
    now: Timestamp,
) -> Vec<(Mode, Document)> {
    let mut documents = snapshot.documents.clone();
    if let Some(document) = documents.get_mut(&mode) {
        document.set("error", Value::string(error));
        document.end(mode, ending, now);
    }
    let mut changed = links::end_dependents(&mut documents, mode, now);
    changed.push(mode);
    links::dependents_first(&mut changed);
    let session = snapshot.scope.session().map(|id| id.as_str());
    let writes = changed.into_iter().filter_map(|written| {
        let mut document = documents.remove(&written)?;
        let revision = document.next_revision();
        document.stamp(written, session, revision, now);
        Some((written, document))
    });
    writes.collect()
}

fn iteration_limit(mode: Mode, document: &Document) -> u64 {
    document.get_u64("max_iterations").unwrap_or_else(|| default_limit(mode))
}

/// Formats the message for an agent that is held.
pub fn format_hold(mode: Mode, document: &Document, dialect: Dialect) -> String {
    let phase = document.phase().unwrap_or("unknown");
    let count = match document.get_u64("iteration") {
        Some(iteration) => format!(", iteration {iteration}/{}", iteration_limit(mode, document)),
        None => String::new(),
    };
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
    let facts = FileFacts { existing: query.paths.into_iter().collect(), audit: None };
    missing_evidence(requirement, document, phase, &facts)
}
