//! The stop decision: may the agent end its turn, or does unfinished work hold it?
//!
//! In doubt the stop is allowed. Holds are counted and bounded here; reaching a bound is
//! recorded as such, never as success.

use std::borrow::Cow;

use crate::activity::SessionActivity;
use crate::dialect::Dialect;
use crate::document::Document;
use crate::hold_bounds::{count_hold, find_bound};
use crate::hold_text::{format_exhausted, format_hold};
use crate::links;
use crate::mode::{Mode, RoundCounting};
use crate::outcome::RunEnding;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::value::Value;

pub use crate::hold_bounds::{DEFAULT_MAX_HOLDS, HOLDS_WITHOUT_TOOL};
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
    /// How often a run may be held.
    pub max_holds: u32,
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
            max_holds: DEFAULT_MAX_HOLDS,
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
    /// The message: the agent reads it, and hosts show it to the person.
    pub text: String,
    /// The mode's document with another iteration, if a hold is a round of this mode.
    pub document: Option<Document>,
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
    /// What the person reads.
    pub notice: String,
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
    let run = links::outermost(&snapshot.documents, mode);
    let holds = count_hold(&mut activity, run);
    if let Some(bound) = find_bound(mode, old, event, &activity, holds, now) {
        let ends = if bound.ends_whole_run { run } else { mode };
        activity.reset_holds();
        let writes = end_with_dependents(snapshot, ends, bound.ending, &bound.error, now);
        let error = bound.error;
        let ended = snapshot.documents.get(&ends).unwrap_or(old);
        let notice =
            format_exhausted(ends, ended, bound.ending, &error, snapshot.scope.session(), dialect);
        let mode = ends;
        return StopDecision::Exhausted(StopExhausted { mode, error, notice, writes, activity });
    }
    activity.holds_in_a_row = activity.holds_in_a_row.saturating_add(1);
    let document = (mode.spec().rounds == RoundCounting::Holds).then(|| {
        let mut document = old.clone();
        let iteration = old.get_u64("iteration").unwrap_or(0).saturating_add(1);
        document.set("iteration", Value::integer(iteration));
        let session = snapshot.scope.session().map(|id| id.as_str());
        document.stamp(mode, session, old.next_revision(), now);
        document
    });
    let text = format_hold(mode, document.as_ref().unwrap_or(old));
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
