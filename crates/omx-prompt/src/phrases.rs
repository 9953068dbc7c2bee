//! Finds the phrases of hosts.md 3 in a line of prose and gives each a verdict.

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

/// How many bytes of a sentence are examined on each side of a phrase.
const SENTENCE_BYTES: usize = 300;

/// A match in a line.
#[derive(Clone, Copy, Debug)]
pub enum PhraseMatch {
    /// A phrase for a mode or for cancel.
    Phrase(CallTarget, CandidateVerdict),
    /// The person only wants to explore.
    Exploring,
}

/// The first letters of all phrases, one bit each.
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

/// Calls `tell` with each phrase of a line, its start and its end, at most `most` times.
pub fn for_each_phrase(text: &str, most: usize, mut tell: impl FnMut(PhraseMatch, usize, usize)) {
    let bytes = text.as_bytes();
    let mut spans = Spans::new(text);
    // The end of the current span of code or quotation.
    let mut covered = (0, RejectReason::Quoted);
    let mut at = 0;
    let mut in_word = false;
    let mut reported = 0;
    while at < bytes.len() && reported < most {
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
            reported += 1;
            at = end;
            in_word = false;
            continue;
        }
        in_word = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        at += 1;
    }
}

/// A phrase before it is weighed.
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
    // Rules out most words: no phrase starts like them.
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
    let verdict = |rejection: Option<RejectReason>| {
        covered
            .or_else(|| is_code_line(text).then_some(RejectReason::Code))
            .or_else(|| is_joined(text, at, end).then_some(RejectReason::Joined))
            .or(rejection)
            .map_or(CandidateVerdict::Accepted, not)
    };
    let sentence = Sentence::around(text, at, end);
    match what {
        MatchedPhrase::Exploring if covered.is_some() => {
            // A quotation is rejected anyway, so the target does not matter.
            PhraseMatch::Phrase(CallTarget::Cancel, not(RejectReason::Quoted))
        }
        MatchedPhrase::Exploring => PhraseMatch::Exploring,
        MatchedPhrase::Mode(phrase) => {
            let rejection = sentence.reject_reason().or_else(|| match phrase.kind {
                PhraseKind::Name => sentence.is_mention().then_some(RejectReason::Mention),
                PhraseKind::Speech => None,
            });
            PhraseMatch::Phrase(phrase.target, verdict(rejection))
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

/// Whether the line looks like program code.
fn is_code_line(text: &str) -> bool {
    let line = trim(text);
    line.ends_with([';', '{', '}'])
        || ["=>", "::", "==", "&&", "</", "/>"].iter().any(|sign| head(line, 400).contains(sign))
}

/// Whether the phrase is part of a file name, a URL or a longer name.
fn is_joined(text: &str, at: usize, end: usize) -> bool {
    let mut before = text[..at].chars().rev();
    let mut after = text[end..].chars();
    let joins_before = match before.next() {
        // In a call inside a line the sign belongs to the name.
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

/// The examined part of the sentence around a phrase.
#[derive(Clone, Copy, Debug)]
pub struct Sentence<'a> {
    /// The text from its start to the phrase.
    pub before: &'a str,
    /// The text from the phrase to its end.
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

    /// Whether the sentence is a question and not a request in the form of one.
    pub fn is_question(&self) -> bool {
        let mut first = words(self.before);
        let word = first.next().unwrap_or("");
        let wonders = is_in_list(word, WONDERING);
        !mention::is_request(self.before) && (self.is_question_marked || wonders)
    }

    /// Whether one of the last words before the phrase negates it.
    pub fn is_negated(&self) -> bool {
        last_words(self.before, 4).any(|word| is_in_list(word, NEGATIONS))
    }

    fn reject_reason(&self) -> Option<RejectReason> {
        if self.is_question() {
            return Some(RejectReason::Question);
        }
        self.is_negated().then_some(RejectReason::Negated)
    }

    /// Whether the sentence talks about the name.
    pub fn is_mention(&self) -> bool {
        let rest = self.after.trim_start_matches(is_blank);
        // "in ralph mode" means the same as "in ralph".
        let rest =
            strip_words(rest, &["mode"]).map_or(rest, |rest| rest.trim_start_matches(is_blank));
        // A comma after the name ("autopilot, build") does not continue a statement.
        is_in_list(trailing_word(self.before), ABOUT)
            || mention::is_statement_about(rest)
            || is_in_list(leading_word(rest), THING)
    }
}

/// Returns the last words of a text, the last one first.
pub fn last_words(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    (0..count).map_while(move |_| {
        rest = rest.trim_end_matches(|c: char| !is_word_char(c));
        let word = trailing_word(rest);
        rest = &rest[..rest.len() - word.len()];
        (!word.is_empty()).then_some(word)
    })
}
