//! Timestamps for the rules: parsed, compared and formatted.
//!
//! This module only converts between RFC 3339 and milliseconds; the clock is read at the
//! edge. The crate depends on no calendar library, but the tests compare with one.

use std::fmt;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The milliseconds since `earlier`; 0 if that is later.
    pub fn millis_since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }

    /// This time plus milliseconds.
    #[must_use]
    pub fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
    }

    /// Parses RFC 3339 (`2026-11-15T10:00:00.123Z`, or with an offset).
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if !text.is_ascii() || bytes.len() < 20 {
            return None;
        }
        let year = digits(bytes.get(0..4)?)?;
        let month = digits(bytes.get(5..7)?)?;
        let day = digits(bytes.get(8..10)?)?;
        let hour = digits(bytes.get(11..13)?)?;
        let minute = digits(bytes.get(14..16)?)?;
        let second = digits(bytes.get(17..19)?)?;
        let separators = bytes[4] == b'-'
            && bytes[7] == b'-'
            && matches!(bytes[10], b'T' | b't' | b' ')
            && bytes[13] == b':'
            && bytes[16] == b':';
        let in_range = (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !separators || !in_range {
            return None;
        }
        let (millis, rest) = fraction(&bytes[19..])?;
        let offset_minutes = offset(rest)?;
        // A leap second counts as the last second of its minute.
        let seconds = days_from_civil(year, month, day) * 86_400
            + hour * 3_600
            + minute * 60
            + second.min(59)
            - offset_minutes * 60;
        Some(Self(seconds * 1_000 + millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(86_400_000);
        let in_day = self.0.rem_euclid(86_400_000);
        let (year, month, day) = civil_from_days(days);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            in_day / 3_600_000,
            in_day / 60_000 % 60,
            in_day / 1_000 % 60,
            in_day % 1_000
        )
    }
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0_i64, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'))
    })
}

/// Parses the milliseconds of `.123…`. Returns them with the rest.
fn fraction(bytes: &[u8]) -> Option<(i64, &[u8])> {
    if bytes.first() != Some(&b'.') {
        return Some((0, bytes));
    }
    let length = bytes[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 || length > 9 {
        return None;
    }
    let millis = (0..3).fold(0, |value, place| {
        value * 10 + bytes[1..=length].get(place).map_or(0, |byte| i64::from(byte - b'0'))
    });
    Some((millis, &bytes[1 + length..]))
}

/// Parses the offset of `Z` or `+02:00`, in minutes.
fn offset(bytes: &[u8]) -> Option<i64> {
    match bytes {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), rest @ ..] if rest.len() == 5 && rest[2] == b':' => {
            let (hours, minutes) = (digits(&rest[..2])?, digits(&rest[3..])?);
            let total = (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)?;
            Some(if *sign == b'-' { -total } else { total })
        }
        _ => None,
    }
}

/// Formats how long ago a moment was.
pub fn format_age(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.millis_since(time) / 1_000;
    match seconds {
        ..60 => format!("{} s ago", seconds.max(0)),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Converts a date of the proleptic Gregorian calendar to days since the epoch.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * month_index + 2) / 5 + 1)
}
