//! The stop decision: may the agent end its turn, or is there work that holds it?
//!
//! Every doubt lets the person get away. Holds are counted here and bounded;
//! running out of them is written as what it is, never as success.

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

/// Hosts give up at 8 holds in a row; we say so one earlier.
pub const HOLDS_WITHOUT_TOOL: u32 = 7;

pub use crate::progress::SAME_PROGRESS_LIMIT;

/// Why the agent stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopCause {
    /// It thinks it is done.
    TurnEnded,
    /// The person interrupted.
    Interrupted,
    /// The context is full.
    ContextLimit,
    /// A rate or usage limit.
    RateLimit,
    /// Not logged in, or not paid.
    Account,
}

/// Who stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoppingAgent {
    /// The agent of the session itself.
    Main,
    /// One it started.
    Subagent,
}

/// A stop about to happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopEvent {
    /// Why.
    pub cause: StopCause,
    /// Who.
    pub agent: StoppingAgent,
    /// Whether this prompt asked for a cancel.
    pub cancel_requested: bool,
    /// The modes whose documents a live omx process drives by itself.
    pub self_driven: Vec<Mode>,
    /// What the work looks like now; equal values mean that nothing moved.
    pub progress: Option<u64>,
    /// How long a run may take, in milliseconds, where the person set that.
    pub time_budget: Option<i64>,
}

impl StopEvent {
    /// A plain end of a turn.
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
    /// What is active is stale.
    Stale,
    /// A live omx process drives it.
    SelfDriven,
    /// It waits for something the agent cannot bring about.
    Waiting,
    /// The person or the host ended the turn.
    Interrupted,
    /// A limit of the model's service.
    Limit,
    /// Not logged in, or not paid.
    Account,
    /// A cancel was asked for.
    CancelRequested,
    /// A subagent never decides.
    Subagent,
}

impl AllowReason {
    /// The reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSession => "no session",
            Self::NothingActive => "nothing active",
            Self::Stale => "stale",
            Self::SelfDriven => "driven by a running process",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::Limit => "a limit of the model's service",
            Self::Account => "login or billing",
            Self::CancelRequested => "cancel requested",
            Self::Subagent => "a subagent",
        }
    }
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StopDecision {
    /// The turn may end.
    Allow(AllowReason),
    /// The agent goes on, told this.
    Hold(StopHold),
    /// The turn may end, because a bound was reached; the document says so.
    Exhausted(StopExhausted),
}

/// A hold and what it changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopHold {
    /// The mode that holds.
    pub mode: Mode,
    /// What the agent is told.
    pub text: String,
    /// Its document, with this hold counted.
    pub document: Document,
    /// The session's record, with this hold counted.
    pub activity: SessionActivity,
}

/// The end of a run that used up a bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopExhausted {
    /// The mode that ends.
    pub mode: Mode,
    /// Why.
    pub error: String,
    /// What ends with it and its own document, in the order in which they must
    /// reach the disk.
    pub writes: Vec<(Mode, Document)>,
    /// The session's record, begun anew.
    pub activity: SessionActivity,
}

impl StopExhausted {
    /// The document of the mode that ends.
    pub fn document(&self) -> Option<&Document> {
        self.writes.iter().find(|(mode, _)| *mode == self.mode).map(|(_, document)| document)
    }
}

/// Decides a stop.
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
        } else if waits(document, now) {
            reason = AllowReason::Waiting;
        } else {
            return hold(snapshot, mode, document, event, dialect, now);
        }
    }
    Allow(reason)
}

/// Whether the run waits for a limit, the network or a worker, and not in vain.
fn waits(document: &Document, now: Timestamp) -> bool {
    document.get("waiting").is_some_and(|waiting| {
        let until = waiting.get("until").and_then(Value::as_str).and_then(Timestamp::parse);
        waiting.as_object().is_some() && until.is_none_or(|until| now < until)
    })
}

fn hold(
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
    } else if iteration >= limit_of(mode, old) {
        Some((RunEnding::Failed, "max_iterations reached".to_owned()))
    } else if activity.holds_in_a_row >= HOLDS_WITHOUT_TOOL {
        Some((
            RunEnding::Blocked,
            format!("held {HOLDS_WITHOUT_TOOL} times in a row without any tool being used"),
        ))
    } else if activity.same_fingerprint >= SAME_PROGRESS_LIMIT {
        Some((
            RunEnding::Blocked,
            format!(
                "no progress: {SAME_PROGRESS_LIMIT} stops in a row looked the same in phase {}",
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
        let writes = ended(snapshot, mode, ending, &error, now);
        return StopDecision::Exhausted(StopExhausted { mode, error, writes, activity });
    }
    let mut document = old.clone();
    activity.holds_in_a_row = activity.holds_in_a_row.saturating_add(1);
    document.set("iteration", Value::integer(iteration.saturating_add(1)));
    document.stamp(mode, session, old.next_revision(), now);
    let text = format_hold(mode, &document, dialect);
    StopDecision::Hold(StopHold { mode, text, document, activity })
}

/// The run ended, with what depends on it: that would hold the session for a
/// parent that is gone.
fn ended(
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

fn limit_of(mode: Mode, document: &Document) -> u64 {
    document.get_u64("max_iterations").unwrap_or_else(|| default_limit(mode))
}

/// What the agent is told when it is held.
pub fn format_hold(mode: Mode, document: &Document, dialect: Dialect) -> String {
    let phase = document.phase().unwrap_or("unknown");
    let count = match document.get_u64("iteration") {
        Some(iteration) => format!(", iteration {iteration}/{}", limit_of(mode, document)),
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
            let follow = next_phases(mode, Some(phase), &document.stages());
            let lacks = lacking(mode, phase, document);
            let missing =
                if lacks.is_empty() { String::new() } else { format!(": missing {}", lacks.join(", ")) };
            format!("It is not complete{missing}; next may follow: {}.", follow.join(", "))
        }
    };
    format!(
        "[{} active: phase {phase}{count}] {next} To end it: {} cancel",
        mode.title(),
        dialect.name
    )
}

/// What `complete` still needs, as far as the document itself tells: files it
/// names are taken to exist, and an audit in a file to pass.
fn lacking(mode: Mode, phase: &str, document: &Document) -> Vec<String> {
    let needs = match mode {
        Mode::Pipeline => Requirement::StageResult,
        _ => transitions(mode)
            .iter()
            .find(|step| step.to == "complete")
            .map_or(Requirement::Nothing, |s| s.requirement),
    };
    let asked = FactQuery::for_document(document);
    let takes_audit = matches!(needs, Requirement::CompletionAudit | Requirement::CheckOrAudit);
    if takes_audit && asked.audit_path.is_some() {
        return Vec::new();
    }
    let facts = FileFacts { existing: asked.paths.into_iter().collect(), audit: None };
    missing_evidence(needs, document, phase, &facts)
}
