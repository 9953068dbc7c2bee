//! Classifies codex's errors. Most have a kind (`codexErrorInfo`); the rest have
//! only a message, which may be the service's entire response.

use serde_json::Value;

use super::limit_resets::LimitResets;
use crate::driver::AgentKind;
use crate::failure::{Failure, FailureCause};
use crate::protocol::AgentExit;

/// What is known when an error is classified.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorContext<'a> {
    /// The requested model.
    pub(super) model: Option<&'a str>,
    /// When rate limits reset.
    pub(super) resets: LimitResets,
    /// When the error was reported.
    pub(super) reported_at: Option<omx_kernel::Timestamp>,
}

/// A failure of codex.
pub(super) fn codex_failure(cause: FailureCause) -> Failure {
    Failure::new(AgentKind::Codex, cause)
}

/// The cause behind a `TurnError`, or behind a bare `{"message": …}`.
pub(super) fn classify(error: &Value, known: ErrorContext<'_>) -> FailureCause {
    let (kind, told_status) = parse_kind(&error["codexErrorInfo"]);
    let sentence = error["additionalDetails"].as_str().filter(|text| !text.is_empty());
    let sentence = sentence.or(error["message"].as_str()).unwrap_or_default();
    let status = told_status.or_else(|| parse_status(sentence));
    let detail = service_message(sentence);
    let says = |words: &str| sentence.contains(words);
    let limited = || FailureCause::RateLimited {
        until: known.resets.find_reset(sentence, known.reported_at),
        detail: detail.clone(),
    };
    let unknown_model = || FailureCause::UnknownModel {
        model: known.model.map(str::to_owned),
        detail: detail.clone(),
    };
    match (kind, status) {
        ("usageLimitExceeded" | "rateLimitExceeded", _) | (_, Some(429)) => limited(),
        ("unauthorized", _) | (_, Some(401)) => FailureCause::NotLoggedIn { detail },
        ("modelNotFound", _) => unknown_model(),
        // Codex uses this kind for status 500 only.
        ("internalServerError", _) => FailureCause::Service { status: Some(500), detail },
        ("serverOverloaded" | "flexUnavailable" | "policyCapacityUnavailable", status) => {
            FailureCause::Service { status, detail }
        }
        (_, Some(500..)) => FailureCause::Service { status, detail },
        (_, None | Some(400 | 404)) if reports_unknown_model(&detail) => unknown_model(),
        (_, Some(_)) => FailureCause::Rejected { detail },
        _ if says("usage limit") => limited(),
        _ if says("Quota exceeded") => FailureCause::OutOfCredit { detail },
        _ if says("Missing environment variable") => FailureCause::NotLoggedIn { detail },
        _ if says("experiencing high demand") => {
            FailureCause::Service { status: Some(500), detail }
        }
        _ if says("at capacity") => FailureCause::Service { status: None, detail },
        _ if says("stream disconnected") => FailureCause::CutOff { detail },
        _ if says("Connection failed") || says("error sending request") => {
            FailureCause::Network { detail }
        }
        ("httpConnectionFailed" | "responseStreamConnectionFailed", _) => {
            FailureCause::Network { detail }
        }
        ("responseStreamDisconnected", _) => FailureCause::CutOff { detail },
        _ => FailureCause::Rejected { detail },
    }
}

/// Why a conversation cannot be opened, from the error message.
pub(super) fn classify_open_error(sentence: &str) -> FailureCause {
    let unknown =
        ["no rollout found", "invalid session id", "thread not found", "No saved session"];
    let detail = sentence.trim().to_owned();
    if unknown.iter().any(|words| sentence.contains(words)) {
        FailureCause::UnknownConversation { detail }
    } else {
        FailureCause::CannotStart { detail }
    }
}

/// The cause for a process that exited unexpectedly.
pub(super) fn crash_cause(exit: &AgentExit) -> FailureCause {
    FailureCause::Crashed { code: exit.code, stderr: strip_colors(&exit.stderr) }
}

/// The kind of an error, with its HTTP status if it carries one.
fn parse_kind(info: &Value) -> (&str, Option<u16>) {
    match info {
        Value::String(name) => (name, None),
        Value::Object(fields) => match fields.iter().next() {
            Some((name, data)) => {
                let status = data["httpStatusCode"].as_u64();
                (name, status.and_then(|status| u16::try_from(status).ok()))
            }
            None => ("", None),
        },
        _ => ("", None),
    }
}

/// `unexpected status 401 Unauthorized: …`, `…, last status: 429 Too Many Requests`
fn parse_status(sentence: &str) -> Option<u16> {
    let beginnings = ["unexpected status ", "last status: "];
    let rest = beginnings.iter().find_map(|words| sentence.split_once(words))?.1;
    rest.get(..3)?.parse().ok()
}

/// Whether a message says that the model does not exist.
fn reports_unknown_model(sentence: &str) -> bool {
    // Ignore the name of the status ("Not Found") and the address.
    let words = sentence.split(", url: ").next().unwrap_or_default();
    let words = match parse_status(words) {
        Some(_) => words.split_once(": ").map_or("", |(_, words)| words),
        None => words,
    };
    let sentence = words.to_lowercase();
    let absent = ["does not exist", "not found", "not supported", "not available", "unknown model"];
    sentence.contains("model") && absent.iter().any(|words| sentence.contains(words))
}

