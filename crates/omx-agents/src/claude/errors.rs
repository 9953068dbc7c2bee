//! Classifies claude's errors by its own code, the service's status, and the
//! message.

use serde_json::Value;

use omx_kernel::Timestamp;

use crate::driver::AgentKind;
use crate::failure::{Failure, FailureCause};
use crate::protocol::AgentExit;

/// What is known about an error.
#[derive(Clone, Debug, Default)]
pub(super) struct ClaudeError {
    /// Claude's own code, such as `rate_limit`.
    pub(super) code: String,
    /// The HTTP status of the service.
    pub(super) status: Option<u16>,
    /// The message for the person.
    pub(super) message: String,
    /// When the current rate limit resets.
    pub(super) until: Option<Timestamp>,
    /// The model in use.
    pub(super) model: Option<String>,
}

pub(super) fn claude_failure(cause: FailureCause) -> Failure {
    Failure::new(AgentKind::Claude, cause)
}

impl ClaudeError {
    /// From `system/api_retry`, which has no message.
    pub(super) fn from_retry(line: &Value, until: Option<Timestamp>) -> Self {
        Self {
            code: text(&line["error"]),
            status: parse_status(&line["error_status"]),
            until,
            ..Self::default()
        }
    }

    pub(super) fn cause(self) -> FailureCause {
        let Self { code, status, message: detail, until, model } = self;
        match (code.as_str(), status) {
            ("rate_limit", _) | (_, Some(429)) => FailureCause::RateLimited { until, detail },
            ("billing_error", _) => FailureCause::OutOfCredit { detail },
            ("authentication_failed" | "oauth_org_not_allowed", _) | (_, Some(401 | 403)) => {
                FailureCause::NotLoggedIn { detail }
            }
            ("model_not_found", _) => FailureCause::UnknownModel { model, detail },
            ("max_output_tokens", _) => FailureCause::CutOff { detail },
            (_, Some(408 | 500..)) => FailureCause::Service { status, detail },
            ("invalid_request", _) | (_, Some(_)) => FailureCause::Rejected { detail },
            ("overloaded", None) => FailureCause::Service { status, detail },
            (_, None) => classify_without_status(detail),
        }
    }
}

/// Classifies an error without a status: the service did not respond, or the
/// connection broke.
fn classify_without_status(detail: String) -> FailureCause {
    let words = detail.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    if says(&["/login", "invalid api key", "not logged in"]) {
        FailureCause::NotLoggedIn { detail }
    } else if says(&["econnreset", "socket", "terminated", "stream", "closed", "hang up"]) {
        FailureCause::CutOff { detail }
    } else if words.is_empty() || says(&["connect", "enotfound", "eai_again", "timed out", "dns"]) {
        FailureCause::Network { detail }
    } else {
        FailureCause::Service { status: None, detail }
    }
}

/// The cause for a process that exited unexpectedly.
pub(super) fn classify_exit(exit: AgentExit) -> FailureCause {
    classify_message(&exit.stderr)
        .unwrap_or(FailureCause::Crashed { code: exit.code, stderr: exit.stderr })
}

/// The cause behind the last message of a process, if it is a known one.
pub(super) fn classify_message(said: &str) -> Option<FailureCause> {
    let words = said.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let detail = said.to_owned();
    if says(&["no conversation found"]) {
        Some(FailureCause::UnknownConversation { detail })
    } else if says(&["/login", "invalid api key"]) {
        Some(FailureCause::NotLoggedIn { detail })
    } else if says(&["unknown option", "invalid mcp configuration", "--json-schema"]) {
        Some(FailureCause::Protocol { detail })
    } else if says(&["already in use", "cannot be used with root"]) {
        Some(FailureCause::CannotStart { detail })
    } else {
        None
    }
}

/// The HTTP status in a line.
pub(super) fn parse_status(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|status| u16::try_from(status).ok())
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes, statuses and messages as in version 2.1.197.
    #[test]
    fn errors_are_classified_by_code_status_and_message() {
        let until = Some(Timestamp::from_millis(1));
        let kind = |code: &str, status: Option<u16>, words: &str| {
            let (code, words) = (code.to_owned(), words.to_owned());
            let fault = ClaudeError { code, status, message: words, until, model: None };
            claude_failure(fault.cause()).kind()
        };
        let connect = |why: &str| format!("API Error: Unable to connect to API ({why})");
        assert_eq!(kind("rate_limit", Some(429), "You've hit your session limit"), "rate_limit");
        assert_eq!(kind("billing_error", Some(400), "Credit balance is too low"), "out_of_credit");
        assert_eq!(kind("authentication_failed", Some(401), "Invalid API key"), "not_logged_in");
        assert_eq!(kind("authentication_failed", Some(403), "no perm"), "not_logged_in");
        assert_eq!(kind("", None, "Not logged in · Please run /login"), "not_logged_in");
        assert_eq!(kind("model_not_found", Some(404), "issue with the model"), "unknown_model");
        assert_eq!(kind("server_error", Some(500), "API Error: 500"), "service");
        assert_eq!(kind("server_error", Some(529), "API Error: 529"), "service");
        assert_eq!(kind("overloaded", None, ""), "service");
        assert_eq!(kind("invalid_request", Some(400), "Prompt is too long"), "rejected");
        assert_eq!(kind("unknown", Some(400), "API Error: 400 bad thing"), "rejected");
        assert_eq!(kind("max_output_tokens", None, "exceeded the maximum"), "cut_off");
        assert_eq!(kind("server_error", None, &connect("ConnectionRefused")), "network");
        assert_eq!(kind("server_error", None, &connect("ECONNRESET")), "cut_off");
        assert_eq!(kind("unknown", None, "something else"), "service");
        let limit = ClaudeError { code: "rate_limit".to_owned(), until, ..ClaudeError::default() };
        assert_eq!(limit.cause(), FailureCause::RateLimited { until, detail: String::new() });
    }

    #[test]
    fn exits_are_classified_by_their_last_message() {
        let kind = |stderr: &str| {
            let exit = AgentExit { code: Some(1), stderr: stderr.to_owned() };
            claude_failure(classify_exit(exit)).kind()
        };
        let unknown = "No conversation found with session ID: f348e3cb-fd84-4ddf-84bc-95b30dbe601c";
        assert_eq!(kind(unknown), "unknown_conversation");
        assert_eq!(kind("Error: Session ID 9bd7 is already in use."), "cannot_start");
        assert_eq!(kind("error: unknown option '--replay-user-messages'"), "protocol");
        assert_eq!(kind("Error: --json-schema must be a JSON object"), "protocol");
        assert_eq!(kind("Invalid API key · Please run /login"), "not_logged_in");
        assert_eq!(kind("Segmentation fault"), "crashed");
        assert_eq!(kind(""), "crashed");
    }
}
