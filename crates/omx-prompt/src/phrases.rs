//! Phrases of hosts.md 3 in a line of prose, each with a verdict of its own.

use crate::cancel;
use crate::decision::{CallTarget, CandidateVerdict, RejectReason};
use crate::lexicon::{
    ABOUT, CANCEL_PHRASES, CANCEL_WORDS, EXPLORING, NEGATIONS, PHRASES, Phrase, PhraseKind, THING,
    WONDERING,
};
use crate::mention;
use crate::span::{Spans, may_open};
use crate::text::{
    head, is_blank, is_in_list, is_word_char, leading_word, strip_words, tail, trailing_word, trim,
    words,
};

/// How far a sentence is looked at, to both sides.
const SENTENCE_BYTES: usize = 300;

/// Something found in a line.
#[derive(Clone, Copy, Debug)]
pub enum PhraseMatch {
    /// A phrase for a mode or for cancel.
    Phrase(CallTarget, CandidateVerdict),
    /// The person only wants to think.
    Exploring,
}

/// A bit for each first letter of what is looked for.
const fn first_letters() -> u32 {
    let mut letters = 0;
    let known = b"abcdefhijkmrsuw";
    let mut at = 0;
    while at < known.len() {
        letters |= 1 << (known[at] - b'a');
        at += 1;
    }
    letters
}

fn may_start_phrase(byte: u8) -> bool {
    let small = byte | 0x20;
    small.is_ascii_lowercase() && first_letters() & (1 << (small - b'a')) != 0
}

/// Tells the phrases of a line, at most so many: what, from where, to where.
pub fn for_each_phrase(text: &str, most: usize, mut tell: impl FnMut(PhraseMatch, usize, usize)) {
    let bytes = text.as_bytes();
    let mut spans = Spans::new(text);
    // Up to here the line is code or quoted.
    let mut covered = (0, RejectReason::Quoted);
    let mut at = 0;
    let mut in_word = false;
    let mut told = 0;
    while at < bytes.len() && told < most {
        let byte = bytes[at];
        if may_open(byte) && text.is_char_boundary(at) && !(in_word && byte == b'\'') {
            if at >= covered.0
                && let Ok((kind, end)) = spans.span_at(at)
            {
                covered =
                    (end, if kind.is_code() { RejectReason::Code } else { RejectReason::Quoted });
            }
        } else if !in_word
            && may_start_phrase(byte)
            && let Some((what, end)) = phrase_at(text, at)
        {
            let why = (at < covered.0).then_some(covered.1);
            tell(weigh_phrase(what, text, at, end, why), at, end);
            told += 1;
            at = end;
            in_word = false;
            continue;
        }
        in_word = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        at += 1;
    }
}

/// What was recognised, before it is weighed.
enum MatchedPhrase {
    Mode(&'static Phrase),
    CancelWord,
    CancelPhrase,
    Exploring,
}

fn phrase_at(text: &str, at: usize) -> Option<(MatchedPhrase, usize)> {
    let rest = &text[at..];
    let end = |left: &str| text.len() - left.len();
    let word = leading_word(rest);
    let letter = rest.as_bytes()[0].to_ascii_lowercase();
    // Most words end here: nothing that is looked for begins like them.
    let fits = |first: &str| first.as_bytes()[0] == letter && word.len() + 1 >= first.len();
    let several = |list: &[&[&str]]| {
        let mut list = list.iter().filter(|words| fits(words[0]));
        list.find_map(|words| strip_words(rest, words)).map(end)
    };
    let mut phrases = PHRASES.iter().filter(|phrase| fits(phrase.words[0]));
    let mode = phrases.find_map(|phrase| {
        Some((MatchedPhrase::Mode(phrase), end(strip_words(rest, phrase.words)?)))
    });
    if mode.is_some() {
        return mode;
    }
    if matches!(letter, b'c' | b's') && is_in_list(word, CANCEL_WORDS) {
        return Some((MatchedPhrase::CancelWord, at + word.len()));
    }
    if let Some(end) = several(&CANCEL_PHRASES) {
        return Some((MatchedPhrase::CancelPhrase, end));
    }
    several(&EXPLORING).map(|end| (MatchedPhrase::Exploring, end))
}

fn weigh_phrase(
    what: MatchedPhrase,
    text: &str,
    at: usize,
    end: usize,
    covered: Option<RejectReason>,
) -> PhraseMatch {
    let not = |why| CandidateVerdict::Rejected(why);
    let verdict = |objection: Option<RejectReason>| {
        covered
            .or_else(|| is_code_line(text).then_some(RejectReason::Code))
            .or_else(|| is_joined(text, at, end).then_some(RejectReason::Joined))
            .or(objection)
            .map_or(CandidateVerdict::Accepted, not)
    };
    let sentence = Sentence::around(text, at, end);
    match what {
        MatchedPhrase::Exploring if covered.is_some() => {
            // Nobody said it; nothing hangs on what it is called.
            PhraseMatch::Phrase(CallTarget::Cancel, not(RejectReason::Quoted))
        }
        MatchedPhrase::Exploring => PhraseMatch::Exploring,
        MatchedPhrase::Mode(phrase) => {
            let objection = sentence.reject_reason().or_else(|| match phrase.kind {
                PhraseKind::Name => sentence.is_mention().then_some(RejectReason::Mention),
                PhraseKind::Speech => None,
            });
            PhraseMatch::Phrase(phrase.target, verdict(objection))
        }
        MatchedPhrase::CancelWord => {
            PhraseMatch::Phrase(CallTarget::Cancel, verdict(cancel::reject_cancel_word(&sentence)))
        }
        MatchedPhrase::CancelPhrase => PhraseMatch::Phrase(
            CallTarget::Cancel,
            verdict(cancel::reject_cancel_phrase(&sentence)),
        ),
    }
}

/// A line no person says: it ends like a statement of a program.
fn is_code_line(text: &str) -> bool {
    let line = trim(text);
    line.ends_with([';', '{', '}'])
        || ["=>", "::", "==", "&&", "</", "/>"].iter().any(|sign| head(line, 400).contains(sign))
}

/// Part of a file name, an address, a longer name.
fn is_joined(text: &str, at: usize, end: usize) -> bool {
    let mut before = text[..at].chars().rev();
    let mut after = text[end..].chars();
    let joins_before = match before.next() {
        // A call inside a line: the sign belongs to the name.
        Some('$' | '/') => before.next().is_some_and(|c| !is_blank(c)),
        Some(c) => is_word_char(c) || "-_.\\@#=:~%&+".contains(c),
        None => false,
    };
    joins_before
        || match after.next() {
            Some('.' | ':' | ',') => after.next().is_some_and(is_word_char),
            Some(c) => is_word_char(c) || "-/\\@#=(%&+*".contains(c),
            None => false,
        }
}

/// The sentence around a phrase, as far as it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Sentence<'a> {
    /// From its beginning to the phrase.
    pub before: &'a str,
    /// From the phrase to its end.
    pub after: &'a str,
    /// Whether it ends with a question mark.
    is_question_marked: bool,
}

