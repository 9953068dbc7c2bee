//! Spans of code and quotations in prose.
//!
//! An opening delimiter without a closing one opens nothing. Searching for the closing one
//! each time would take quadratic time, so the position of the next closing delimiter is
//! cached for each kind.

use crate::text::is_word_char;

/// The kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanKind {
    close: &'static str,
    slot: usize,
    delimiter: Delimiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delimiter {
    /// As many backticks as opened it.
    Backticks(usize),
    /// A straight double quote; the characters around it show whether it opens or closes.
    Straight,
    /// A single quote within a line that cannot be an apostrophe.
    Single,
    /// Single quotes around whole lines.
    WholeLines,
    /// A distinct closing delimiter.
    Pair,
}

impl SpanKind {
    /// Whether the span is code rather than a quotation.
    pub const fn is_code(self) -> bool {
        matches!(self.delimiter, Delimiter::Backticks(_))
    }
}

const SLOT_COUNT: usize = 13;

/// The maximum length of a quotation in single quotes within a line.
const MAX_SINGLE_QUOTED: usize = 200;

const PAIRS: [(&str, &str); 6] =
    [("“", "”"), ("„", "“"), ("«", "»"), ("‹", "›"), ("「", "」"), ("『", "』")];

/// Returns the kind of the span that opens here, and the length of its delimiter.
fn opening(text: &str, at: usize) -> Option<(SpanKind, usize)> {
    let bytes = text.as_bytes();
    let before = text[..at].chars().next_back();
    let rest = &text[at..];
    match bytes[at] {
        b'`' => {
            let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
            let (close, slot) = match ticks {
                1 => ("`", 0),
                2 => ("``", 1),
                _ => ("```", 2),
            };
            Some((SpanKind { close, slot, delimiter: Delimiter::Backticks(ticks.min(3)) }, ticks))
        }
        b'"' => {
            let free = before.is_none_or(|c| c.is_whitespace() || "([{:=—–-,".contains(c));
            let triple = rest.starts_with("\"\"\"");
            let (close, slot, length) = if triple { ("\"\"\"", 10, 3) } else { ("\"", 3, 1) };
            let sign = if triple { Delimiter::Pair } else { Delimiter::Straight };
            let next = rest[length..].chars().next()?;
            let goes_on = triple || !next.is_whitespace() || matches!(next, '\n' | '\r');
            (free && goes_on).then_some((SpanKind { close, slot, delimiter: sign }, length))
        }
        b'\'' => {
            let free = before.is_none_or(|c| c.is_whitespace() || "([{:=,|".contains(c));
            free.then_some((SpanKind { close: "'", slot: 11, delimiter: Delimiter::Single }, 1))
        }
        _ => PAIRS.iter().enumerate().find_map(|(number, (open, close))| {
            let kind = SpanKind { close, slot: 4 + number, delimiter: Delimiter::Pair };
            rest.starts_with(open).then_some((kind, open.len()))
        }),
    }
}

/// Whether the delimiter here closes such a span.
fn closes(text: &str, at: usize, kind: SpanKind) -> bool {
    let after = text[at + kind.close.len()..].chars().next();
    let before = text[..at].chars().next_back();
    match kind.delimiter {
        Delimiter::Pair => true,
        Delimiter::Backticks(3) => true,
        Delimiter::Backticks(_) => before != Some('`') && after != Some('`'),
        Delimiter::Straight => {
            let ends = after.is_none_or(|c| !is_word_char(c) && c != '"');
            ends && before.is_none_or(|c| matches!(c, '\n' | '\r') || !c.is_whitespace())
        }
        Delimiter::Single => {
            after.is_none_or(|c| !is_word_char(c)) && before.is_some_and(|c| !c.is_whitespace())
        }
        Delimiter::WholeLines => {
            let rest = text[at + 1..].trim_start_matches(['.', ',', '!', '?', ' ', '\r']);
            rest.is_empty() || rest.starts_with('\n')
        }
    }
}

/// Finds the spans of a text, with a cache of closing delimiters.
#[derive(Clone, Debug)]
pub struct Spans<'a> {
    text: &'a str,
    /// For each kind: where the last search started, and what it found.
    closing: [Option<(usize, Option<usize>)>; SLOT_COUNT],
}

