//! Splits the prompt into segments: prose line by line, and each block of code, quotation
//! or text of a program as a whole.

use omx_kernel::Dialect;

use crate::lexicon::{BRACKETED, PREAMBLES, SUMMARIES, WRAPPERS};
use crate::span::{Spans, may_open};
use crate::text::{contains_ignore_case, head, strip_prefix_ignore_case, trim, trim_start};

/// The kind of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// The person's own prose.
    Prose,
    /// Code.
    Code,
    /// A quotation.
    Quote,
    /// Text that a program inserted, markup or a comment.
    Injected,
}

/// The position of a segment in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinePosition {
    /// Nothing of the person's own comes before it.
    Start,
    /// Something of the person's own comes before it.
    Within,
}

/// A segment of the prompt. A segment of prose never spans lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its text, without the line break.
    pub text: &'a str,
    /// Its byte offset in the prompt.
    pub at: usize,
    /// Its position in the line.
    pub position: LinePosition,
    /// Its kind.
    pub kind: SegmentKind,
}

/// How many unknown tags may lack a closing tag before the search for one stops. This
/// bounds the time for long prompts.
const MAX_UNCLOSED_TAGS: u32 = 16;

/// The maximum length of an opening tag.
const MAX_TAG_BYTES: usize = 400;

/// Iterates over the segments of a prompt.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    text: &'a str,
    at: usize,
    position: LinePosition,
    spans: Spans<'a>,
    unclosed_tags: u32,
    /// Whether a program's paragraph continues; it ends with a blank line.
    injected: bool,
    /// Whether a diff hunk continues; it ends with the first line without a diff mark.
    diff: bool,
    /// The end of the current line, and the start of the next.
    line: (usize, usize),
}

impl<'a> Segments<'a> {
    /// Creates the iterator.
    pub fn new(text: &'a str) -> Self {
        let start = trim_start(head(text, 400));
        let summary =
            SUMMARIES.iter().any(|words| strip_prefix_ignore_case(start, words).is_some());
        let mut segments = Self {
            text,
            at: 0,
            position: LinePosition::Start,
            spans: Spans::new(text),
            unclosed_tags: 0,
            injected: false,
            diff: false,
            line: (0, 0),
        };
        if summary {
            segments.at = text.len();
        }
        segments
    }

    /// Returns the end of the line at this offset, and the start of the next.
    fn line_end(&self, from: usize) -> (usize, usize) {
        match self.text[from..].find('\n') {
            Some(length) => (from + length, from + length + 1),
            None => (self.text.len(), self.text.len()),
        }
    }

