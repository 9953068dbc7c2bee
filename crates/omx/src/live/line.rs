//! One line for each thing worth one.

use omx_runs::progress::Progress;

/// The line of something, if it is worth one by itself.
pub(super) fn line(progress: &Progress, run: &str) -> Option<String> {
    Some(match progress {
        Progress::StepBegan { step, mode, phase, who, what } => {
            format!("{step}: {who} {what} ({mode}, {phase})")
        }
        Progress::StepFinished { step, how } => format!("{step}: done, {}", printable(how)),
        Progress::Trouble { step, text, .. } => format!("{step}: {}", printable(text)),
        Progress::Waiting { what, until } => format!("waiting ({what}) until {until}"),
        Progress::NeedsYou { step, what } => {
            let what = printable(what);
            format!("{step}: needs you: may it {what}? omx runs answer {run} yes|no")
        }
        Progress::Note(text) => printable(text),
        Progress::Model { .. }
        | Progress::Said { .. }
        | Progress::Tool { .. }
        | Progress::Usage(_) => {
            return None;
        }
    })
}

/// Words of others without anything a terminal would obey, on one line.
pub fn printable(words: &str) -> String {
    let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    words.trim().to_owned()
}

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Seconds as `7 s`, `3:07` or `2:03:07`.
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([7, 187, 7387].map(clock), ["7 s", "3:07", "2:03:07"]);
    }

    #[test]
    fn a_terminal_is_told_no_commands() {
        assert_eq!(printable("a\u{1b}[31mb\nc\u{9b}2J"), "a [31mb c 2J");
    }
}
