//! Text that somebody else wrote: tasks, branches, configuration, journals, agents, file
//! names.
//!
//! A terminal obeys control characters, and bidirectional controls reorder what a person
//! reads, so such text must not reach a terminal as it is. [`ForeignText`] has no
//! `Display`; whoever prints it chooses between [`ForeignText::one_line`] and
//! [`ForeignText::lines`]:
//!
//! ```compile_fail
//! let task = omx_kernel::ForeignText::from("tidy up");
//! println!("{task}");
//! ```
//!
//! ```
//! let task = omx_kernel::ForeignText::from("tidy\u{1b}[2J up");
//! assert_eq!(task.one_line().to_string(), "tidy\\u{1b}[2J up");
//! ```

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Text that somebody else wrote. It is stored as it is, and escaped to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ForeignText(String);

impl ForeignText {
    /// The text as it is, for everything but a terminal.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// The text as it is.
    pub fn into_raw(self) -> String {
        self.0
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text for a place that has one line.
    pub fn one_line(&self) -> EscapedText<'_> {
        EscapedText::one_line(&self.0)
    }

    /// The text with its own line breaks and tabs.
    pub fn lines(&self) -> EscapedText<'_> {
        EscapedText::lines(&self.0)
    }
}

impl From<String> for ForeignText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for ForeignText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<Cow<'_, str>> for ForeignText {
    fn from(text: Cow<'_, str>) -> Self {
        Self(text.into_owned())
    }
}

impl PartialEq<str> for ForeignText {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for ForeignText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// What happens to line breaks and tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineBreaks {
    Kept,
    Spaces,
}

/// Text whose `Display` writes nothing that a terminal obeys: control characters and
/// bidirectional controls appear as `\u{1b}`.
#[derive(Clone, Copy, Debug)]
pub struct EscapedText<'a> {
    text: &'a str,
    breaks: LineBreaks,
}

impl<'a> EscapedText<'a> {
    /// Text for a place that has one line: line breaks and tabs become spaces, and
    /// white space around the text is left out.
    pub fn one_line(text: &'a str) -> Self {
        Self { text: text.trim(), breaks: LineBreaks::Spaces }
    }

    /// A composed line: like [`EscapedText::one_line`], with its indentation.
    pub fn whole_line(text: &'a str) -> Self {
        Self { text, breaks: LineBreaks::Spaces }
    }

    /// Text with its own line breaks and tabs.
    pub fn lines(text: &'a str) -> Self {
        Self { text, breaks: LineBreaks::Kept }
    }
}

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Most text is plain ASCII, and a list has thousands of lines.
        if self.text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
            return to.write_str(self.text);
        }
        let mut kept = 0;
        let mut chars = self.text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let is_break = matches!(c, '\n' | '\t')
                || (c == '\r' && chars.peek().is_some_and(|(_, next)| *next == '\n'));
            if is_break && (self.breaks == LineBreaks::Kept && c != '\r') || !is_unsafe(c) {
                continue;
            }
            to.write_str(&self.text[kept..at])?;
            kept = at + c.len_utf8();
            match (is_break, c) {
                // The line feed follows.
                (true, '\r') => {}
                (true, _) => to.write_str(" ")?,
                (false, _) => write!(to, "\\u{{{:x}}}", u32::from(c))?,
            }
        }
        to.write_str(&self.text[kept..])
    }
}

/// JSON text with the same characters written as escapes of JSON, which changes no value.
pub fn escape_json(text: &str) -> Cow<'_, str> {
    let is_whitespace = |c: char| matches!(c, '\n' | '\r' | '\t');
    let is_escaped = |c: char| is_unsafe(c) && !is_whitespace(c);
    // Answers are almost always ASCII, where only a few bytes are unsafe.
    let is_plain = |byte: &u8| (b' '..0x7f).contains(byte) || *byte == b'\n';
    if text.as_bytes().iter().all(is_plain) || !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_escaped(c) {
            // All of them are in the basic plane.
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Whether a terminal obeys this character or orders text by it.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Bidirectional marks, embeddings, overrides and isolates.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            // Line and paragraph separators, annotations, byte order mark.
            | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_6_2_nothing_that_a_terminal_obeys_is_left() {
        for (text, expected) in [
            ("plain", "plain"),
            ("  around \n", "around"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\u{9b}2J\u{7f}\u{0}", "a\\u{9b}2J\\u{7f}\\u{0}"),
            ("one\ntwo\tthree\r\nfour", "one two three four"),
            ("over\rwritten", "over\\u{d}written"),
            (
                "to \u{202e}lived\u{202c} \u{2066}x\u{2069}",
                "to \\u{202e}lived\\u{202c} \\u{2066}x\\u{2069}",
            ),
            ("日本語 e\u{301} 👩‍👩‍👧", "日本語 e\u{301} 👩‍👩‍👧"),
        ] {
            assert_eq!(ForeignText::from(text).one_line().to_string(), expected, "{text:?}");
        }
        let lines = EscapedText::lines("one\r\n\ttwo\u{1b}c\n").to_string();
        assert_eq!(lines, "one\n\ttwo\\u{1b}c\n");
    }

    #[test]
    fn trust_6_2_json_keeps_its_values() {
        let value = "a\u{9b}2J \u{202e} \u{7f} é \n";
        let text = serde_json::to_string_pretty(&[value]).unwrap();
        let escaped = escape_json(&text);
        assert!(!escaped.contains(['\u{9b}', '\u{202e}', '\u{7f}']), "{escaped}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&escaped).unwrap(), [value]);
        assert!(matches!(escape_json("{\n  \"a\": \"é\"\n}"), Cow::Borrowed(_)));
    }
}
