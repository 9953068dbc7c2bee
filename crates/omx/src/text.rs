//! Text for people: safe on any terminal, measured in columns, with numbers
//! that can be read.

use omx_kernel::EscapedText;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text of others on one line, without anything a terminal would obey.
pub fn printable(text: &str) -> String {
    EscapedText::one_line(text).to_string()
}

/// The text in at most this many columns; an ellipsis stands for what is cut off.
/// A character is kept or cut whole, together with the marks that combine with it.
pub fn truncate(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let mut kept = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        // A mark without a width belongs to the character before it.
        let fits = text[..end].width() <= room;
        if !fits {
            break;
        }
        if text[end..].chars().next().is_none_or(|next| next.width() != Some(0)) {
            kept = end;
        }
    }
    format!("{}…", &text[..kept])
}

/// The text, filled up with spaces to this many columns.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// The columns that the text takes.
pub fn columns(text: &str) -> usize {
    text.width()
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
    fn control_characters_never_reach_a_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\nc\u{9b}2J"), "a\\u{1b}[31mb c\\u{9b}2J");
    }

    #[test]
    fn text_is_cut_by_columns_and_never_inside_a_character() {
        for (text, columns, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("日本語", 2, "…"),
            ("日本語", 1, "…"),
            ("日本語", 0, ""),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("👩‍👩‍👧 family", 4, "👩‍👩‍👧 …"),
        ] {
            let cut = truncate(text, columns);
            assert_eq!(cut, expected, "{text:?} in {columns} columns");
            assert!(cut.width() <= columns, "{cut:?}");
        }
        for columns in 0..40 {
            let cut = truncate("ふたりで 👩‍🚀 e\u{301}tudier ❤️ 🇯🇵 the notes", columns);
            assert!(cut.width() <= columns, "{columns}: {cut:?}");
        }
    }

    #[test]
    fn columns_of_a_table_line_up() {
        assert_eq!(pad("日本", 6), "日本  ");
        assert_eq!(pad("too long", 3), "too long");
    }
}
