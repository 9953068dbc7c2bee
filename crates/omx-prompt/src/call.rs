//! Explicit calls: `$name` or `/name`, alone or several together, at the start of a line.

use omx_kernel::Dialect;

use crate::decision::{CallTarget, RejectReason};
use crate::lexicon::{NAMES, OF_BOTH};
use crate::mention;
use crate::text::{is_blank, is_in_list, leading_word, strip_prefix_ignore_case, trim_start};

/// A call at the start of a line.
#[derive(Clone, Copy, Debug)]
pub struct ModeCall<'a> {
    /// What it calls.
    pub target: CallTarget,
    /// The call as typed.
    pub text: &'a str,
    /// Its byte offset in the line.
    pub at: usize,
}

/// The most calls that are parsed in one line.
pub const MAX_CALLS: usize = 6;

/// The calls at the start of a line.
#[derive(Clone, Debug)]
pub struct LeadingCalls<'a> {
    /// The calls, in order.
    pub calls: Vec<ModeCall<'a>>,
    /// The rest of the line.
    pub rest: &'a str,
    /// Why they are rejected, if they are.
    pub rejection: Option<RejectReason>,
}

/// Parses the name at the start of a text. Returns it with the rest.
pub fn leading_name(text: &str) -> Option<(CallTarget, &str)> {
    NAMES.iter().find_map(|(name, word)| Some((*word, strip_prefix_ignore_case(text, name)?)))
}

/// Parses a sign and a name, which may continue as a longer word. Returns the name with
/// the rest.
fn signed_name(text: &str) -> Option<(CallTarget, &str)> {
    let inner = text.strip_prefix(['$', '/'])?;
    let mut prefixes = Dialect::ALL.iter().flat_map(|dialect| dialect.call_prefixes);
    let bare = prefixes.find_map(|prefix| strip_prefix_ignore_case(inner, prefix)).unwrap_or(inner);
    leading_name(bare)
}

/// Returns the rest without the punctuation that ends a call, if a call can end here.
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

/// Parses the call at the start of a text. Returns it with the rest.
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

/// Parses the calls at the start of a line. `None` if it does not start with a name.
pub fn parse_leading_calls(line: &str) -> Option<LeadingCalls<'_>> {
    let start = trim_start(line);
    let place = |rest: &str| line.len() - rest.len();
    let (first, after_name) = signed_name(start)?;
    let Some(mut rest) = after_end(after_name) else {
        let text = &start[..start.len() - after_name.len()];
        let rejection = match after_name.chars().next() {
            Some('?' | '？') => RejectReason::Question,
            _ => RejectReason::Joined,
        };
        let call = ModeCall { target: first, text, at: place(start) };
        return Some(LeadingCalls {
            calls: vec![call],
            rest: after_name,
            rejection: Some(rejection),
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
    let message = calls.len() > 1 && is_in_list(leading_word(trim_start(rest)), OF_BOTH);
    let rejection =
        if message { Some(RejectReason::Mention) } else { mention::reject_reason(rest) };
    Some(LeadingCalls { calls, rest, rejection })
}

/// Finds every signed name inside a text, for an explanation: none of them is at the start
/// of a line.
pub fn for_each_inline_call(text: &str, mut found: impl FnMut(CallTarget, usize, usize)) {
    for (at, _) in text.match_indices(['$', '/']) {
        let free = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        if let Some((word, rest)) = signed_name(&text[at..]).filter(|_| free) {
            found(word, at, text.len() - rest.len());
        }
    }
}
