//! Handles an agent's Stop: the kernel's rule decides, the documents count.

use omx_kernel::hold_text::format_stop_word;
use omx_kernel::session_events::{self, SessionWorkState};
use omx_kernel::stop::{
    AllowReason, DEFAULT_MAX_HOLDS, StopCause, StopDecision, StopEvent, StopHold, StoppingAgent,
    decide,
};
use omx_kernel::{Refusal, RunId, Scope, SessionId, Snapshot};
use omx_store::runs::Liveness;
use omx_store::{EventKind, LockedStore, Store};

use super::{event_of, folder, read_active_session, write_all};
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
    /// The agent has to continue, with this message, which the host also shows the person.
    Held(String),
    /// The agent may stop, and the person learns that a limit was reached.
    RanOut {
        /// What they read.
        notice: String,
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
    // Progress changes how a hold is counted, not whether the agent may stop.
    if let StopDecision::Allow(why) = decide(&found.read.snapshot, &event, context.dialect, now) {
        return Ok(StopOutcome::Allowed(why));
    }
    let locked = context.lock(&found.store, "hook")?;
    let read = locked.scope(&found.scope)?;
    let progress = Some(fingerprint(&found.store, &read.snapshot, seen));
    let event = StopEvent { progress, ..event };
    let end = match decide(&read.snapshot, &event, context.dialect, now) {
        StopDecision::Allow(why) => return Ok(StopOutcome::Allowed(why)),
        StopDecision::Hold(hold) => {
            // A hold that cannot be counted must not happen: it would have no bound.
            locked.write_activity(&found.scope, &hold.activity, now)?;
            log_hold(context, &locked, &found.scope, &read.snapshot, &hold)?;
            let how = format_stop_word(context.dialect);
            return Ok(StopOutcome::Held(format!("{} {how}", hold.text)));
        }
        StopDecision::Exhausted(end) => end,
    };
    write_all(context, &locked, &found.scope, EventKind::RanOut, &end.writes)?;
    let _ = locked.write_activity(&found.scope, &end.activity, now);
    Ok(StopOutcome::RanOut { notice: end.notice })
}

/// Writes the document if the hold changes it, and logs the hold either way.
fn log_hold(
    context: &Context<'_>,
    locked: &LockedStore,
    scope: &Scope,
    snapshot: &Snapshot,
    hold: &StopHold,
) -> Result<(), Refusal> {
    if let Some(document) = &hold.document {
        locked.write(scope, hold.mode, document)?;
    }
    let document = hold.document.as_ref().or_else(|| snapshot.active(hold.mode));
    let events =
        document.map(|document| event_of(context, EventKind::Held, scope, hold.mode, document));
    locked.log(events.as_slice());
    Ok(())
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
    // An unreadable configuration sets no budget and leaves the other bounds as they are.
    let config = load(context, store).ok();
    let time_budget = config.as_ref().and_then(|config| {
        let span = config.get("budget.time")?.value.as_str()?;
        i64::try_from(span_seconds(span)?).ok()?.checked_mul(1_000)
    });
    let max_holds = config
        .as_ref()
        .and_then(|config| config.get("limits.max_holds")?.value.as_u64())
        .map_or(DEFAULT_MAX_HOLDS, |most| u32::try_from(most).unwrap_or(u32::MAX));
    StopEvent {
        cause: seen.cause,
        agent: seen.agent,
        cancel_requested: false,
        self_driven,
        progress: None,
        time_budget,
        max_holds,
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
