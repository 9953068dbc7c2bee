//! The operations behind a host's hooks.
//!
//! All of them read first, without a lock, because most events change nothing. The
//! hook swallows their errors: a problem in omx must never hold a person up.

mod folder;
mod notes;
mod prompt;
mod prompt_cancel;
mod prompt_start;
mod stop;

pub use notes::{brief, checkpoint, interrupted, limited, tool_used};
pub use prompt::{CancelRest, PromptReply, PromptSeen, Prompted, present, prompted};
pub(crate) use stop::is_driven;
pub use stop::{StopOutcome, StopSeen, stop};

use omx_kernel::{Document, Mode, Refusal, Scope, SessionId, Value};
use omx_store::{EventKind, LockedStore, LogEvent, ScopeContents, Store};

use crate::context::Context;

/// A session with documents, read without a lock.
struct Found {
    store: Store,
    scope: Scope,
    read: ScopeContents,
}

/// Reads the documents of a session; `None` if it has none.
fn read_session(context: &Context<'_>, session: &SessionId) -> Result<Option<Found>, Refusal> {
    let store = context.store()?;
    let scope = Scope::Session(session.clone());
    let Some(state) = store.read()? else { return Ok(None) };
    let read = state.scope(&scope)?;
    Ok((!read.snapshot.documents.is_empty()).then_some(Found { store, scope, read }))
}

/// The same, if any of its modes is active.
fn read_active_session(
    context: &Context<'_>,
    session: &SessionId,
) -> Result<Option<Found>, Refusal> {
    let found = read_session(context, session)?;
    Ok(found.filter(|found| found.read.snapshot.active_modes().next().is_some()))
}

/// Writes documents in the given order and logs them.
fn write_all(
    context: &Context<'_>,
    locked: &LockedStore,
    scope: &Scope,
    kind: EventKind,
    writes: &[(Mode, Document)],
) -> Result<(), Refusal> {
    for (mode, document) in writes {
        locked.write(scope, *mode, document)?;
    }
    let event =
        |(mode, document): &(Mode, Document)| event_of(context, kind, scope, *mode, document);
    locked.log(&writes.iter().map(event).collect::<Vec<_>>());
    Ok(())
}

/// The log entry of an event about a document.
fn event_of(
    context: &Context<'_>,
    kind: EventKind,
    scope: &Scope,
    mode: Mode,
    document: &Document,
) -> LogEvent {
    LogEvent::new(context.now(), context.actor, kind, scope).with_team_of(document).with_data([
        ("mode", Value::string(mode.name())),
        ("revision", Value::integer(document.revision())),
        ("active", Value::bool(document.is_active())),
        ("phase", Value::string_or_null(document.phase())),
    ])
}
