//! An explicit call: `$name` or `/name`, alone or in a row, where a line begins.

use omx_kernel::Dialect;

use crate::decision::{Why, Word};
use crate::talk;
use crate::text::{after_prefix, among, is_blank, leading_word, trim_start};
use crate::words::{NAMES, OF_BOTH};

/// A call found at the start of a line.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is called.
    pub word: Word,
    /// The call as typed.
    pub text: &'a str,
    /// Where it begins in the line.
    pub at: usize,
}

/// Most calls one line can have; there are not more names.
pub const MOST: usize = 6;

/// The calls a line begins with.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The calls, in order.
    pub calls: Vec<Call<'a>>,
    /// The line after them.
    pub rest: &'a str,
    /// Why none of them counts, if so.
    pub objection: Option<Why>,
}

/// The name a text begins with, and what follows it.
pub fn leading_name(text: &str) -> Option<(Word, &str)> {
    NAMES.iter().find_map(|(name, word)| Some((*word, after_prefix(text, name)?)))
}

/// A sign and a name, and what follows; nothing is said about its end.
fn signed_name(text: &str) -> Option<(Word, &str)> {
    let inner = text.strip_prefix(['$', '/'])?;
    let mut prefixes = Dialect::ALL.iter().flat_map(|dialect| dialect.call_prefixes);
    let bare = prefixes.find_map(|prefix| after_prefix(inner, prefix)).unwrap_or(inner);
    leading_name(bare)
}

/// Whether a call can end before this; what belongs to its end is taken off.
fn after_end(rest: &str) -> Option<&str> {
    let Some(next) = rest.chars().next() else { return Some(rest) };
    if is_blank(next) {
        return Some(rest);
    }
    let inner = &rest[next.len_utf8()..];
    match next {
        '：' | '，' => Some(inner),
        ':' | ',' | '!' if inner.chars().next().is_none_or(is_blank) => Some(inner),
        _ => None,
    }
}

/// The call this text begins with.
fn one(text: &str) -> Option<(Word, &str)> {
    let (word, rest) = signed_name(text)?;
    Some((word, after_end(rest)?))
}

/// Skips what joins two calls: `+`, `&`, `,`, `and`, `with`.
fn after_joint(rest: &str) -> &str {
    let rest = trim_start(rest);
    if let Some(rest) = rest.strip_prefix(['+', '&', ',']) {
        return trim_start(rest);
    }
    let word = leading_word(rest);
    if among(word, "and with") { trim_start(&rest[word.len()..]) } else { rest }
}

/// The calls this line begins with. None if it begins with no name.
pub fn row(line: &str) -> Option<Row<'_>> {
    let start = trim_start(line);
    let place = |rest: &str| line.len() - rest.len();
    let (first, after_name) = signed_name(start)?;
    let Some(mut rest) = after_end(after_name) else {
        let text = &start[..start.len() - after_name.len()];
        let objection = match after_name.chars().next() {
            Some('?' | '？') => Why::Question,
            _ => Why::Joined,
        };
        let call = Call { word: first, text, at: place(start) };
        return Some(Row { calls: vec![call], rest: after_name, objection: Some(objection) });
    };
    let text = &start[..start.len() - after_name.len()];
    let mut calls = vec![Call { word: first, text, at: place(start) }];
    while calls.len() < MOST {
        let next = after_joint(rest);
        let Some((word, after)) = one(next) else { break };
        let length = next.len() - after.len();
        calls.push(Call {
            word,
            text: next[..length].trim_end_matches([':', ',']),
            at: place(next),
        });
        rest = after;
    }
    let said = calls.len() > 1 && among(leading_word(trim_start(rest)), OF_BOTH);
    let objection = if said { Some(Why::Mention) } else { talk::about(rest) };
    Some(Row { calls, rest, objection })
}

/// Every name with a sign before it inside a text, for an explanation: none of
/// them stands where a line begins.
pub fn inside(text: &str, mut found: impl FnMut(Word, usize, usize)) {
    for (at, _) in text.match_indices(['$', '/']) {
        let free = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        if let Some((word, rest)) = signed_name(&text[at..]).filter(|_| free) {
            found(word, at, text.len() - rest.len());
        }
    }
}