impl<'a> Spans<'a> {
    /// Creates the finder for a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, closing: [None; SLOT_COUNT] }
    }

    /// Returns the kind and the end of the span that starts here; otherwise, as the error,
    /// the offset where to look next.
    pub fn span_at(&mut self, at: usize) -> Result<(SpanKind, usize), usize> {
        let first = self.text[at..].chars().next().map_or(1, char::len_utf8);
        let (kind, length) = opening(self.text, at).ok_or(at + first)?;
        if kind.delimiter == Delimiter::Single {
            return self.single(kind, at).ok_or(at + length);
        }
        let close = self.next_closing(kind, at + length).ok_or(at + length)?;
        let mut end = close + kind.close.len();
        if kind.delimiter == Delimiter::Backticks(3) {
            end += self.text[end..].bytes().take_while(|byte| *byte == b'`').count();
        }
        Ok((kind, end))
    }

    /// Finds a quotation in single quotes, within a line or around whole lines.
    fn single(&mut self, kind: SpanKind, at: usize) -> Option<(SpanKind, usize)> {
        let inside = self.next_closing(kind, at + 1).filter(|close| {
            close - at <= MAX_SINGLE_QUOTED && !self.text.as_bytes()[at..*close].contains(&b'\n')
        });
        if let Some(close) = inside {
            return Some((kind, close + 1));
        }
        let first = self.text[..at].bytes().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
        if first.is_some_and(|byte| byte != b'\n') {
            return None;
        }
        let kind = SpanKind { close: "'", slot: 12, delimiter: Delimiter::WholeLines };
        Some((kind, self.next_closing(kind, at + 1)? + 1))
    }

    fn next_closing(&mut self, kind: SpanKind, from: usize) -> Option<usize> {
        if let Some((looked, found)) = self.closing[kind.slot]
            && looked <= from
            && found.is_none_or(|found| from <= found)
        {
            return found;
        }
        let mut place = from;
        let found = loop {
            let Some(next) = self.text[place..].find(kind.close) else { break None };
            let next = place + next;
            if closes(self.text, next, kind) {
                break Some(next);
            }
            place = next + kind.close.len();
        };
        self.closing[kind.slot] = Some((from, found));
        found
    }
}

/// Returns all spans of a line, for an explanation.
pub fn find_spans(text: &str) -> Vec<(usize, usize, SpanKind)> {
    let (mut spans, mut found, mut at) = (Spans::new(text), Vec::new(), 0);
    while at < text.len() {
        let opens = may_open(text.as_bytes()[at]) && text.is_char_boundary(at);
        at = match if opens { spans.span_at(at) } else { Err(at + 1) } {
            Ok((kind, end)) => {
                found.push((at, end, kind));
                end
            }
            Err(next) => next,
        };
    }
    found
}

/// Whether a span can start with this byte.
pub fn may_open(byte: u8) -> bool {
    matches!(byte, b'`' | b'"' | b'\'' | 0xc2 | 0xe2 | 0xe3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str) -> Option<&str> {
        Spans::new(text).span_at(0).ok().map(|(_, end)| &text[..end])
    }

    #[test]
    fn a_span_ends_with_its_own_delimiter() {
        assert_eq!(span("`a` b"), Some("`a`"));
        assert_eq!(span("``a`b`` c"), Some("``a`b``"));
        assert_eq!(span("```a\nb``` c"), Some("```a\nb```"));
        assert_eq!(span("\"a b\" c"), Some("\"a b\""));
        assert_eq!(span("\"\na\n\""), Some("\"\na\n\""));
        assert_eq!(span("“a\nb” c"), Some("“a\nb”"));
        assert_eq!(span("「修」 c"), Some("「修」"));
        assert_eq!(span("'a\nit's b'"), Some("'a\nit's b'"));
    }

    #[test]
    fn an_unclosed_delimiter_opens_no_span() {
        for text in ["`a", "\"a b", "“a", "' a", "\" a\"b", "\"", "'", "'tis it's"] {
            assert_eq!(span(text), None, "{text}");
        }
    }
}
