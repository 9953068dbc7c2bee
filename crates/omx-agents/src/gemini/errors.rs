//! Classifies gemini's errors.
//!
//! Gemini wraps the vendor's response several times: the code of its own error is
//! the HTTP status, or 500 if it lost the status; the message is plain text, or
//! nested JSON that contains the real status.

use std::time::Duration;

use omx_kernel::Timestamp;
use serde_json::Value;

use super::retries::is_log_line;
use crate::driver::AgentKind;
use crate::event::AgentEvent;
use crate::failure::{Failure, FailureCause};
use crate::protocol::AgentExit;
use crate::rpc::RpcFailure;

/// The error code with which gemini asks for a login.
const AUTH_REQUIRED: i64 = -32000;

/// Exit codes of gemini that have a meaning.
const NO_ACCOUNT: i32 = 41;
const NOT_TRUSTED: i32 = 55;

/// How many levels of nested messages are unwrapped.
const DEPTH: usize = 8;

/// The vendor's error, as far as gemini passed it on.
#[derive(Debug, Default, PartialEq)]
struct VendorError {
    /// The HTTP status in the vendor's response.
    status: Option<u16>,
    message: String,
    wait: Option<Duration>,
}

/// A failure of gemini.
pub(super) fn gemini_failure(cause: FailureCause) -> Failure {
    Failure::new(AgentKind::Gemini, cause)
}

/// A turn that failed.
pub(super) fn turn_failed(cause: FailureCause) -> AgentEvent {
    AgentEvent::TurnFailed(gemini_failure(cause))
}

/// A turn whose answer is incomplete.
pub(super) fn cut_off(detail: &str) -> AgentEvent {
    turn_failed(FailureCause::CutOff { detail: detail.to_owned() })
}

/// The cause of an error response to one of our requests.
pub(super) fn classify(error: &RpcFailure, model: Option<&str>, now: Timestamp) -> FailureCause {
    let message = unwrap_message(&error.message);
    let mut detail = message.message;
    let extra = error.data["details"].as_str().or(error.data.as_str()).unwrap_or_default();
    if !extra.is_empty() {
        detail = format!("{detail}: {extra}");
    }
    if error.code == AUTH_REQUIRED {
        return FailureCause::NotLoggedIn { detail };
    }
    let code = u16::try_from(error.code).ok();
    match message.status.or(code.filter(|&code| code != 500)) {
        Some(status) => classify_status(status, detail, message.wait, model, now),
        // Gemini uses 500 if it has lost the status.
        None if code == Some(500) => classify_message(detail, message.wait, model, now),
        None => FailureCause::Protocol { detail },
    }
}

/// The cause of a failed attempt, from its status and the vendor's message.
pub(super) fn classify_attempt(status: Option<u16>, words: &str, now: Timestamp) -> FailureCause {
    let VendorError { status: inner, message, wait } = unwrap_message(words);
    match inner.or(status) {
        Some(status) => classify_status(status, message, wait, None, now),
        None => classify_message(message, wait, None, now),
    }
}

/// Why gemini exited unexpectedly.
pub(super) fn classify_exit(exit: &AgentExit) -> FailureCause {
    let own = exit.stderr.lines().filter(|line| !is_log_line(line));
    let stderr = own.collect::<Vec<_>>().join("\n").trim().to_owned();
    match exit.code {
        Some(NO_ACCOUNT) => FailureCause::NotLoggedIn { detail: stderr },
        Some(NOT_TRUSTED) => FailureCause::FolderNotTrusted,
        code => FailureCause::Crashed { code, stderr },
    }
}

fn classify_status(
    status: u16,
    detail: String,
    wait: Option<Duration>,
    model: Option<&str>,
    now: Timestamp,
) -> FailureCause {
    match status {
        429 | 499 => rate_limited(detail, wait, now),
        401 | 403 => FailureCause::NotLoggedIn { detail },
        400 if contains_any(
            &detail,
            &["api key not valid", "api_key_invalid", "api key expired"],
        ) =>
        {
            FailureCause::NotLoggedIn { detail }
        }
        404 => FailureCause::UnknownModel { model: model.map(str::to_owned), detail },
        500.. => FailureCause::Service { status: Some(status), detail },
        _ => FailureCause::Rejected { detail },
    }
}

/// Classifies an error without a status.
fn classify_message(
    detail: String,
    wait: Option<Duration>,
    model: Option<&str>,
    now: Timestamp,
) -> FailureCause {
    const NETWORK: &[&str] = &[
        "fetch failed",
        "econnrefused",
        "enotfound",
        "eai_again",
        "etimedout",
        "econnreset",
        "ehostunreach",
        "enetunreach",
        "getaddrinfo",
        "connect timeout",
    ];
    const CUT: &[&str] = &["terminated", "premature close", "other side closed", "incomplete json"];
    const LIMIT: &[&str] = &["quota", "rate limit", "exhausted your", "resource_exhausted"];
    const ACCOUNT: &[&str] =
        &["unauthenticated", "authentication", "credentials", "api key", "permission denied"];
    const MISSING: &[&str] = &["not found", "does not exist", "not supported", "unknown"];
    if contains_any(&detail, NETWORK) {
        FailureCause::Network { detail }
    } else if contains_any(&detail, CUT) {
        FailureCause::CutOff { detail }
    } else if wait.is_some() || contains_any(&detail, LIMIT) {
        rate_limited(detail, wait, now)
    } else if contains_any(&detail, ACCOUNT) {
        FailureCause::NotLoggedIn { detail }
    } else if contains_any(&detail, MISSING)
        && contains_any(&detail, &["model", "requested entity"])
    {
        FailureCause::UnknownModel { model: model.map(str::to_owned), detail }
    } else {
        FailureCause::Service { status: None, detail }
    }
}

