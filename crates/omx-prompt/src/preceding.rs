//! The text before a line shows whether the line is a call or an example.

use crate::decision::RejectReason;
use crate::lexicon::{
    CLOSING_TOO, LEADING_IN, LOOKING_BACK, MAIL_HEADERS, OPEN_ENDED, REPORT_HEADINGS,
};
use crate::mention;
use crate::text::{
    head, is_blank, is_in_list, leading_word, strip_prefix_ignore_case, tail, trailing_word, trim,
    trim_start, words,
};

/// A line of at least this many characters may have been wrapped.
const WRAP_COLUMN: usize = 56;

/// What the scan has seen before the current line.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrecedingText<'a> {
    /// The last non-blank line of prose.
    line: Option<&'a str>,
    /// Whether blank lines, code or quotations came since then.
    apart: bool,
    /// The indentation of the first line.
    indent: Option<usize>,
    /// Whether code or quotations came since then.
    foreign: bool,
    /// How many report headings and mail headers have come so far.
    headings: u32,
    headers: u32,
}

impl<'a> PrecedingText<'a> {
    /// Records a line of prose.
    pub fn push_line(&mut self, line: &'a str) {
        let text = trim(line);
        if text.is_empty() {
            self.apart = true;
            return;
        }
        self.indent.get_or_insert_with(|| indent(line));
        self.headings += u32::from(is_heading(text));
        let start = head(text, 10);
        self.headers +=
            u32::from(MAIL_HEADERS.iter().any(|h| strip_prefix_ignore_case(start, h).is_some()));
        self.line = Some(text);
        self.apart = false;
        self.foreign = false;
    }

    /// Records a segment that is not prose.
    pub fn push_non_prose(&mut self) {
        self.apart = true;
        self.foreign = true;
    }

    /// Why the text before and after a line rejects the names at its start, if it does.
    /// `rest` is the line after the names.
    pub fn reject_reason(&self, line: &str, rest: &str, after: &str) -> Option<RejectReason> {
        if let Some(reason) = reject_if_reported_after(after) {
            return Some(reason);
        }
        let before = self.line?;
        if indent(line) >= self.indent.unwrap_or(0) + 4 {
            return Some(RejectReason::Code);
        }
        // The last paragraph below a report or a mail can be the person's own.
        let last = self.apart && is_last(after);
        let reported = match self.headings {
            0 => false,
            1 => head(after, 2000).lines().any(|line| is_heading(trim(line))),
            _ => true,
        };
        if !last && reported {
            return Some(RejectReason::Report);
        }
        if !last && self.headers >= 2 {
            return Some(RejectReason::Quoted);
        }
        let end = tail(before, 80);
        if end.ends_with([':', '：']) && !self.foreign && !is_lead_in(before) {
            return Some(RejectReason::Announced);
        }
        let alone = trim(rest).is_empty() && !self.apart;
        if alone && continues_sentence(after) {
            return Some(RejectReason::MidSentence);
        }
        // Sentences also end with "on" or "for". Such a word shows an open sentence only
        // where a text was wrapped; an article always does.
        let wrapped = before.chars().nth(WRAP_COLUMN).is_some();
        let last = trailing_word(end);
        let open = end.ends_with([',', '，'])
            || is_in_list(last, OPEN_ENDED) && (wrapped || !is_in_list(last, CLOSING_TOO));
        (open && !self.apart).then_some(RejectReason::MidSentence)
    }
}

/// Whether only the rest of the same paragraph follows.
fn is_last(after: &str) -> bool {
    let rest = trim(head(after, 2000));
    after.len() <= 2000 && !rest.contains("\n\n") && !rest.contains("\n\r\n")
}

/// Whether the line introduces a task: `Task:`, `Now:`.
fn is_lead_in(line: &str) -> bool {
    words(line).nth(3).is_none() && words(line).any(|word| is_in_list(word, LEADING_IN))
}

/// Whether the next line continues a sentence that contains a call alone on its line.
fn continues_sentence(after: &str) -> bool {
    let next = after.strip_prefix('\r').unwrap_or(after).strip_prefix('\n').unwrap_or("");
    is_in_list(leading_word(next), "on in at to for from of with by into again as so")
}

/// Rejects a call if the next line reports what happened after it.
fn reject_if_reported_after(after: &str) -> Option<RejectReason> {
    let after = head(after, 400);
    let next = trim_start(after);
    let gap = &after[..after.len() - next.len()];
    let small = next.starts_with(char::is_lowercase);
    if small && gap.contains('\n') && mention::is_statement_about(next) {
        return Some(RejectReason::Mention);
    }
    let apart = gap.matches('\n').count() > 1;
    let back =
        apart && LOOKING_BACK.iter().any(|words| strip_prefix_ignore_case(next, words).is_some());
    back.then_some(RejectReason::Report)
}

/// The indentation of a line; a tab counts as four spaces.
fn indent(line: &str) -> usize {
    let blank = &line[..line.len() - trim_start(line).len()];
    blank.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// Whether the line is a heading of a report: `Expected:`, `## Steps to reproduce`.
fn is_heading(line: &str) -> bool {
    let marked = line.starts_with(['#', '*', '_']);
    let text = line.trim_start_matches(|c| matches!(c, '#' | '*' | '_') || is_blank(c));
    let text = head(text, 60);
    REPORT_HEADINGS.iter().any(|heading| {
        strip_prefix_ignore_case(text, heading).is_some_and(|rest| {
            let rest = head(rest, 24);
            (marked || rest.trim().is_empty() || rest.contains([':', '：']))
                && !rest.starts_with(char::is_alphanumeric)
        })
    })
}