impl<'a> Sentence<'a> {
    fn around(text: &'a str, at: usize, end: usize) -> Self {
        let before = tail(&text[..at], SENTENCE_BYTES);
        let ends = |c: char| matches!(c, '.' | '!' | '?' | ';' | '。' | '！' | '？' | '\n');
        let start = before
            .char_indices()
            .rev()
            .find(|(place, c)| ends(*c) && before[place + c.len_utf8()..].starts_with(is_blank));
        let before = start.map_or(before, |(place, c)| &before[place + c.len_utf8()..]);
        let after = head(&text[end..], SENTENCE_BYTES);
        let stop = after.char_indices().find(|(place, c)| {
            let rest = &after[place + c.len_utf8()..];
            ends(*c)
                && (rest.is_empty()
                    || rest.starts_with(|c| is_blank(c) || c == '"')
                    || !c.is_ascii())
        });
        let asks = stop.is_some_and(|(_, c)| matches!(c, '?' | '？'));
        let after = stop.map_or(after, |(place, _)| &after[..place]);
        Self { before: trim(before).trim_end_matches(['$', '/']), after, is_question_marked: asks }
    }

    /// Whether it is a question, and not a request in the form of one.
    pub fn is_question(&self) -> bool {
        let mut first = words(self.before);
        let word = first.next().unwrap_or("");
        let wonders = is_in_list(word, WONDERING);
        !mention::is_request(self.before) && (self.is_question_marked || wonders)
    }

    /// Whether one of the last words before the phrase takes it back.
    pub fn is_negated(&self) -> bool {
        last_words(self.before, 4).any(|word| is_in_list(word, NEGATIONS))
    }

    fn reject_reason(&self) -> Option<RejectReason> {
        if self.is_question() {
            return Some(RejectReason::Question);
        }
        self.is_negated().then_some(RejectReason::Negated)
    }

    /// Whether the name in it is talked about.
    pub fn is_mention(&self) -> bool {
        let rest = self.after.trim_start_matches(is_blank);
        // "in ralph mode" says nothing more than "in ralph".
        let rest =
            strip_words(rest, &["mode"]).map_or(rest, |rest| rest.trim_start_matches(is_blank));
        // "autopilot, build": a comma after the name is no sentence about it.
        is_in_list(trailing_word(self.before), ABOUT)
            || mention::is_statement_about(rest)
            || is_in_list(leading_word(rest), THING)
    }
}

/// The last words of a text, from the end.
pub fn last_words(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    (0..count).map_while(move |_| {
        rest = rest.trim_end_matches(|c: char| !is_word_char(c));
        let word = trailing_word(rest);
        rest = &rest[..rest.len() - word.len()];
        (!word.is_empty()).then_some(word)
    })
}
