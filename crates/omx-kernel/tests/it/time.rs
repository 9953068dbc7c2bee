//! state.md 2.1: times are RFC 3339. The kernel has its own parser, so the tests compare it
//! with a calendar library, on random times and on junk.

use omx_kernel::Timestamp;
use proptest::prelude::*;

/// The library's result in whole milliseconds; `None` if it refuses the text.
fn library(text: &str) -> Option<i64> {
    let instant: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(instant.as_nanosecond().div_euclid(1_000_000)).ok()
}

/// The years that the library supports at every offset.
const FIRST: i64 = -62_135_596_800_000;
const LAST: i64 = 253_370_764_800_000;

proptest! {
    #[test]
    fn state_2_1_a_time_is_printed_and_read_as_the_library_does(millis in FIRST..LAST) {
        let ours = Timestamp::from_millis(millis);
        let text = ours.to_string();
        prop_assert_eq!(Timestamp::parse(&text), Some(ours));
        prop_assert_eq!(library(&text), Some(millis));
        let theirs = jiff::Timestamp::from_millisecond(millis).unwrap();
        prop_assert_eq!(format!("{theirs:.3}"), text);
    }

    #[test]
    fn state_2_1_fractions_and_offsets_are_read_as_the_library_does(
        millis in (FIRST + 100_000_000)..(LAST - 100_000_000),
        nanos in 0_u32..1_000_000_000,
        digits in 0_usize..10,
        offset in prop::option::of(-1_439_i32..1_440),
        separator in prop::sample::select(vec!['T', 't', ' ']),
        zulu in prop::sample::select(vec!['Z', 'z']),
    ) {
        let stem = Timestamp::from_millis(millis).to_string();
        let mut text = stem[..19].replace('T', &separator.to_string());
        if digits > 0 {
            text.push('.');
            text.push_str(&format!("{nanos:09}")[..digits]);
        }
        match offset {
            None => text.push(zulu),
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.abs();
                text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
            }
        }
        let ours = Timestamp::parse(&text).map(Timestamp::millis);
        prop_assert!(ours.is_some(), "{}", text);
        prop_assert_eq!(ours, library(&text), "{}", text);
    }

    #[test]
    fn state_2_1_a_date_is_read_only_if_the_calendar_has_it(
        year in 1_i16..9_999,
        month in 0_u32..15,
        day in 0_u32..34,
        hour in 0_u32..27,
        minute in 0_u32..63,
        second in 0_u32..60,
    ) {
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
        prop_assert_eq!(Timestamp::parse(&text).map(Timestamp::millis), library(&text), "{}", text);
    }

    #[test]
    fn state_3_3_what_is_read_at_all_the_library_reads_alike(
        text in "[0-9]{3,5}[-/][0-9]{1,3}-[0-9]{2}[Tt _][0-9]{2}:[0-9]{2}:[0-6][0-9](\\.[0-9]{0,10})?([Zz]|[+-][0-2][0-9]:?[0-6][0-9]|)[ Z]?"
    ) {
        if let Some(ours) = Timestamp::parse(&text)
            && (FIRST..LAST).contains(&ours.millis())
        {
            prop_assert_eq!(Some(ours.millis()), library(&text), "{}", text);
        }
    }

    #[test]
    fn state_3_3_junk_is_no_time_and_no_panic(text in "\\PC{0,40}") {
        prop_assert_eq!(Timestamp::parse(&text), None);
    }

    #[test]
    fn state_3_3_one_wrong_character_is_no_other_time(
        millis in FIRST..LAST, place in 0_usize..24, wrong in "[^0-9]",
    ) {
        let text = Timestamp::from_millis(millis).to_string();
        let broken: String = text
            .chars()
            .enumerate()
            .map(|(at, c)| if at == place { wrong.clone() } else { c.to_string() })
            .collect();
        let same = Timestamp::parse(&broken).is_none_or(|read| read.to_string() == text);
        prop_assert!(same, "{}", broken);
    }
}

#[test]
fn state_2_1_invalid_times_are_refused() {
    for text in [
        "",
        "2026-11-15",
        "2026-11-15T12:00:00",
        "2026-11-15T12:00Z",
        "2026-11-15T12:00:00+2",
        "2026-11-15T12:00:00+0200",
        "2026-11-15T12:00:00+24:00",
        "2026-11-15T12:00:00+00:60",
        "2026-11-15T24:00:00Z",
        "2026-11-15T12:60:00Z",
        "2026-11-15T12:00:61Z",
        "2026-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z",
        "2026-11-31T12:00:00Z",
        "2026-13-01T12:00:00Z",
        "2026-00-01T12:00:00Z",
        "2026-11-00T12:00:00Z",
        "2026-11-15T12:00:00.Z",
        "2026-11-15T12:00:00,5Z",
        " 2026-11-15T12:00:00Z",
        "2026-11-15T12:00:00Z ",
        "+026-11-15T12:00:00Z",
        "２026-11-15T12:00:00Z",
    ] {
        assert_eq!(Timestamp::parse(text), None, "{text:?}");
    }
    for text in ["2000-02-29T00:00:00Z", "2024-02-29T23:59:59-00:00", "0000-01-01T00:00:00Z"] {
        assert_eq!(Timestamp::parse(text).map(Timestamp::millis), library(text), "{text}");
    }
}

#[test]
fn state_2_1_a_leap_second_is_the_last_second_of_its_minute() {
    let text = "2016-12-31T23:59:60Z";
    assert_eq!(Timestamp::parse(text).map(Timestamp::millis), library(text));
}
