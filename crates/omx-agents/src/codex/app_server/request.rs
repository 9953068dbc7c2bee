//! The driver's requests to the app-server.

use super::super::approvals::PendingApproval;
use super::turn::TurnNumber;
use crate::failure::FailureCause;
use crate::limits::AgentLimits;

/// A pending request to the app-server.
#[derive(Debug)]
pub(super) enum AppServerRequest {
    Initialize,
    Login,
    Open,
    Turn(TurnNumber),
    /// Text for the running turn.
    Steer(String),
    /// The reason of a denial; the approval request is answered afterwards.
    Reason(PendingApproval),
    Interrupt,
}

impl AppServerRequest {
    /// The cause of a failure if codex does not respond in time.
    pub(super) fn timeout_cause(&self, limits: &AgentLimits) -> FailureCause {
        let (waited, during) = match self {
            Self::Initialize => (limits.start, "starting"),
            Self::Login | Self::Open => (limits.request, "opening the conversation"),
            Self::Turn(_) => (limits.request, "accepting a message"),
            Self::Steer(_) | Self::Reason(_) => (limits.request, "taking text"),
            Self::Interrupt => (limits.request, "being interrupted"),
        };
        FailureCause::Silent { waited, during }
    }
}
