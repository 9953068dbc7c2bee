//! Gemini's own retries, read from its log.
//!
//! Gemini retries a failed request up to ten times, up to five minutes apart,
//! and reports nothing over its protocol meanwhile. Its log, which can be sent to
//! standard error, does.

use std::time::Duration;

use omx_kernel::Timestamp;

use super::errors;
use crate::failure::FailureCause;

/// The longest log entry that is kept, in bytes.
const ENTRY: usize = 16 << 10;

/// A failed attempt that gemini will retry.
#[derive(Debug, PartialEq)]
pub(super) struct RetryAttempt {
    /// The number of the failed attempt, counted from 1.
    pub(super) attempt: u32,
    /// Why.
    pub(super) cause: FailureCause,
    /// How long gemini waits before the next attempt, if it says so.
    pub(super) wait: Option<Duration>,
}

/// Reads the log, line by line.
#[derive(Debug, Default)]
pub(super) struct RetryLog {
    /// An attempt whose message continues on the next lines.
    open: Option<(u32, String)>,
}

impl RetryLog {
    /// Reads a line; returns the attempt that it completes.
    pub(super) fn read_line(&mut self, line: &str, now: Timestamp) -> Option<RetryAttempt> {
        let Some(message) = parse_warning(line) else {
            let (_, words) = self.open.as_mut()?;
            if words.len() + line.len() > ENTRY {
                self.open = None;
                return None;
            }
            words.push('\n');
            words.push_str(line);
            return self.parse_open_entry(now);
        };
        self.open = None;
        let (number, rest) = message.strip_prefix("Attempt ")?.split_once(" failed")?;
        let attempt = number.parse().ok()?;
        if let Some(words) = rest.strip_prefix(": ") {
            self.open = Some((attempt, words.to_owned()));
            return self.parse_open_entry(now);
        }
        let (status, words) = rest.split_once("Retrying with backoff...")?;
        let status = status.strip_prefix(" with status ");
        let status = status.and_then(|status| status.trim_end_matches(['.', ' ']).parse().ok());
        // The name of the error precedes its message.
        let message = words.split_once(": ").map_or(words, |(_, said)| said);
        Some(RetryAttempt {
            attempt,
            cause: errors::classify_attempt(status, message, now),
            wait: None,
        })
    }

    /// The message of a quota error ends with the time gemini waits, or says that
    /// it gives up.
    fn parse_open_entry(&mut self, now: Timestamp) -> Option<RetryAttempt> {
        let (attempt, words) = self.open.as_ref()?;
        let (said, wait) = words.rsplit_once(". Retrying after ")?;
        let millis: u64 = wait.strip_suffix("ms...")?.parse().ok()?;
        let cause = errors::classify_attempt(Some(429), said, now);
        let retry =
            RetryAttempt { attempt: *attempt, cause, wait: Some(Duration::from_millis(millis)) };
        self.open = None;
        Some(retry)
    }
}

/// The message of a log entry that starts on this line; empty unless it is a
/// warning. `[2026-11-15T12:43:01.996Z] [WARN] …`
fn parse_warning(line: &str) -> Option<&str> {
    let (time, rest) = line.strip_prefix('[')?.split_once("] [")?;
    let (level, message) = rest.split_once("] ")?;
    Timestamp::parse(time)?;
    // Entries of other levels also end the previous entry.
    Some(if level == "WARN" { message } else { "" })
}

/// Whether a line comes from the log and not from the program itself.
pub(super) fn is_log_line(line: &str) -> bool {
    parse_warning(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(0);
    const AT: &str = "[2026-11-15T12:43:01.996Z] [WARN] ";

    fn read(text: &str) -> Vec<RetryAttempt> {
        let mut retries = RetryLog::default();
        text.lines().filter_map(|line| retries.read_line(line, NOW)).collect()
    }

    #[test]
    fn a_retry_with_a_status_is_parsed() {
        let line = r#"Attempt 2 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429,"message":"slow down"}}"#;
        let text = format!("{AT}{line}\n    at somewhere (file.js:1:2) {{\n  status: 429\n}}");
        let [
            RetryAttempt {
                attempt: 2,
                cause: FailureCause::RateLimited { until: None, detail },
                wait: None,
            },
        ] = &read(&text)[..]
        else {
            panic!("{:?}", read(&text))
        };
        assert_eq!(detail, "slow down");
        let text = format!("{AT}Attempt 1 failed with status 500. Retrying with backoff... E: x");
        assert!(matches!(read(&text)[0].cause, FailureCause::Service { status: Some(500), .. }));
    }

    #[test]
    fn a_retry_after_a_network_error_is_parsed() {
        let text = format!(
            "{AT}Attempt 1 failed. Retrying with backoff... TypeError: fetch failed sending request"
        );
        assert!(matches!(read(&text)[0].cause, FailureCause::Network { .. }));
    }

    #[test]
    fn a_message_over_several_lines_is_one_attempt() {
        let text = format!(
            "{AT}Attempt 1 failed: too much\nSuggested retry after 60s.. Retrying after 61234ms..."
        );
        let wait = Some(Duration::from_millis(61_234));
        let [
            RetryAttempt {
                attempt: 1,
                cause: FailureCause::RateLimited { until: Some(until), .. },
                wait: told,
            },
        ] = &read(&text)[..]
        else {
            panic!("{:?}", read(&text))
        };
        assert_eq!((until.millis(), *told), (60_000, wait));
    }

    #[test]
    fn the_last_attempt_is_not_a_retry() {
        let text = format!("{AT}Attempt 3 failed: too much. Max attempts reached");
        assert_eq!(read(&text), []);
        // The next entry does not belong to it.
        let more = format!("{text}\n[2026-11-15T12:43:01.996Z] [DEBUG] x. Retrying after 5ms...");
        assert_eq!(read(&more), []);
    }

    #[test]
    fn other_lines_are_ignored() {
        for line in [
            "",
            "[",
            "Attempt 1 failed with status 429. Retrying with backoff... x",
            "[2026-11-15T12:43:01.996Z] [DEBUG] Attempt 1 failed. Retrying with backoff... x",
            "[2026-11-15T12:43:01.996Z] [WARN] Attempt many failed. Retrying with backoff... x",
            "[not a time] [WARN] Attempt 1 failed. Retrying with backoff... x",
        ] {
            assert_eq!(read(line), [], "{line}");
        }
    }
}