fn rate_limited(detail: String, wait: Option<Duration>, now: Timestamp) -> FailureCause {
    let until = wait.map(|wait| {
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(now.millis().saturating_add(millis))
    });
    FailureCause::RateLimited { until, detail }
}

fn contains_any(text: &str, words: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// Unwraps a message that may be the vendor's JSON.
fn unwrap_message(message: &str) -> VendorError {
    let mut message = VendorError { message: message.trim().to_owned(), ..VendorError::default() };
    for _ in 0..DEPTH {
        let Ok(body) = serde_json::from_str::<Value>(&message.message) else { break };
        let body = if body.is_array() { &body[0] } else { &body };
        let error = body.get("error").unwrap_or(body);
        let Some(inner) = error["message"].as_str() else { break };
        message.status =
            error["code"].as_u64().and_then(|code| code.try_into().ok()).or(message.status);
        let details = error["details"].as_array().map(Vec::as_slice).unwrap_or_default();
        let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str());
        message.wait = delay.and_then(parse_duration).or(message.wait);
        message.message = inner.trim().to_owned();
    }
    message.wait = message.wait.or_else(|| parse_wait(&message.message));
    message
}

/// The waiting time in the vendor's message.
pub(super) fn parse_wait(text: &str) -> Option<Duration> {
    const BEFORE: &[&str] =
        &["retry after ", "retry in ", "reset after ", "reset in ", "resets in "];
    let lower = text.to_ascii_lowercase();
    BEFORE.iter().find_map(|words| parse_duration(lower.split_once(words)?.1))
}

/// A duration at the beginning of a text: `45s`, `1.5s`, `300ms`, `2h3m59s`.
fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    let mut some = false;
    loop {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (number, after) = rest.split_at(digits.unwrap_or(rest.len()));
        let Ok(number) = number.parse::<f64>() else { break };
        let unit = after.find(|letter: char| !letter.is_ascii_alphabetic());
        let (unit, after) = after.split_at(unit.unwrap_or(after.len()));
        seconds += number
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => break,
            };
        some = true;
        rest = after;
    }
    // A value beyond the range of `Duration` is not a duration.
    some.then(|| Duration::try_from_secs_f64(seconds).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn cause(code: i64, message: &str) -> FailureCause {
        let error = RpcFailure { code, message: message.to_owned(), data: Value::Null };
        classify(&error, Some("m"), NOW)
    }

    fn kind(code: i64, message: &str) -> &'static str {
        gemini_failure(cause(code, message)).kind()
    }

    #[test]
    fn the_vendors_status_decides() {
        assert_eq!(kind(429, "Rate limit exceeded. Try again later."), "rate_limit");
        assert_eq!(kind(401, "bad key"), "not_logged_in");
        assert_eq!(kind(403, "no"), "not_logged_in");
        assert_eq!(kind(404, "no such thing"), "unknown_model");
        assert_eq!(kind(503, "overloaded"), "service");
        assert_eq!(kind(400, "bad request"), "rejected");
        assert_eq!(kind(400, "API key not valid. Please pass one."), "not_logged_in");
        assert_eq!(kind(-32000, "Gemini API key is missing"), "not_logged_in");
        assert_eq!(kind(-32602, "Session not found"), "protocol");
        assert_eq!(kind(i64::MIN, ""), "protocol");
    }

    #[test]
    fn an_inner_status_overrides_the_outer_one() {
        let inner = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"too much"}}"#;
        let outer = serde_json::json!({"error": {"message": inner}}).to_string();
        for message in [inner.to_owned(), outer, format!("[{inner}]")] {
            let FailureCause::RateLimited { until: None, detail } = cause(500, &message) else {
                panic!()
            };
            assert_eq!(detail, "too much");
        }
        let real = r#"{"error":{"code":500,"message":"the model was not found"}}"#;
        assert_eq!(kind(500, real), "service");
    }

    #[test]
    fn without_a_status_the_message_decides() {
        let fetch = "exception TypeError: fetch failed sending request";
        assert_eq!(kind(500, fetch), "network");
        assert_eq!(kind(500, "terminated"), "cut_off");
        let model = "models/x is not found for API version v1beta, or is not supported";
        assert_eq!(kind(500, model), "unknown_model");
        assert_eq!(kind(500, "Requested entity was not found."), "unknown_model");
        let account = "Request had invalid authentication credentials.";
        assert_eq!(kind(500, account), "not_logged_in");
        assert_eq!(kind(500, "You have exhausted your daily quota"), "rate_limit");
        assert_eq!(kind(500, "something else"), "service");
    }

    #[test]
    fn the_end_of_a_rate_limit_is_parsed() {
        let until = |message: &str| match cause(429, message) {
            FailureCause::RateLimited { until, .. } => {
                until.map(|until| until.millis() - NOW.millis())
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(until("too much\nSuggested retry after 400s."), Some(400_000));
        assert_eq!(until("Please retry in 12.5s."), Some(12_500));
        assert_eq!(until("Your quota will reset after 2h3m59s."), Some(7_439_000));
        assert_eq!(until("Please retry in 300ms"), Some(300));
        assert_eq!(until("Try again later."), None);
        assert_eq!(until("retry after lunch"), None);
        assert_eq!(until("retry after 9999999999999999999999s"), None);
        let info = r#"{"error":{"code":429,"message":"no","details":[{"retryDelay":"61s"}]}}"#;
        assert_eq!(until(info), Some(61_000));
    }
}
