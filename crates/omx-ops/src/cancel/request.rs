//! Requests to cancel.

use std::path::PathBuf;

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Mode, Refusal, SessionId, Value};

use crate::fields::RequestFields;

/// A request to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// The session; defaults to the caller's, or to the only one with active modes.
    pub session: Option<SessionId>,
    /// Where the session comes from.
    pub origin: SessionOrigin,
    /// An id of a session or run, or a unique prefix of one, in place of the session.
    pub id_prefix: Option<String>,
    /// What to cancel.
    pub breadth: CancelBreadth,
    /// What to do about the processes of runs.
    pub runs: RunProcesses,
}

/// Where the session of a cancel comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOrigin {
    /// Somebody named it: one that nobody knows is an error.
    Named,
    /// It is the caller's own, which may not have done anything yet.
    Own,
}

/// What a cancel ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelBreadth {
    /// Active modes of one scope.
    Scope(CancelTarget),
    /// Active modes of every session and of the compatibility scope.
    EverySession,
    /// The same, and removes every file of every mode.
    Force,
    /// The second half of a cancel after a hook has ended the documents: whatever is
    /// still active in the session, and the process of its run.
    Finish,
}

/// What to do about the processes of cancelled runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunProcesses {
    /// Terminate them and wait until they have exited.
    Terminate,
    /// Leave them to a second cancel, with [`CancelBreadth::Finish`], that has time
    /// to wait. A hook does not, and a run exits by itself.
    Leave,
}

/// The options of a cancel on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CancelOptions {
    /// The project's folder.
    pub project: Option<PathBuf>,
    /// The session.
    pub session: Option<SessionId>,
    /// A mode's name, `all`, or an id of a session or run or a unique prefix of one.
    pub what: Option<String>,
    /// One mode only.
    pub mode: Option<Mode>,
    /// Cancel everything and remove its files.
    pub force: bool,
    /// Cancel everything and remove nothing.
    pub every_session: bool,
}

impl CancelOptions {
    /// The options as the fields of a request.
    pub fn value(&self) -> Value {
        let fields = [
            ("what", self.what.as_deref().map(Value::string)),
            ("mode", self.mode.map(|mode| Value::string(mode.name()))),
            ("session_id", self.session.as_ref().map(|id| Value::string(id.as_str()))),
            ("force", self.force.then(|| Value::bool(true))),
            ("every_session", self.every_session.then(|| Value::bool(true))),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::object(given.collect())
    }
}

impl CancelRequest {
    /// Cancels everything that is active in one session.
    pub fn session(session: SessionId, runs: RunProcesses) -> Self {
        let breadth = CancelBreadth::Scope(CancelTarget::Everything);
        let origin = SessionOrigin::Own;
        Self { project: None, session: Some(session), origin, id_prefix: None, breadth, runs }
    }
}

impl TryFrom<CancelOptions> for CancelRequest {
    type Error = Refusal;

    fn try_from(options: CancelOptions) -> Result<Self, Refusal> {
        let (project, session) = (options.project, options.session);
        let (mut mode, mut every_session, mut id_prefix) =
            (options.mode, options.every_session, None);
        match options.what.as_deref() {
            None => {}
            Some("all") => every_session |= !options.force,
            Some(what) => match Mode::parse(what) {
                Ok(named) if mode.is_none_or(|mode| mode == named) => mode = Some(named),
                Err(_) if session.is_none() => id_prefix = Some(what.to_owned()),
                _ => {
                    let why = format!("{what:?} contradicts the mode or session of this cancel");
                    return Err(Refusal::invalid_input(why));
                }
            },
        }
        let is_narrowed = mode.is_some() || session.is_some() || id_prefix.is_some();
        let breadth = match (options.force, every_session) {
            (true, true) => {
                return Err(Refusal::invalid_input("force and every_session exclude each other"));
            }
            (true, _) | (_, true) if is_narrowed => {
                return Err(Refusal::invalid_input(
                    "force, all and every_session mean every session and mode; name none with them",
                ));
            }
            (true, _) => CancelBreadth::Force,
            (_, true) => CancelBreadth::EverySession,
            _ => CancelBreadth::Scope(mode.map_or(CancelTarget::Everything, CancelTarget::Mode)),
        };
        let (origin, runs) = (SessionOrigin::Named, RunProcesses::Terminate);
        Ok(Self { project, session, origin, id_prefix, breadth, runs })
    }
}

impl TryFrom<RequestFields> for CancelRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&[
            "what",
            "session_id",
            "mode",
            "force",
            "all",
            "every_session",
            "workingDirectory",
        ])?;
        let mode = fields.mode()?;
        let force = fields.flag("force")? | fields.flag("all")?;
        let every_session = fields.flag("every_session")?;
        let (session, project) = (fields.session()?, fields.project()?);
        let what = fields.text("what")?.map(str::to_owned);
        Self::try_from(CancelOptions { project, session, what, mode, force, every_session })
    }
}
