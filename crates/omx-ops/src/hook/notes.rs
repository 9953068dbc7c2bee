//! Records a session's activity, and summarizes the session for its agent.

use omx_kernel::activity::{SessionActivity, ToolClass};
use omx_kernel::session_events;
use omx_kernel::{Document, Mode, Refusal, SessionId, Snapshot, Timestamp, hold_text, links};
use omx_store::EventKind;

use super::prompt::{PromptReply, PromptSeen};
use super::{Found, read_active_session, read_session, write_all};
use crate::cancel::settle_cancel;
use crate::context::Context;

/// Summarizes the session for a new conversation, one line for each fact.
pub fn brief(context: &Context<'_>, session: &SessionId) -> Result<Vec<String>, Refusal> {
    let found = read_session(context, session)?;
    let now = context.now();
    Ok(found.map_or_else(Vec::new, |f| {
        session_events::describe_session(&f.read.snapshot, context.dialect, now)
    }))
}

/// A tool was used: resets the count of holds and ends a wait for a rate limit.
pub fn tool_used(
    context: &Context<'_>,
    session: &SessionId,
    tool: ToolClass,
) -> Result<(), Refusal> {
    let Some(found) = read_active_session(context, session)? else { return Ok(()) };
    change(
        context,
        &found,
        EventKind::AgentWorks,
        session_events::clear_rate_limit,
        |activity, now| session_events::record_tool_use(activity, tool, now),
    )
}

/// The person sent a prompt that neither starts nor cancels anything. After an interrupt
/// it is theirs: the agent is told not to return to the run on its own.
pub(super) fn record_other_prompt(
    context: &Context<'_>,
    session: &SessionId,
    seen: &PromptSeen<'_>,
) -> Result<Option<PromptReply>, Refusal> {
    let Some(found) = read_active_session(context, session)? else { return Ok(None) };
    if settle_cancel(context, &found.store, &found.scope) {
        return Ok(None);
    }
    let was_paused = found.read.snapshot.activity.interrupted;
    let is_news = !was_paused && (seen.was_interrupted)();
    change(
        context,
        &found,
        EventKind::PersonSpoke,
        session_events::clear_rate_limit,
        |activity, now| match is_news {
            true => Some(session_events::record_interrupt(activity, now)),
            false => session_events::record_prompt(activity, now),
        },
    )?;
    let Some(mode) = driver(&found).filter(|_| was_paused || is_news) else { return Ok(None) };
    let agent = hold_text::format_paused(mode);
    let person = hold_text::format_interrupted(mode, context.dialect);
    Ok(Some(match is_news {
        true => PromptReply::for_both(context, &agent, &person),
        false => PromptReply::for_agent(context, &agent),
    }))
}

/// The person asked to continue what is active.
pub(super) fn continued(context: &Context<'_>, session: &SessionId) -> Result<(), Refusal> {
    let Some(found) = read_active_session(context, session)? else { return Ok(()) };
    if settle_cancel(context, &found.store, &found.scope) {
        return Ok(());
    }
    change(
        context,
        &found,
        EventKind::PersonSpoke,
        session_events::clear_rate_limit,
        session_events::record_continue,
    )
}

/// The person interrupted the agent: no Stop is held until they ask to continue, or the
/// agent works again. Returns a line for the person, if a run is active.
pub fn interrupted(context: &Context<'_>, session: &SessionId) -> Result<Option<String>, Refusal> {
    let Some(found) = read_active_session(context, session)? else { return Ok(None) };
    change(
        context,
        &found,
        EventKind::Interrupted,
        |_, _| Vec::new(),
        |activity, now| Some(session_events::record_interrupt(activity, now)),
    )?;
    let name = context.dialect.name;
    let line = |mode| hold_text::format_interrupted(mode, context.dialect);
    Ok(driver(&found).map(|mode| format!("{name}: {}", line(mode))))
}

/// The mode that the person started and that would hold a Stop.
fn driver(found: &Found) -> Option<Mode> {
    let snapshot = &found.read.snapshot;
    let mode = Mode::STOP_PRIORITY.into_iter().find(|mode| snapshot.active(*mode).is_some())?;
    Some(links::outermost(&snapshot.documents, mode))
}

/// The conversation is about to be compacted. Documents are already on disk.
/// Recording the activity keeps active modes from looking stale afterwards.
pub fn checkpoint(context: &Context<'_>, session: &SessionId) -> Result<(), Refusal> {
    let Some(found) = read_active_session(context, session)? else { return Ok(()) };
    change(
        context,
        &found,
        EventKind::Compacting,
        |_, _| Vec::new(),
        |activity, now| Some(SessionActivity { last_seen: Some(now), ..activity.clone() }),
    )
}

/// A rate limit of the model's service stopped the agent.
pub fn limited(
    context: &Context<'_>,
    session: &SessionId,
    until: Option<Timestamp>,
) -> Result<(), Refusal> {
    let Some(found) = read_active_session(context, session)? else { return Ok(()) };
    let waiting =
        |snapshot: &Snapshot, now| session_events::mark_rate_limited(snapshot, until, now);
    change(context, &found, EventKind::Limited, waiting, |_, _| None)
}

/// Carries a change out under the lock; skips the lock if nothing changes.
fn change(
    context: &Context<'_>,
    found: &Found,
    kind: EventKind,
    documents: impl Fn(&Snapshot, Timestamp) -> Vec<(Mode, Document)>,
    record: impl Fn(&SessionActivity, Timestamp) -> Option<SessionActivity>,
) -> Result<(), Refusal> {
    let now = context.now();
    let is_needed = |snapshot: &Snapshot| {
        record(&snapshot.activity, now).is_some() || !documents(snapshot, now).is_empty()
    };
    if !is_needed(&found.read.snapshot) {
        return Ok(());
    }
    let locked = context.lock(&found.store, "hook")?;
    let read = locked.scope(&found.scope)?;
    if read.snapshot.active_modes().next().is_none() {
        // Ended in the meantime: a hook writes nothing for a run that is gone.
        return Ok(());
    }
    if let Some(activity) = record(&read.snapshot.activity, now) {
        locked.write_activity(&found.scope, &activity, now)?;
    }
    write_all(context, &locked, &found.scope, kind, &documents(&read.snapshot, now))
}
