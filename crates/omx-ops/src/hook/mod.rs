//! What a host's events do: the operations behind a hook.
//!
//! All of them look first and take no lock for that; most events change
//! nothing. An error is for the hook to swallow: a person is never held
//! because omx has a problem.

mod cancelled;
mod folder;
mod notes;
mod prompt;
mod stop;

pub use notes::{brief, checkpoint, interrupted, limited, spoken, tool_used};
pub use prompt::{Prompted, Rest, present, prompted};
pub(crate) use stop::is_driven;
pub use stop::{StopOutcome, StopSeen, stop};

use omx_kernel::{Document, Mode, Refusal, Scope, SessionId, Value};
use omx_store::{EventKind, LockedStore, LogEvent, ScopeContents, Store};

use crate::context::Context;

/// A session that has something to decide about, read without a lock.
struct Found {
    store: Store,
    scope: Scope,
    read: ScopeContents,
}

/// The documents of a session; `None` where there are none.
fn look(context: &Context<'_>, session: &SessionId) -> Result<Option<Found>, Refusal> {
    let store = context.store()?;
    let scope = Scope::Session(session.clone());
    let Some(state) = store.read()? else { return Ok(None) };
    let read = state.scope(&scope)?;
    Ok((!read.snapshot.documents.is_empty()).then_some(Found { store, scope, read }))
}

/// The same, if anything of it is active.
fn look_at_active(context: &Context<'_>, session: &SessionId) -> Result<Option<Found>, Refusal> {
    let found = look(context, session)?;
    Ok(found.filter(|found| found.read.snapshot.active_modes().next().is_some()))
}

/// Writes documents in their order and logs them.
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
    let event = |(mode, document): &(Mode, Document)| {
        LogEvent::new(context.now(), context.actor, kind, scope).with_team_of(document).with_data([
            ("mode", Value::string(mode.name())),
            ("revision", Value::integer(document.revision())),
            ("active", Value::bool(document.is_active())),
            ("phase", Value::string_or_null(document.phase())),
        ])
    };
    locked.log(&writes.iter().map(event).collect::<Vec<_>>());
    Ok(())
}
