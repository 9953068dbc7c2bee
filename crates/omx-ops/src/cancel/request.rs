//! What is to be cancelled.

use std::path::PathBuf;

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Mode, Refusal, SessionId};

use crate::fields::RequestFields;

/// A request to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelRequest {
    /// The project's folder; the caller's own without one.
    pub project: Option<PathBuf>,
    /// The session; without one the caller's own, or the only one that is active.
    pub session: Option<SessionId>,
    /// How much of it.
    pub breadth: CancelBreadth,
    /// What happens to the processes of runs.
    pub runs: RunProcesses,
}

/// How much a cancel ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelBreadth {
    /// Active modes of one scope.
    Scope(CancelTarget),
    /// Active modes of every session and of the compatibility scope.
    EverySession,
    /// The same, and every file of every mode is removed.
    Force,
    /// The second half of a cancel whose documents a hook has ended already:
    /// what is still active in the session, and the process of its run.
    Finish,
}

/// What a cancel does about the processes of the runs it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunProcesses {
    /// Terminates them and waits until they are gone.
    Terminate,
    /// Leaves them to a second cancel, with [`CancelBreadth::Finish`], that has
    /// the time to wait. A hook has not; a run ends its own process itself.
    Leave,
}

/// The options of a cancel as a person gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CancelOptions {
    /// The project's folder.
    pub project: Option<PathBuf>,
    /// The session.
    pub session: Option<SessionId>,
    /// One mode only.
    pub mode: Option<Mode>,
    /// Everything, and remove its files.
    pub force: bool,
    /// Everything, and remove nothing.
    pub every_session: bool,
}

impl CancelRequest {
    /// Cancels everything that is active in one session.
    pub fn session(session: SessionId, runs: RunProcesses) -> Self {
        let breadth = CancelBreadth::Scope(CancelTarget::Everything);
        Self { project: None, session: Some(session), breadth, runs }
    }
}

impl TryFrom<CancelOptions> for CancelRequest {
    type Error = Refusal;

    fn try_from(options: CancelOptions) -> Result<Self, Refusal> {
        let is_narrowed = options.mode.is_some() || options.session.is_some();
        let breadth = match (options.force, options.every_session) {
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
            _ => CancelBreadth::Scope(
                options.mode.map_or(CancelTarget::Everything, CancelTarget::Mode),
            ),
        };
        let (project, session) = (options.project, options.session);
        Ok(Self { project, session, breadth, runs: RunProcesses::Terminate })
    }
}

impl TryFrom<RequestFields> for CancelRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&[
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
        Self::try_from(CancelOptions { project, session, mode, force, every_session })
    }
}
