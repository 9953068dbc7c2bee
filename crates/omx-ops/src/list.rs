//! Read-only operations: read, list-active, get-status. They take no lock and change nothing.

use omx_kernel::{Mode, Refusal, Scope, SessionId, Timestamp, Value};
use omx_store::{MisnamedDocument, ScopeContents, StateDir, Store, UnreadableDocument};

use crate::context::Context;
use crate::report;
use crate::request::{StateListRequest, StateReadRequest, StateStatusRequest};

/// Returns the document of one mode as it is stored.
pub fn state_read(context: &Context<'_>, request: &StateReadRequest) -> Result<Value, Refusal> {
    let mode = request.mode;
    let scope = context.scope(request.session.as_ref())?;
    let state = context.store_for(request.project.as_deref())?.read()?;
    let document = state.map(|state| state.document(&scope, mode)).transpose()?.flatten();
    Ok(match document {
        Some(document) => document.into_value(),
        None => {
            Value::record([("exists", Value::bool(false)), ("mode", Value::string(mode.name()))])
        }
    })
}

/// Lists active modes in one session, or everywhere.
pub fn state_list_active(
    context: &Context<'_>,
    request: &StateListRequest,
) -> Result<Value, Refusal> {
    let now = context.now();
    let store = context.store_for(request.project.as_deref())?;
    let state = store.read()?;
    let reads = read_noteworthy(&store, state.as_ref(), request.session.as_ref(), now)?;
    let mut entries = Vec::new();
    let mut modes: Vec<Mode> = Vec::new();
    for (state, read) in reads.iter().filter_map(|read| Some((state.as_ref()?, read))) {
        for mode in read.snapshot.active_modes() {
            modes.push(mode);
            entries.push(entry(state, read, mode, now));
        }
    }
    modes.sort();
    modes.dedup();
    let names = Value::strings(modes.iter().map(|mode| mode.name()));
    let unreadable = unreadable(&reads);
    let misnamed = misnamed(state.as_ref(), request.session.as_ref());
    Ok(report::with_lists(
        vec![("active_modes", names), ("entries", Value::array(entries))],
        [("unreadable", report::unreadable(unreadable, &misnamed))],
    ))
}

/// Returns every document with its status, in one session or everywhere.
pub fn state_get_status(
    context: &Context<'_>,
    request: &StateStatusRequest,
) -> Result<Value, Refusal> {
    let wanted = request.mode;
    let named = request.session.as_ref();
    let now = context.now();
    let state = context.store_for(request.project.as_deref())?.read()?;
    let reads = read_scopes(state.as_ref(), named)?;
    let mut statuses = Value::object(Vec::new());
    let mut sessions = Vec::new();
    for (state, read) in reads.iter().filter_map(|read| Some((state.as_ref()?, read))) {
        let of_scope = scope_statuses(state, read, wanted, now);
        match read.snapshot.scope.session() {
            Some(id) if named.is_none() => {
                if of_scope.as_object().is_some_and(|modes| !modes.is_empty()) {
                    sessions.push((id.to_string(), of_scope));
                }
            }
            _ => statuses = of_scope,
        }
    }
    let mut fields = vec![("statuses", statuses)];
    if named.is_none() {
        fields.push(("sessions", Value::object(sessions)));
    }
    let unreadable =
        unreadable(&reads).into_iter().filter(|found| wanted.is_none_or(|mode| mode == found.mode));
    let mut misnamed = misnamed(state.as_ref(), named);
    misnamed.retain(|found| wanted.is_none_or(|mode| mode == found.mode));
    Ok(report::with_lists(fields, [("unreadable", report::unreadable(unreadable, &misnamed))]))
}

/// Reads the named session, or else the compatibility scope and every session that has
/// something to report. Ignores the caller's own session.
pub(crate) fn read_noteworthy(
    store: &Store,
    state: Option<&StateDir>,
    session: Option<&SessionId>,
    now: Timestamp,
) -> Result<Vec<ScopeContents>, Refusal> {
    let Some(state) = state else { return Ok(Vec::new()) };
    if let Some(session) = session {
        return Ok(vec![state.scope(&Scope::Session(session.clone()))?]);
    }
    let mut reads = vec![state.scope(&Scope::Compatibility)?];
    let mut found = state.noteworthy_sessions(now)?;
    store.keep_session_index(&found);
    reads.append(&mut found.sessions);
    Ok(reads)
}

/// Reads the named session, or else the compatibility scope and every session. Ignores
/// the caller's own session.
fn read_scopes(
    state: Option<&StateDir>,
    session: Option<&SessionId>,
) -> Result<Vec<ScopeContents>, Refusal> {
    let Some(state) = state else { return Ok(Vec::new()) };
    let mut reads = Vec::new();
    match session {
        Some(session) => reads.push(state.scope(&Scope::Session(session.clone()))?),
        None => {
            reads.push(state.scope(&Scope::Compatibility)?);
            state.for_each_session(|read| reads.push(read))?;
        }
    }
    Ok(reads)
}

/// The documents that belong to no session that could be named, unless one is named.
pub(crate) fn misnamed(
    state: Option<&StateDir>,
    session: Option<&SessionId>,
) -> Vec<MisnamedDocument> {
    state.filter(|_| session.is_none()).map(StateDir::misnamed_documents).unwrap_or_default()
}

fn unreadable(reads: &[ScopeContents]) -> Vec<&UnreadableDocument> {
    reads.iter().flat_map(|read| &read.unreadable).collect()
}

/// An active mode as one entry of a list.
pub(crate) fn entry(state: &StateDir, read: &ScopeContents, mode: Mode, now: Timestamp) -> Value {
    let snapshot = &read.snapshot;
    let document = &snapshot.documents[&mode];
    let or_null = |name| document.get(name).cloned().unwrap_or_else(Value::null);
    Value::record([
        ("mode", Value::string(mode.name())),
        ("session_id", report::scope(&snapshot.scope)),
        ("phase", Value::string_or_null(document.phase())),
        ("iteration", or_null("iteration")),
        ("updated_at", or_null("updated_at")),
        ("stale", Value::bool(snapshot.is_stale(mode, now))),
        ("path", report::path(&state.document_path(&snapshot.scope, mode))),
    ])
}

fn scope_statuses(
    state: &StateDir,
    read: &ScopeContents,
    wanted: Option<Mode>,
    now: Timestamp,
) -> Value {
    let snapshot = &read.snapshot;
    let statuses = snapshot
        .documents
        .iter()
        .filter(|(mode, _)| wanted.is_none_or(|wanted| wanted == **mode))
        .map(|(mode, document)| {
            let phase = Value::string_or_null(document.phase());
            let status = Value::record([
                ("active", Value::bool(document.is_active())),
                ("phase", phase),
                ("path", report::path(&state.document_path(&snapshot.scope, *mode))),
                ("stale", Value::bool(snapshot.is_stale(*mode, now))),
                ("data", Value::object(document.fields().to_vec())),
            ]);
            (mode.name().to_owned(), status)
        });
    Value::object(statuses.collect())
}
