//! Changes the iteration limit of whatever is meant: a run that omx drives, or a mode
//! inside a conversation.

use std::path::PathBuf;

use omx_kernel::cancel::{CancelTarget, meant_sessions};
use omx_kernel::request::LimitRule;
use omx_kernel::{Document, Mode, Refusal, RefusalCode, Scope, SessionId, Snapshot, Value, links};
use omx_runs::Budget;
use omx_store::Store;

use crate::cancel::active_sessions;
use crate::context::Context;
use crate::request::StateWriteRequest;
use crate::runs::{RunLimitReport, RunLimitRequest, RunSelector, refuse_to_agents, run_limit};
use crate::write::state_write;

/// A request to change an iteration limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// A run or a session, by its id or a unique prefix; defaults to the only one in use.
    pub target: Option<String>,
    /// The mode; defaults to the one that drives the session.
    pub mode: Option<Mode>,
    /// The new limit.
    pub max_iterations: u64,
}

/// What was changed.
#[derive(Debug)]
pub enum LimitReport {
    /// The limit of a run.
    Run(RunLimitReport),
    /// The limit of a mode inside a conversation.
    Mode(ModeLimitReport),
}

/// The changed limit of a mode inside a conversation.
#[derive(Debug)]
pub struct ModeLimitReport {
    /// The mode.
    pub mode: Mode,
    /// Its session.
    pub scope: Scope,
    /// The new limit.
    pub max_iterations: u64,
    /// Whether the mode is active now.
    pub active: bool,
}

impl LimitReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        match self {
            Self::Run(report) => report.value(),
            Self::Mode(report) => Value::record([
                ("mode", Value::string(report.mode.name())),
                ("session_id", crate::report::scope(&report.scope)),
                ("max_iterations", Value::integer(report.max_iterations)),
                ("active", Value::bool(report.active)),
            ]),
        }
    }
}

/// Changes an iteration limit. Only the person may.
pub fn limit(context: &Context<'_>, request: &LimitRequest) -> Result<LimitReport, Refusal> {
    let store = context.store_for(request.project.as_deref())?;
    refuse_to_agents(context, &store, "limit")?;
    if context.runs.is_in_conversation(context.dialect) {
        return Err(Refusal::new(
            RefusalCode::PersonOnly,
            "an agent cannot change a limit; the person does that, in a terminal of their own",
        ));
    }
    let session = match find_target(context, &store, request)? {
        Target::Run(id) => {
            let run = RunSelector { project: request.project.clone(), id: Some(id) };
            let max_iterations = Some(request.max_iterations);
            let request = RunLimitRequest { run, max_iterations, budget: Budget::default() };
            return run_limit(context, &request).map(LimitReport::Run);
        }
        Target::Session(session) => session,
    };
    let scope = Scope::Session(session.clone());
    let read = match store.read()? {
        Some(state) => state.scope(&scope)?.snapshot,
        None => Snapshot::empty(scope.clone()),
    };
    let mode = find_mode(&read, &session, request.mode)?;
    let max_iterations = request.max_iterations;
    let active = read.active(mode).is_some();
    state_write(
        context,
        StateWriteRequest {
            project: request.project.clone(),
            session: Some(session),
            mode,
            limit_rule: LimitRule::MayRaise,
            fields: vec![("max_iterations".to_owned(), Value::integer(max_iterations))],
        },
    )?;
    Ok(LimitReport::Mode(ModeLimitReport { mode, scope, max_iterations, active }))
}

/// What a request means.
enum Target {
    Run(String),
    Session(SessionId),
}

fn find_target(
    context: &Context<'_>,
    store: &Store,
    request: &LimitRequest,
) -> Result<Target, Refusal> {
    // A run's documents have the run's id as their session, so runs come first.
    let runs = store.run_ids()?;
    let is_run = |session: &SessionId| runs.iter().any(|run| run.as_str() == session.as_str());
    let target = |session: &SessionId| match is_run(session) {
        true => Target::Run(session.to_string()),
        false => Target::Session(session.clone()),
    };
    if let Some(start) = &request.target {
        if runs.iter().any(|run| run.as_str().starts_with(start.as_str())) {
            return Ok(Target::Run(start.clone()));
        }
        let sessions = match store.read()? {
            Some(state) => state.sessions()?,
            None => Vec::new(),
        };
        if let Some(exact) = sessions.iter().find(|session| session.as_str() == start) {
            return Ok(target(exact));
        }
        let matching = sessions.iter().filter(|session| session.as_str().starts_with(start));
        return match matching.collect::<Vec<_>>()[..] {
            [] => Err(Refusal::invalid_input(format!(
                "no run and no session has an id that starts with {start}"
            ))),
            [one] => Ok(target(one)),
            _ => Err(Refusal::invalid_input(format!(
                "several sessions have an id that starts with {start}; use a longer prefix"
            ))),
        };
    }
    if let Ok(Scope::Session(own)) = context.ambient_scope() {
        return Ok(target(&own));
    }
    let meant = request.mode.map_or(CancelTarget::Everything, CancelTarget::Mode);
    let used = meant_sessions(active_sessions(store)?, meant);
    let mut sessions = used.keys();
    match (sessions.next(), sessions.next()) {
        (None, _) => {
            Err(Refusal::invalid_input("nothing is active here; name a run or a session by its id"))
        }
        (Some(only), None) => Ok(target(only)),
        (Some(_), Some(_)) => {
            let list: Vec<&str> = used.keys().map(SessionId::as_str).collect();
            Err(Refusal::new(
                RefusalCode::AmbiguousSession,
                format!(
                    "modes are active in several sessions: {}; name one by its id",
                    list.join(", ")
                ),
            ))
        }
    }
}

/// The mode whose limit is meant: the named one, or the outermost one that is active, or
/// else the only one that can be resumed.
fn find_mode(
    snapshot: &Snapshot,
    session: &SessionId,
    named: Option<Mode>,
) -> Result<Mode, Refusal> {
    let documents = &snapshot.documents;
    if let Some(mode) = named {
        return match documents.contains_key(&mode) {
            true => Ok(mode),
            false => {
                Err(Refusal::invalid_input(format!("session {session} has no {} run", mode.name())))
            }
        };
    }
    let tops = Mode::STOP_PRIORITY.into_iter().filter(|mode| {
        snapshot.active(*mode).is_some() && links::outermost(documents, *mode) == *mode
    });
    let mut found: Vec<Mode> = tops.collect();
    if found.is_empty() {
        let resumable =
            |mode: &Mode| documents.get(mode).is_some_and(|it| Document::can_resume(it, *mode));
        found = Mode::STOP_PRIORITY.into_iter().filter(resumable).collect();
    }
    match found[..] {
        [only] => Ok(only),
        [] => Err(Refusal::invalid_input(format!("session {session} has no run that could go on"))),
        _ => {
            let names: Vec<&str> = found.iter().map(|mode| mode.name()).collect();
            Err(Refusal::invalid_input(format!(
                "session {session} has several runs: {}; name the mode",
                names.join(", ")
            )))
        }
    }
}