    /// Returns everything up to `end` as a segment that is not prose.
    fn take_until(&mut self, end: usize, kind: SegmentKind) -> Segment<'a> {
        let segment =
            Segment { text: &self.text[self.at..end], at: self.at, position: self.position, kind };
        self.at = end;
        let rest = &self.text[end..];
        let ends_line = segment.text.ends_with('\n');
        if ends_line {
            self.position = LinePosition::Start;
        } else if kind != SegmentKind::Injected && !rest.starts_with('\n') {
            self.position = LinePosition::Within;
        }
        segment
    }

    /// Finds a block that starts with this line. Returns its end and kind.
    fn block_at_line_start(&mut self, line: &str, next: usize) -> Option<(usize, SegmentKind)> {
        let start = trim_start(line);
        if trim(line).is_empty() {
            self.injected = false;
            return None;
        }
        self.diff = line.starts_with("@@ -")
            || line.starts_with("diff --git ")
            || self.diff && line.starts_with([' ', '+', '-', '\\', '@']);
        if self.diff {
            return Some((next, SegmentKind::Code));
        }
        if self.injected {
            return Some((next, SegmentKind::Injected));
        }
        match start.as_bytes()[0] {
            b'>' => Some((next, SegmentKind::Quote)),
            tick @ (b'`' | b'~') => {
                let length = start.bytes().take_while(|byte| *byte == tick).count();
                let inline = tick == b'`' && start[length..].contains('`');
                (length >= 3 && !inline)
                    .then(|| (self.fence_end(next, tick, length), SegmentKind::Code))
            }
            b'[' => {
                let mark = head(start, 40);
                self.injected =
                    BRACKETED.iter().any(|words| strip_prefix_ignore_case(mark, words).is_some())
                        || is_hold_message(mark);
                self.injected.then_some((next, SegmentKind::Injected))
            }
            _ => {
                let mark = head(start, 80);
                self.injected =
                    PREAMBLES.iter().any(|words| strip_prefix_ignore_case(mark, words).is_some())
                        || is_omx_line(mark);
                self.injected.then_some((next, SegmentKind::Injected))
            }
        }
    }

    /// Returns the end of a fenced block; the end of the prompt if it is not closed.
    fn fence_end(&self, mut at: usize, tick: u8, length: usize) -> usize {
        while at < self.text.len() {
            let (end, next) = self.line_end(at);
            let line = trim(&self.text[at..end]);
            if line.len() >= length && line.bytes().all(|byte| byte == tick) {
                return next;
            }
            at = next;
        }
        self.text.len()
    }

    /// Finds the first span in a line of prose that extends beyond the line or is markup.
    /// Returns its start, end and kind.
    fn next_non_prose(&mut self, from: usize, end: usize) -> Option<(usize, usize, SegmentKind)> {
        let mut at = from;
        while at < end {
            let byte = self.text.as_bytes()[at];
            if byte == b'<' {
                if let Some(close) = self.markup_end(at) {
                    return Some((at, close, SegmentKind::Injected));
                }
                at += 1;
            } else if may_open(byte) && self.text.is_char_boundary(at) {
                match self.spans.span_at(at) {
                    Ok((kind, close)) if close > end => {
                        let kind =
                            if kind.is_code() { SegmentKind::Code } else { SegmentKind::Quote };
                        return Some((at, close, kind));
                    }
                    Ok((_, close)) => at = close,
                    Err(next) => at = next,
                }
            } else {
                at += 1;
            }
        }
        None
    }

    /// Returns the end of the comment or element that starts here, if there is one.
    fn markup_end(&mut self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            return Some(at + 4 + comment_length(comment));
        }
        let before = self.text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '<')) {
            return None;
        }
        let inner = &rest[1..];
        let length = inner
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
            .count();
        let name = &inner[..length];
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let known = WRAPPERS.iter().any(|wrapper| name.eq_ignore_ascii_case(wrapper));
        let tag = head(&inner[length..], MAX_TAG_BYTES);
        let close = tag.find('>')?;
        if tag[..close].ends_with('/') || tag[..close].contains(['<', '\n']) {
            return None;
        }
        if !known && self.unclosed_tags >= MAX_UNCLOSED_TAGS {
            return None;
        }
        let body = at + 1 + length + close + 1;
        match element_length(&self.text[body..], name) {
            Some(length) => Some(body + length),
            None if known => Some(self.text.len()),
            None => {
                self.unclosed_tags += 1;
                None
            }
        }
    }
}

/// Returns the length of a comment. One that opens a block of omx extends to its end.
fn comment_length(comment: &str) -> usize {
    let end = comment.find("-->").map_or(comment.len(), |at| at + 3);
    let Some(name) = comment[..end].trim_end_matches("-->").trim().strip_suffix(":START") else {
        return end;
    };
    let name = head(name, 80);
    let mut at = end;
    while let Some(next) = comment[at..].find("<!--") {
        let inner = at + next + 4;
        let mark = comment[inner..].trim_start();
        if mark.strip_prefix(name).is_some_and(|rest| rest.starts_with(":END")) {
            let close = comment[inner..].find("-->");
            return close.map_or(comment.len(), |close| inner + close + 3);
        }
        at = inner;
    }
    comment.len()
}

/// Returns the length of an element, including its closing tag.
fn element_length(body: &str, name: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = body[at..].find("</") {
        let inner = at + next + 2;
        if let Some(rest) = strip_prefix_ignore_case(&body[inner..], name)
            && let Some(close) = head(rest, 20).find('>')
            && rest[..close].trim().is_empty()
        {
            return Some(inner + name.len() + close + 1);
        }
        at = inner;
    }
    None
}

/// Whether omx printed this line: `omx: …`, or its status line.
fn is_omx_line(line: &str) -> bool {
    Dialect::ALL.iter().any(|dialect| {
        let rest = line.strip_prefix(dialect.name);
        rest.is_some_and(|rest| rest.starts_with(": ") || rest.starts_with(" | "))
    })
}

