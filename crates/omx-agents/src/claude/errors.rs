//! What went wrong, from what claude says about it: a code of its own, the
//! service's status, its words.

use serde_json::Value;

use omx_kernel::Timestamp;

use crate::driver::AgentKind;
use crate::protocol::Exit;
use crate::trouble::{Cause, Trouble};

/// What is known of a failure.
#[derive(Clone, Debug, Default)]
pub(super) struct Fault {
    /// Claude's own word for it, such as `rate_limit`.
    pub(super) code: String,
    /// The service's status.
    pub(super) status: Option<u16>,
    /// What it said to the person.
    pub(super) words: String,
    /// When the limit in force ends.
    pub(super) until: Option<Timestamp>,
    /// The model that was asked.
    pub(super) model: Option<String>,
}

pub(super) fn trouble(cause: Cause) -> Trouble {
    Trouble::new(AgentKind::Claude, cause)
}

impl Fault {
    /// From `system/api_retry`, which has no words.
    pub(super) fn of_retry(line: &Value, until: Option<Timestamp>) -> Self {
        Self {
            code: text(&line["error"]),
            status: status(&line["error_status"]),
            until,
            ..Self::default()
        }
    }

    pub(super) fn cause(self) -> Cause {
        let Self { code, status, words: detail, until, model } = self;
        match (code.as_str(), status) {
            ("rate_limit", _) | (_, Some(429)) => Cause::Limited { until, detail },
            // The money is used up: a limit that only the person lifts.
            ("billing_error", _) => Cause::Limited { until: None, detail },
            ("authentication_failed" | "oauth_org_not_allowed", _) | (_, Some(401 | 403)) => {
                Cause::NotLoggedIn { detail }
            }
            ("model_not_found", _) => Cause::UnknownModel { model, detail },
            ("max_output_tokens", _) => Cause::CutOff { detail },
            (_, Some(408 | 500..)) => Cause::Service { status, detail },
            ("invalid_request", _) | (_, Some(_)) => Cause::Rejected { detail },
            ("overloaded", None) => Cause::Service { status, detail },
            (_, None) => without_status(detail),
        }
    }
}

/// Nobody answered, or not to the end.
fn without_status(detail: String) -> Cause {
    let words = detail.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    if says(&["/login", "invalid api key", "not logged in"]) {
        Cause::NotLoggedIn { detail }
    } else if says(&["econnreset", "socket", "terminated", "stream", "closed", "hang up"]) {
        Cause::CutOff { detail }
    } else if words.is_empty() || says(&["connect", "enotfound", "eai_again", "timed out", "dns"]) {
        Cause::Network { detail }
    } else {
        Cause::Service { status: None, detail }
    }
}

/// A process that ended though nobody asked it to.
pub(super) fn of_exit(exit: Exit) -> Cause {
    of_words(&exit.stderr).unwrap_or(Cause::Crashed { code: exit.code, stderr: exit.stderr })
}

/// What the words at the end of a process mean, where they mean something.
pub(super) fn of_words(said: &str) -> Option<Cause> {
    let words = said.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let detail = said.to_owned();
    if says(&["no conversation found"]) {
        Some(Cause::UnknownConversation { detail })
    } else if says(&["/login", "invalid api key"]) {
        Some(Cause::NotLoggedIn { detail })
    } else if says(&["unknown option", "invalid mcp configuration", "--json-schema"]) {
        Some(Cause::Protocol { detail })
    } else if says(&["already in use", "cannot be used with root"]) {
        Some(Cause::CannotStart { detail })
    } else {
        None
    }
}

/// The service's status in a line.
pub(super) fn status(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|status| u16::try_from(status).ok())
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
