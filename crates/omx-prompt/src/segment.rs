//! The prompt in pieces: prose line by line, and what is not the person's own
//! prose (code, quotations, text of programs) as one piece each.

use omx_kernel::Dialect;

use crate::lexicon::{BRACKETED, PREAMBLES, SUMMARIES, WRAPPERS};
use crate::span::{Spans, may_open};
use crate::text::{contains_ignore_case, head, strip_prefix_ignore_case, trim, trim_start};

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Words of the person.
    Prose,
    /// Code.
    Code,
    /// A quotation.
    Quote,
    /// Text of a program, markup or a comment.
    Injected,
}

/// Where in its line a piece begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinePosition {
    /// Nothing of the person's stands before it.
    Start,
    /// Something does.
    Within,
}

/// A piece of the prompt. Prose never goes over the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its text, without the end of the line.
    pub text: &'a str,
    /// Where it begins.
    pub at: usize,
    /// Where in its line.
    pub position: LinePosition,
    /// What it is.
    pub kind: SegmentKind,
}

/// Markup of unknown names is searched for its end this often in vain.
const MAX_UNCLOSED_TAGS: u32 = 16;

/// How long an opening tag may be.
const MAX_TAG_BYTES: usize = 400;

/// Walks over a prompt.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    text: &'a str,
    at: usize,
    position: LinePosition,
    spans: Spans<'a>,
    unclosed_tags: u32,
    /// A program's paragraph goes on until a blank line.
    injected: bool,
    /// A hunk of a diff goes on while lines have its marks.
    diff: bool,
    /// The end of the line we are in, and the start of the next.
    line: (usize, usize),
}

impl<'a> Segments<'a> {
    /// The pieces of this prompt.
    pub fn new(text: &'a str) -> Self {
        let start = trim_start(head(text, 400));
        let summary =
            SUMMARIES.iter().any(|words| strip_prefix_ignore_case(start, words).is_some());
        let mut pieces = Self {
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
            pieces.at = text.len();
        }
        pieces
    }

    /// Where the line that holds this place ends, and where the next begins.
    fn line_end(&self, from: usize) -> (usize, usize) {
        match self.text[from..].find('\n') {
            Some(length) => (from + length, from + length + 1),
            None => (self.text.len(), self.text.len()),
        }
    }

    /// Hands out everything up to `end` as no prose.
    fn take_until(&mut self, end: usize, ground: SegmentKind) -> Segment<'a> {
        let piece = Segment {
            text: &self.text[self.at..end],
            at: self.at,
            position: self.position,
            kind: ground,
        };
        self.at = end;
        let rest = &self.text[end..];
        let ends_line = piece.text.ends_with('\n');
        if ends_line {
            self.position = LinePosition::Start;
        } else if ground != SegmentKind::Injected && !rest.starts_with('\n') {
            self.position = LinePosition::Within;
        }
        piece
    }

    /// A block that begins where a line does, and where it ends.
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

    /// Where the fence is closed, or the end of everything.
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

    /// The first thing inside a line of prose that goes on beyond it or is
    /// markup: where it begins, where it ends, what it is.
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
                        let ground =
                            if kind.is_code() { SegmentKind::Code } else { SegmentKind::Quote };
                        return Some((at, close, ground));
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

    /// Where the comment or element that begins here ends, if it is one.
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

/// How far a comment goes; one that opens a block of omx goes to the block's end.
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

/// How far an element goes, its closing tag included.
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

/// A line of the program itself: `omx: …`, or its status line.
fn is_omx_line(line: &str) -> bool {
    Dialect::ALL.iter().any(|dialect| {
        let rest = line.strip_prefix(dialect.name);
        rest.is_some_and(|rest| rest.starts_with(": ") || rest.starts_with(" | "))
    })
}

/// A line omx itself tells an agent: `[Ralph active: phase …]`.
fn is_hold_message(line: &str) -> bool {
    contains_ignore_case(line, " active: phase")
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        if self.at >= self.text.len() {
            return None;
        }
        // A line with many pieces is not measured anew for each.
        if self.at >= self.line.1 {
            self.line = self.line_end(self.at);
        }
        let (end, next) = self.line;
        if self.position == LinePosition::Start
            && let Some((close, ground)) = self.block_at_line_start(&self.text[self.at..end], next)
        {
            return Some(self.take_until(close, ground));
        }
        match self.next_non_prose(self.at, end) {
            Some((at, close, ground)) if trim(&self.text[self.at..at]).is_empty() => {
                Some(self.take_until(close, ground))
            }
            Some((at, _, _)) => {
                let piece = self.prose_until(at);
                self.position = LinePosition::Within;
                Some(piece)
            }
            None => {
                let piece = self.prose_until(end);
                self.at = next;
                self.position = LinePosition::Start;
                Some(piece)
            }
        }
    }
}

impl<'a> Segments<'a> {
    fn prose_until(&mut self, end: usize) -> Segment<'a> {
        let text = self.text[self.at..end].trim_end_matches('\r');
        let piece =
            Segment { text, at: self.at, position: self.position, kind: SegmentKind::Prose };
        self.at = end;
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Vec<&str> {
        let pieces = Segments::new(text).filter(|piece| piece.kind == SegmentKind::Prose);
        pieces.map(|piece| piece.text).filter(|text| !trim(text).is_empty()).collect()
    }

    #[test]
    fn modes_5_1_code_and_quotations_are_no_prose() {
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
    fn modes_5_1_text_of_programs_is_no_prose() {
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
    fn a_wrapper_before_it_leaves_a_line_its_start() {
        let text = "<system-reminder>a</system-reminder>/ralph b";
        let last = Segments::new(text).last().unwrap();
        assert_eq!((last.text, last.position), ("/ralph b", LinePosition::Start));
    }
}
