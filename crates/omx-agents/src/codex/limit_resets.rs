//! When a rate limit resets. Codex passes on the rate-limit windows of the plan;
//! if they are missing, the time appears only in its message, in local time:
//! "try again at Jan 1st, 2030 3:04 PM."

use serde_json::Value;

use omx_kernel::Timestamp;

/// The last reported rate-limit window, and codex's local time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitResets {
    /// When the last exhausted window resets.
    window: Option<Timestamp>,
    /// The offset of codex's local time from UTC, in milliseconds.
    utc_offset_ms: Option<i64>,
}

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

impl LimitResets {
    /// Nothing is known yet.
    pub(super) const UNKNOWN: Self = Self { window: None, utc_offset_ms: None };

    /// Takes an `account/rateLimits/updated`. As codex documents, an update
    /// without windows changes nothing.
    pub(super) fn learn_windows(&mut self, limits: &Value) {
        let windows = [&limits["primary"], &limits["secondary"]];
        if windows.iter().all(|window| window.is_null()) {
            return;
        }
        let used_up = windows
            .into_iter()
            .filter(|window| window["usedPercent"].as_f64().is_some_and(|used| used >= 100.0));
        let ends = used_up.filter_map(|window| window["resetsAt"].as_i64());
        self.window =
            ends.max().map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000)));
    }

    /// Learns the local time zone from a thread: codex names its file in local
    /// time and reports the same moment in UTC. A change to or from daylight
    /// saving time before the reset makes the result wrong by an hour.
    pub(super) fn learn_clock(&mut self, thread: &Value) {
        self.utc_offset_ms = self.utc_offset_ms.or_else(|| clock_offset(thread));
    }

    /// When the limit resets, given codex's message and when it was reported.
    pub(super) fn find_reset(
        &self,
        sentence: &str,
        reported_at: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let window =
            self.window.filter(|end| reported_at.is_none_or(|reported_at| *end > reported_at));
        window.or_else(|| parse_reset_time(sentence, reported_at?, self.utc_offset_ms?))
    }
}

/// `…/rollout-2026-11-15T21-43-34-<id>.jsonl` against `createdAt`.
fn clock_offset(thread: &Value) -> Option<i64> {
    let created = thread["createdAt"].as_i64()?.checked_mul(1000)?;
    let name = thread["path"].as_str()?.rsplit('/').next()?.strip_prefix("rollout-")?;
    let (date, time) = (name.get(..10)?, name.get(11..19)?.replace('-', ":"));
    let wall = Timestamp::parse(&format!("{date}T{time}Z"))?.millis();
    // Time zones differ by quarters of an hour, the two moments by at most a second.
    let quarter = 15 * MINUTE;
    Some(wall.checked_sub(created)?.checked_add(quarter / 2)?.div_euclid(quarter) * quarter)
}

/// The time in a message that ends with "… try again at TIME.".
fn parse_reset_time(sentence: &str, reported_at: Timestamp, ahead: i64) -> Option<Timestamp> {
    let (_, moment) = sentence.split_once("ry again at ")?;
    let moment = moment.trim_end().trim_end_matches('.');
    let today = Timestamp::from_millis(reported_at.millis().checked_add(ahead)?);
    let (day, clock) = match moment.split_once(", ") {
        Some((day, rest)) => {
            let (year, clock) = rest.split_once(' ')?;
            (parse_date(day, year)?, clock)
        }
        None => (today.to_string().get(..10)?.to_owned(), moment),
    };
    let wall = Timestamp::parse(&format!("{day}T{}:00Z", parse_clock(clock)?))?;
    // The message has no seconds: better a minute late than too early.
    let mut end = wall.millis() - ahead + MINUTE;
    // A time without a date that is long past belongs to tomorrow; one that has just
    // passed means that the limit is over.
    if !moment.contains(',') && reported_at.millis() - end > DAY / 2 {
        end += DAY;
    }
    Some(Timestamp::from_millis(end))
}

