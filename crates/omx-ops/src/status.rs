//! Active modes of a project, and whether a Stop would be held.

use omx_kernel::stop::{StopDecision, StopEvent, decide};
use omx_kernel::{ForeignText, Mode, Refusal, RunId, Scope, Timestamp, Value};
use omx_store::{MisnamedDocument, ScopeContents, StateDir, Store, UnreadableDocument};

use crate::context::Context;
use crate::hook::is_driven;
use crate::list::{entry, misnamed, read_noteworthy};
use crate::report;
use crate::request::StatusRequest;
use crate::runs::is_own;

/// One active mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveMode {
    /// The mode.
    pub mode: Mode,
    /// The session it belongs to.
    pub scope: Scope,
    /// The current phase.
    pub phase: Option<ForeignText>,
    /// The current iteration and the limit.
    pub iteration: (Option<u64>, Option<u64>),
    /// When it was last active.
    pub updated_at: Option<Timestamp>,
    /// Whether that is too long ago.
    pub stale: bool,
    /// The task.
    pub task: Option<ForeignText>,
    json: Value,
}

/// A mode that waits for the person (`blocked_on_user`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingMode {
    /// The mode.
    pub mode: Mode,
    /// The session it belongs to.
    pub scope: Scope,
    /// The phase in which it waits.
    pub phase: Option<ForeignText>,
    /// Why it waits.
    pub reason: Option<ForeignText>,
    /// The run that omx drives there, if it is one.
    pub run: Option<RunId>,
    json: Value,
}

/// Whether a Stop of a session would be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopAnswer {
    /// The session.
    pub scope: Scope,
    /// The mode that would hold it.
    pub held_by: Option<Mode>,
    /// The reason, or the message that the agent would get.
    pub why: String,
}

/// The status of a project.
#[derive(Debug)]
pub struct StatusReport {
    /// The project's folder.
    pub root: std::path::PathBuf,
    /// When the status was read.
    pub now: Timestamp,
    /// Active modes; the compatibility scope comes first.
    pub active: Vec<ActiveMode>,
    /// Modes that wait for the person.
    pub waiting: Vec<WaitingMode>,
    /// One answer for each session that has active modes.
    pub stops: Vec<StopAnswer>,
    /// Foreign runs among the active sessions.
    pub foreign: Vec<RunId>,
    /// Documents that could not be read.
    pub unreadable: Vec<UnreadableDocument>,
    /// Documents in folders whose name is no session id.
    pub misnamed: Vec<MisnamedDocument>,
}

impl StatusReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        let stops = self.stops.iter().map(|stop| {
            Value::record([
                ("session_id", report::scope(&stop.scope)),
                ("held", Value::bool(stop.held_by.is_some())),
                ("mode", Value::string_or_null(stop.held_by.map(Mode::name))),
                ("why", Value::string(&stop.why)),
            ])
        });
        let mut names: Vec<Mode> = self.active.iter().map(|active| active.mode).collect();
        names.sort();
        names.dedup();
        report::with_lists(
            vec![
                ("root", report::path(&self.root)),
                ("active_modes", Value::strings(names.iter().map(|mode| mode.name()))),
                ("entries", Value::array(self.active.iter().map(|a| a.json.clone()).collect())),
                ("stops", Value::array(stops.collect())),
            ],
            [
                ("waiting", Value::array(self.waiting.iter().map(|w| w.json.clone()).collect())),
                ("foreign", Value::strings(self.foreign.iter().map(RunId::as_str))),
                ("unreadable", report::unreadable(&self.unreadable, &self.misnamed)),
            ],
        )
    }
}