/// Whether this is omx's message to an agent: `[Ralph active: phase …]`.
fn is_hold_message(line: &str) -> bool {
    contains_ignore_case(line, " active: phase")
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        if self.at >= self.text.len() {
            return None;
        }
        // Find the line's end only once, even if it has many segments.
        if self.at >= self.line.1 {
            self.line = self.line_end(self.at);
        }
        let (end, next) = self.line;
        if self.position == LinePosition::Start
            && let Some((close, kind)) = self.block_at_line_start(&self.text[self.at..end], next)
        {
            return Some(self.take_until(close, kind));
        }
        match self.next_non_prose(self.at, end) {
            Some((at, close, kind)) if trim(&self.text[self.at..at]).is_empty() => {
                Some(self.take_until(close, kind))
            }
            Some((at, _, _)) => {
                let segment = self.prose_until(at);
                self.position = LinePosition::Within;
                Some(segment)
            }
            None => {
                let segment = self.prose_until(end);
                self.at = next;
                self.position = LinePosition::Start;
                Some(segment)
            }
        }
    }
}

impl<'a> Segments<'a> {
    fn prose_until(&mut self, end: usize) -> Segment<'a> {
        let text = self.text[self.at..end].trim_end_matches('\r');
        let segment =
            Segment { text, at: self.at, position: self.position, kind: SegmentKind::Prose };
        self.at = end;
        segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Vec<&str> {
        let segments = Segments::new(text).filter(|segment| segment.kind == SegmentKind::Prose);
        segments.map(|segment| segment.text).filter(|text| !trim(text).is_empty()).collect()
    }

    #[test]
    fn modes_5_1_code_and_quotations_are_not_prose() {
        assert_eq!(prose("a\n```\nb\n```\nc"), ["a", "c"]);
        assert_eq!(prose("a\n~~~~ sh\nb\n~~~\nb\n~~~~\nc"), ["a", "c"]);
        assert_eq!(prose("a\n```\nb"), ["a"]);
        assert_eq!(prose("a\n> b\nc"), ["a", "c"]);
        assert_eq!(prose("a \"b\nc\nd\" e"), ["a ", " e"]);
        assert_eq!(prose("a “b\nc” e"), ["a ", " e"]);
        assert_eq!(prose("a `b\nc` e\r\nf"), ["a ", " e", "f"]);
        assert_eq!(prose("5\" b\nc\" d"), ["5\" b", "c\" d"]);
        assert_eq!(prose("a\n@@ -1 +1 @@\n-b\n\n c\nd"), ["a", "d"]);
        assert_eq!(prose("a 'b\nc' d 'e' f"), ["a 'b", "c' d 'e' f"]);
    }

    #[test]
    fn modes_5_1_text_of_programs_is_not_prose() {
        assert_eq!(prose("<system-reminder>\na\n</system-reminder>\nb"), ["b"]);
        assert_eq!(prose("<task-notification>a\nb"), [""; 0]);
        assert_eq!(prose("a <b x=1>c</b> d"), ["a ", " d"]);
        assert_eq!(prose("a <b> d\ne"), ["a <b> d", "e"]);
        assert_eq!(prose("Vec<String> a </String>"), ["Vec<String> a </String>"]);
        assert_eq!(prose("a\n<!-- OMX:START -->\nb\n<!-- OMX:END -->\nc"), ["a", "c"]);
        assert_eq!(prose("a <!-- b\nc --> d"), ["a ", " d"]);
        assert_eq!(prose("[omx] a\nb\n\nc"), ["c"]);
        assert_eq!(prose("[Ralph active: phase executing] a\n\nc"), ["c"]);
        assert_eq!(prose("[x] a\nb"), ["[x] a", "b"]);
        assert_eq!(prose("Stop hook feedback: a\nb\n\nc"), ["c"]);
    }

    #[test]
    fn text_after_a_wrapper_is_at_the_start_of_its_line() {
        let text = "<system-reminder>a</system-reminder>/ralph b";
        let last = Segments::new(text).last().unwrap();
        assert_eq!((last.text, last.position), ("/ralph b", LinePosition::Start));
    }
}