/// `Jan 1st` and `2030` as `2030-01-01`.
fn parse_date(day: &str, year: &str) -> Option<String> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (month, day) = day.split_once(' ')?;
    let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? / 3 + 1;
    let day: u8 = day.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).parse().ok()?;
    Some(format!("{year}-{month:02}-{day:02}"))
}

/// `3:04 PM` as `15:04`.
fn parse_clock(clock: &str) -> Option<String> {
    let (time, half) = clock.split_once(' ')?;
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        "AM" => hour % 12,
        "PM" => hour % 12 + 12,
        _ => return None,
    };
    Some(format!("{hour:02}:{minute:02}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn moment(text: &str) -> Option<Timestamp> {
        Timestamp::parse(text)
    }

    /// A conversation that was started in Tokyo.
    fn tokyo() -> LimitResets {
        let path = "/x/rollout-2026-11-15T21-43-34-01a1df3c-022c-77d2-a692-51c79cedbfb0.jsonl";
        let mut resets = LimitResets::UNKNOWN;
        resets.learn_clock(&json!({"path": path, "createdAt": 1_794_746_614}));
        assert_eq!(resets.utc_offset_ms, Some(9 * 60 * MINUTE));
        resets
    }

    #[test]
    fn an_exhausted_window_gives_the_exact_reset() {
        let mut resets = tokyo();
        resets.learn_windows(&json!({
            "primary": {"usedPercent": 100, "resetsAt": 1_893_456_000},
            "secondary": {"usedPercent": 30, "resetsAt": 1_893_459_999}
        }));
        let reported_at = moment("2026-11-15T12:43:37Z");
        let end = moment("2030-01-01T00:00:00Z");
        assert_eq!(resets.find_reset("Try again at 10:43 PM.", reported_at), end);
        // Sparse updates change nothing.
        resets.learn_windows(&json!({"primary": null, "secondary": null}));
        assert_eq!(resets.find_reset("", reported_at), end);
        // A reset in the past does not count.
        assert_eq!(resets.find_reset("", moment("2031-01-01T00:00:00Z")), None);
        resets.learn_windows(&json!({"primary": {"usedPercent": 99.5, "resetsAt": 1}}));
        assert_eq!(resets.find_reset("", reported_at), None);
    }

    #[test]
    fn the_message_is_read_in_local_time() {
        let reported_at = moment("2026-11-15T12:43:37Z");
        for (sentence, end) in [
            ("Limit. Try again at 10:43 PM.", "2026-11-15T13:44:00Z"),
            ("or try again at 12:05 AM.", "2026-11-15T15:06:00Z"),
            ("or try again at Jan 1st, 2030 12:00 AM.", "2029-12-31T15:01:00Z"),
            // Just past: not tomorrow.
            ("or try again at 9:41 PM.", "2026-11-15T12:42:00Z"),
            ("try again at Dec 22nd, 2026 12:30 PM.", "2026-12-22T03:31:00Z"),
        ] {
            assert_eq!(tokyo().find_reset(sentence, reported_at), moment(end), "{sentence}");
        }
    }

    #[test]
    fn other_messages_contain_no_reset_time() {
        let reported_at = moment("2026-11-15T12:43:37Z");
        for sentence in [
            "try again later.",
            "try again at noon.",
            "try again at Foo 1st, 2030 1:00 AM.",
            "try again at anF 1st, 2030 1:00 AM.",
            "try again at Jan 1st, 2030 25:61 PM.",
            "try again at Feb 31st, 2030 1:00 AM.",
            "try again at Jan 1st, 2030.",
            "try again at 3:04.",
            "try again at ",
            "try again at , ,",
        ] {
            assert_eq!(tokyo().find_reset(sentence, reported_at), None, "{sentence}");
        }
        assert_eq!(LimitResets::UNKNOWN.find_reset("try again at 3:04 PM.", reported_at), None);
        assert_eq!(tokyo().find_reset("try again at 3:04 PM.", None), None);
    }
}