/// Reads the status of a project, or of one session.
pub fn status(context: &Context<'_>, request: &StatusRequest) -> Result<StatusReport, Refusal> {
    let store = context.store_for(request.project.as_deref())?;
    let now = context.now();
    let mut report = StatusReport {
        root: store.root().to_owned(),
        now,
        active: Vec::new(),
        waiting: Vec::new(),
        stops: Vec::new(),
        foreign: Vec::new(),
        unreadable: Vec::new(),
        misnamed: Vec::new(),
    };
    let Some(state) = store.read()? else { return Ok(report) };
    let reads = read_noteworthy(&store, Some(&state), request.session.as_ref(), now)?;
    report.misnamed = misnamed(Some(&state), request.session.as_ref());
    for read in reads {
        let mut modes: Vec<Mode> = read.snapshot.active_modes().collect();
        let mut waiting: Vec<Mode> = read.snapshot.waiting_modes().collect();
        // What was cancelled and could not be written is not active.
        let is_open = !modes.is_empty() || !waiting.is_empty();
        if is_open && store.is_marked_cancelled(&read.snapshot.scope) {
            modes.clear();
            waiting.clear();
        }
        report
            .waiting
            .extend(waiting.iter().map(|mode| waiting_mode(&store, &state, &read, *mode, now)));
        report.active.extend(modes.iter().map(|mode| active(&state, &read, *mode, now)));
        if !modes.is_empty() && read.snapshot.scope.session().is_some() {
            report.stops.push(stop_answer(context, &store, &read, now));
            report.foreign.extend(foreign_run(context, &store, &read.snapshot.scope));
        }
        report.unreadable.extend(read.unreadable);
    }
    Ok(report)
}

/// The run of a session, if it is foreign. One that cannot be read is named elsewhere.
fn foreign_run(context: &Context<'_>, store: &Store, scope: &Scope) -> Option<RunId> {
    let id = RunId::new(scope.session()?.as_str()).ok()?;
    let folder = store.run(&id).ok()??;
    let is_own = is_own(context, &folder).unwrap_or(true);
    (!is_own).then_some(id)
}

fn active(state: &StateDir, read: &ScopeContents, mode: Mode, now: Timestamp) -> ActiveMode {
    let document = &read.snapshot.documents[&mode];
    ActiveMode {
        mode,
        scope: read.snapshot.scope.clone(),
        phase: document.phase().map(ForeignText::from),
        iteration: (document.get_u64("iteration"), document.get_u64("max_iterations")),
        updated_at: document
            .get_time("updated_at")
            .or_else(|| read.snapshot.modified_at.get(&mode).copied())
            .max(read.snapshot.activity.last_seen),
        stale: read.snapshot.is_stale(mode, now),
        task: document.get_str("task_description").map(ForeignText::from),
        json: entry(state, read, mode, now),
    }
}

fn waiting_mode(
    store: &Store,
    state: &StateDir,
    read: &ScopeContents,
    mode: Mode,
    now: Timestamp,
) -> WaitingMode {
    let document = &read.snapshot.documents[&mode];
    let scope = read.snapshot.scope.clone();
    let reason = document.get_str("error").map(ForeignText::from);
    let run = scope.session().and_then(|session| RunId::new(session.as_str()).ok());
    let reported = Value::record([("needs", Value::string_or_null(document.get_str("error")))]);
    WaitingMode {
        mode,
        phase: document.phase().map(ForeignText::from),
        run: run.filter(|id| store.run(id).is_ok_and(|folder| folder.is_some())),
        json: entry(state, read, mode, now).merged(reported.as_object().unwrap_or_default()),
        reason,
        scope,
    }
}

fn stop_answer(
    context: &Context<'_>,
    store: &Store,
    read: &ScopeContents,
    now: Timestamp,
) -> StopAnswer {
    let session = read.snapshot.scope.session();
    let is_driven = session.is_some_and(|session| is_driven(store, session));
    let self_driven = if is_driven { read.snapshot.active_modes().collect() } else { Vec::new() };
    let event = StopEvent { self_driven, ..StopEvent::turn_ended() };
    let decision = decide(&read.snapshot, &event, context.dialect, now);
    let (held_by, why) = match decision {
        StopDecision::Allow(reason) => (None, reason.describe(&context.dialect).into_owned()),
        StopDecision::Hold(hold) => {
            (Some(hold.mode), format!("{} To end it: {} cancel", hold.text, context.dialect.name))
        }
        StopDecision::Exhausted(exhausted) => (None, exhausted.error),
    };
    StopAnswer { scope: read.snapshot.scope.clone(), held_by, why }
}
