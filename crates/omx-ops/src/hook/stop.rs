//! Handles an agent's Stop: the kernel's rule decides, the documents count.

use omx_kernel::session_events::{self, SessionWorkState};
use omx_kernel::stop::{AllowReason, StopCause, StopDecision, StopEvent, StoppingAgent, decide};
use omx_kernel::{Mode, Refusal, RunId, SessionId, Snapshot};
use omx_store::runs::Liveness;
use omx_store::{EventKind, Store};

use super::{folder, read_active_session, write_all};
use crate::cancel::settle_cancel;
use crate::config::{load, span_seconds};
use crate::context::Context;

/// A Stop as the host reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopSeen<'a> {
    /// The cause.
    pub cause: StopCause,
    /// The agent.
    pub agent: StoppingAgent,
    /// The agent's last message.
    pub last_words: &'a str,
}

/// The outcome of a Stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// The agent may stop.
    Allowed(AllowReason),
    /// The agent has to continue, with this message.
    Held(String),
    /// The agent may stop, and the person learns that a limit was reached.
    RanOut {
        /// The mode.
        mode: Mode,
        /// The limit.
        error: String,
    },
}

/// Decides a Stop and writes what the decision changes.
pub fn stop(
    context: &Context<'_>,
    session: &SessionId,
    seen: &StopSeen<'_>,
) -> Result<StopOutcome, Refusal> {
    let Some(found) = read_active_session(context, session)? else {
        return Ok(StopOutcome::Allowed(AllowReason::NothingActive));
    };
    if settle_cancel(context, &found.store, &found.scope) {
        return Ok(StopOutcome::Allowed(AllowReason::CancelRequested));
    }
    let now = context.now();
    let event = event(context, &found.store, &found.read.snapshot, session, seen);
    if let StopDecision::Allow(why) = decide(&found.read.snapshot, &event, context.dialect, now) {
        return Ok(StopOutcome::Allowed(why));
    }
    let locked = context.lock(&found.store, "hook")?;
    let read = locked.scope(&found.scope)?;
    let progress = Some(fingerprint(&found.store, &read.snapshot, seen));
    let event = StopEvent { progress, ..event };
    let (outcome, activity) = match decide(&read.snapshot, &event, context.dialect, now) {
        StopDecision::Allow(why) => return Ok(StopOutcome::Allowed(why)),
        StopDecision::Hold(hold) => {
            let writes = [(hold.mode, hold.document)];
            write_all(context, &locked, &found.scope, EventKind::Held, &writes)?;
            (StopOutcome::Held(hold.text), hold.activity)
        }
        StopDecision::Exhausted(end) => {
            write_all(context, &locked, &found.scope, EventKind::RanOut, &end.writes)?;
            (StopOutcome::RanOut { mode: end.mode, error: end.error }, end.activity)
        }
    };
    // The document counts the iteration, so losing the activity record is harmless.
    let _ = locked.write_activity(&found.scope, &activity, now);
    Ok(outcome)
}

fn event(
    context: &Context<'_>,
    store: &Store,
    snapshot: &Snapshot,
    session: &SessionId,
    seen: &StopSeen<'_>,
) -> StopEvent {
    let self_driven =
        if is_driven(store, session) { snapshot.active_modes().collect() } else { Vec::new() };
    // An unreadable configuration sets no budget.
    let config = load(context, store).ok();
    let time_budget = config.as_ref().and_then(|config| {
        let span = config.get("budget.time")?.value.as_str()?;
        i64::try_from(span_seconds(span)?).ok()?.checked_mul(1_000)
    });
    StopEvent {
        cause: seen.cause,
        agent: seen.agent,
        cancel_requested: false,
        self_driven,
        progress: Some(fingerprint(store, snapshot, seen)),
        time_budget,
    }
}

fn fingerprint(store: &Store, snapshot: &Snapshot, seen: &StopSeen<'_>) -> u64 {
    let folder = folder::standing(store.root());
    session_events::fingerprint(
        snapshot,
        SessionWorkState { worktree: &folder, last_message: seen.last_words },
    )
}

/// Whether a live omx process drives the run of this session, that is, holds its lock.
pub(crate) fn is_driven(store: &Store, session: &SessionId) -> bool {
    let Ok(id) = RunId::new(session.as_str()) else { return false };
    let run = store.run(&id).ok().flatten();
    run.is_some_and(|run| matches!(run.liveness(), Ok(Liveness::Alive(_))))
}
