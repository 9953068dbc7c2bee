//! An explicit call: `$name` or `/name`, alone or in a row, where a line begins.

use omx_kernel::Dialect;

use crate::decision::{CallTarget, RejectReason};
use crate::lexicon::{NAMES, OF_BOTH};
use crate::mention;
use crate::text::{is_blank, is_in_list, leading_word, strip_prefix_ignore_case, trim_start};

/// A call found at the start of a line.
#[derive(Clone, Copy, Debug)]
pub struct ModeCall<'a> {
    /// What is called.
    pub target: CallTarget,
    /// The call as typed.
    pub text: &'a str,
    /// Where it begins in the line.
    pub at: usize,
}

/// Most calls one line can have; there are not more names.
pub const MAX_CALLS: usize = 6;

/// The calls a line begins with.
#[derive(Clone, Debug)]
pub struct LeadingCalls<'a> {
    /// The calls, in order.
    pub calls: Vec<ModeCall<'a>>,
    /// The line after them.
    pub rest: &'a str,
    /// Why none of them counts, if so.
    pub rejection: Option<RejectReason>,
}

/// The name a text begins with, and what follows it.
pub fn leading_name(text: &str) -> Option<(CallTarget, &str)> {
    NAMES.iter().find_map(|(name, word)| Some((*word, strip_prefix_ignore_case(text, name)?)))
}

/// A sign and a name, and what follows; nothing is said about its end.
fn signed_name(text: &str) -> Option<(CallTarget, &str)> {
    let inner = text.strip_prefix(['$', '/'])?;
    let mut prefixes = Dialect::ALL.iter().flat_map(|dialect| dialect.call_prefixes);
    let bare = prefixes.find_map(|prefix| strip_prefix_ignore_case(inner, prefix)).unwrap_or(inner);
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
fn parse_call(text: &str) -> Option<(CallTarget, &str)> {
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
    if is_in_list(word, "and with") { trim_start(&rest[word.len()..]) } else { rest }
}

/// The calls this line begins with. None if it begins with no name.
pub fn parse_leading_calls(line: &str) -> Option<LeadingCalls<'_>> {
    let start = trim_start(line);
    let place = |rest: &str| line.len() - rest.len();
    let (first, after_name) = signed_name(start)?;
    let Some(mut rest) = after_end(after_name) else {
        let text = &start[..start.len() - after_name.len()];
        let objection = match after_name.chars().next() {
            Some('?' | '？') => RejectReason::Question,
            _ => RejectReason::Joined,
        };
        let call = ModeCall { target: first, text, at: place(start) };
        return Some(LeadingCalls {
            calls: vec![call],
            rest: after_name,
            rejection: Some(objection),
        });
    };
    let text = &start[..start.len() - after_name.len()];
    let mut calls = vec![ModeCall { target: first, text, at: place(start) }];
    while calls.len() < MAX_CALLS {
        let next = after_joint(rest);
        let Some((word, after)) = parse_call(next) else { break };
        let length = next.len() - after.len();
        calls.push(ModeCall {
            target: word,
            text: next[..length].trim_end_matches([':', ',']),
            at: place(next),
        });
        rest = after;
    }
    let said = calls.len() > 1 && is_in_list(leading_word(trim_start(rest)), OF_BOTH);
    let objection = if said { Some(RejectReason::Mention) } else { mention::reject_reason(rest) };
    Some(LeadingCalls { calls, rest, rejection: objection })
}

/// Every name with a sign before it inside a text, for an explanation: none of
/// them stands where a line begins.
pub fn for_each_inline_call(text: &str, mut found: impl FnMut(CallTarget, usize, usize)) {
    for (at, _) in text.match_indices(['$', '/']) {
        let free = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        if let Some((word, rest)) = signed_name(&text[at..]).filter(|_| free) {
            found(word, at, text.len() - rest.len());
        }
    }
}
