//! Typed requests for operations on documents, and their parsers.

use std::path::PathBuf;

use omx_kernel::request::LimitRule;
use omx_kernel::{Mode, Refusal, SessionId, Value};

use crate::fields::RequestFields;

/// A request to read one mode's document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateReadRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// The session; defaults to the caller's.
    pub session: Option<SessionId>,
    /// The mode.
    pub mode: Mode,
}

/// A request to merge fields into one mode's document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateWriteRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// The session; defaults to the caller's.
    pub session: Option<SessionId>,
    /// The mode.
    pub mode: Mode,
    /// Whether the write may raise the iteration limit. No request from outside may.
    pub limit_rule: LimitRule,
    /// The fields in the order given. Values keep their exact bytes.
    pub fields: Vec<(String, Value)>,
}

/// A request to remove documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateClearRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// The mode; every mode if absent.
    pub mode: Option<Mode>,
    /// The sessions to clear.
    pub sessions: ClearSessions,
}

/// The sessions in which to remove a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClearSessions {
    /// The caller's session.
    Own,
    /// This session.
    One(SessionId),
    /// Every session, and the document outside any session.
    All,
}

/// A request to list active modes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateListRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// The session; all sessions if absent.
    pub session: Option<SessionId>,
}

/// A request for documents with their content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateStatusRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// The session; all sessions if absent.
    pub session: Option<SessionId>,
    /// The mode; all modes if absent.
    pub mode: Option<Mode>,
}

/// A request for the active modes and for whether a Stop would be held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// The session; all sessions if absent.
    pub session: Option<SessionId>,
}

impl TryFrom<RequestFields> for StateReadRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["mode", "session_id", "workingDirectory"])?;
        let mode = fields.needed_mode()?;
        Ok(Self { mode, session: fields.session()?, project: fields.project()? })
    }
}

impl TryFrom<RequestFields> for StateWriteRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        let mode = fields.needed_mode()?;
        let (session, project) = (fields.session()?, fields.project()?);
        let limit_rule = LimitRule::OnlyLower;
        Ok(Self { mode, session, project, limit_rule, fields: fields.into_fields() })
    }
}

impl TryFrom<RequestFields> for StateClearRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["mode", "session_id", "all_sessions", "workingDirectory"])?;
        let mode = fields.mode()?;
        let sessions = match (fields.flag("all_sessions")?, fields.session()?) {
            (true, Some(_)) => {
                return Err(Refusal::invalid_input(
                    "session_id and all_sessions exclude each other",
                ));
            }
            (true, None) => ClearSessions::All,
            (false, Some(session)) => ClearSessions::One(session),
            (false, None) => ClearSessions::Own,
        };
        Ok(Self { mode, sessions, project: fields.project()? })
    }
}

impl TryFrom<RequestFields> for StateListRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["session_id", "workingDirectory"])?;
        Ok(Self { project: fields.project()?, session: fields.session()? })
    }
}

impl TryFrom<RequestFields> for StateStatusRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["mode", "session_id", "workingDirectory"])?;
        let mode = fields.mode()?;
        Ok(Self { mode, project: fields.project()?, session: fields.session()? })
    }
}

impl TryFrom<RequestFields> for StatusRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["session_id", "workingDirectory"])?;
        Ok(Self { project: fields.project()?, session: fields.session()? })
    }
}