/// The service's own message, if codex passes on its entire response.
fn service_message(sentence: &str) -> String {
    let answer: Option<Value> = serde_json::from_str(sentence).ok();
    let words = answer.as_ref().and_then(|answer| {
        let places = [&answer["error"]["message"], &answer["detail"], &answer["message"]];
        places.into_iter().find_map(Value::as_str)
    });
    words.unwrap_or(sentence).trim().to_owned()
}

/// Removes terminal escape sequences.
fn strip_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
        } else if letters.next() == Some('[') {
            // The sequence ends with its first letter in this range.
            let _ = letters.find(|letter| ('@'..='~').contains(letter));
        }
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KNOWN: ErrorContext<'_> =
        ErrorContext { model: Some("gpt-x"), resets: LimitResets::UNKNOWN, reported_at: None };

    fn judged(error: Value) -> &'static str {
        codex_failure(classify(&error, KNOWN)).kind()
    }

    /// As reported by the app-server of version 0.166.0.
    #[test]
    fn app_server_errors_are_classified_by_kind() {
        let cause_of = |info: Value, message: &str| {
            judged(json!({"message": message, "codexErrorInfo": info, "additionalDetails": null}))
        };
        let failed = |status: Value| json!({"httpConnectionFailed": {"httpStatusCode": status}});
        let retries = json!({"responseTooManyFailedAttempts": {"httpStatusCode": 429}});
        assert_eq!(cause_of(retries, "exceeded retry limit, last status: 429"), "rate_limit");
        assert_eq!(
            cause_of("usageLimitExceeded".into(), "You’ve hit your usage limit."),
            "rate_limit"
        );
        assert_eq!(cause_of(failed(401.into()), "unexpected status 401"), "not_logged_in");
        assert_eq!(cause_of(failed(403.into()), "unexpected status 403"), "rejected");
        assert_eq!(cause_of(failed(502.into()), "unexpected status 502"), "service");
        assert_eq!(cause_of(failed(Value::Null), "Connection failed: error sending"), "network");
        assert_eq!(
            cause_of("modelNotFound".into(), "The model `x` does not exist"),
            "unknown_model"
        );
        assert_eq!(cause_of("internalServerError".into(), "high demand"), "service");
        assert_eq!(
            cause_of("serverOverloaded".into(), "Selected model is at capacity."),
            "service"
        );
        assert_eq!(cause_of("other".into(), "stream disconnected before completion: x"), "cut_off");
        assert_eq!(cause_of("other".into(), "Missing environment variable: `K`."), "not_logged_in");
        assert_eq!(cause_of("other".into(), r#"{"error": {"message": "bad thing"}}"#), "rejected");
        let plan = r#"{"detail": "The 'x' model is not supported with this account."}"#;
        assert_eq!(cause_of("other".into(), plan), "unknown_model");
        assert_eq!(cause_of(json!({}), ""), "rejected");
        assert_eq!(cause_of(json!([7]), ""), "rejected");
    }

    #[test]
    fn a_retried_error_is_classified_by_its_details() {
        let retry = |details: &str, status: Value| {
            judged(json!({
                "message": "Reconnecting... 1/2",
                "codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": status}},
                "additionalDetails": details
            }))
        };
        assert_eq!(retry("Connection failed: error sending request", Value::Null), "network");
        assert_eq!(retry("exceeded retry limit", 429.into()), "rate_limit");
        assert_eq!(retry("stream disconnected before completion", Value::Null), "cut_off");
        assert_eq!(retry("We’re currently experiencing high demand", Value::Null), "service");
        assert_eq!(retry("something new", Value::Null), "cut_off");
    }

    /// `codex exec` reports only a message.
    #[test]
    fn a_message_without_a_kind_is_classified() {
        let cause_of = |message: &str| judged(json!({"message": message}));
        assert_eq!(cause_of("unexpected status 401 Unauthorized: no, url: x"), "not_logged_in");
        assert_eq!(
            cause_of("exceeded retry limit, last status: 429 Too Many Requests"),
            "rate_limit"
        );
        assert_eq!(cause_of("You’ve hit your usage limit. Try again at 1:00 PM."), "rate_limit");
        assert_eq!(
            cause_of("Quota exceeded. Check your plan and billing details."),
            "out_of_credit"
        );
        assert_eq!(cause_of("We’re currently experiencing high demand, which may"), "service");
        assert_eq!(
            cause_of("unexpected status 404 Not Found: no such model: not found"),
            "unknown_model"
        );
        assert_eq!(
            cause_of("unexpected status 404 Not Found: x, url: http://h/models"),
            "rejected"
        );
        assert_eq!(cause_of("unexpected status 40"), "rejected");
    }

    #[test]
    fn the_services_own_message_is_kept() {
        let error = json!({"message": r#"{"error": {"message": " bad thing "}}"#});
        assert_eq!(
            classify(&error, KNOWN),
            FailureCause::Rejected { detail: "bad thing".to_owned() }
        );
    }

    #[test]
    fn terminal_colors_are_removed() {
        let exit =
            AgentExit { code: Some(1), stderr: "\u{1b}[2mold\u{1b}[0m \u{1b}[31mERROR".into() };
        assert_eq!(
            crash_cause(&exit),
            FailureCause::Crashed { code: Some(1), stderr: "old ERROR".into() }
        );
    }

    #[test]
    fn an_unknown_conversation_differs_from_other_open_errors() {
        for (sentence, kind) in [
            ("no rollout found for thread id 01a1", "unknown_conversation"),
            ("invalid session id: invalid character", "unknown_conversation"),
            ("failed to load configuration: /x/config.toml:20:3", "cannot_start"),
        ] {
            assert_eq!(codex_failure(classify_open_error(sentence)).kind(), kind);
        }
    }
}
