//! Phrases of hosts.md 3 in a line of prose, each with a verdict of its own.

use crate::cancel;
use crate::decision::{Verdict, Why, Word};
use crate::inline::{Spans, may_open};
use crate::talk;
use crate::text::{
    after_words, among, head, is_blank, is_letter, leading_word, tail, trailing_word, trim, words,
};
use crate::words::{
    ABOUT, CANCEL_PHRASES, CANCEL_WORDS, EXPLORING, NEGATIONS, PHRASES, Phrase, PhraseKind, THING,
    WONDERING,
};

/// How far a sentence is looked at, to both sides.
const REACH: usize = 300;

/// Something found in a line.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A phrase for a mode or for cancel.
    Phrase(Word, Verdict),
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

fn may_begin(byte: u8) -> bool {
    let small = byte | 0x20;
    small.is_ascii_lowercase() && first_letters() & (1 << (small - b'a')) != 0
}

/// Tells the phrases of a line, at most so many: what, from where, to where.
pub fn each(text: &str, most: usize, mut tell: impl FnMut(Found, usize, usize)) {
    let bytes = text.as_bytes();
    let mut spans = Spans::of(text);
    // Up to here the line is code or quoted.
    let mut covered = (0, Why::Quoted);
    let mut at = 0;
    let mut in_word = false;
    let mut told = 0;
    while at < bytes.len() && told < most {
        let byte = bytes[at];
        if may_open(byte) && text.is_char_boundary(at) && !(in_word && byte == b'\'') {
            if at >= covered.0
                && let Ok((kind, end)) = spans.at(at)
            {
                covered = (end, if kind.is_code() { Why::Code } else { Why::Quoted });
            }
        } else if !in_word
            && may_begin(byte)
            && let Some((what, end)) = phrase_at(text, at)
        {
            let why = (at < covered.0).then_some(covered.1);
            tell(found(what, text, at, end, why), at, end);
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
enum What {
    Mode(&'static Phrase),
    CancelWord,
    CancelPhrase,
    Exploring,
}

fn phrase_at(text: &str, at: usize) -> Option<(What, usize)> {
    let rest = &text[at..];
    let end = |left: &str| text.len() - left.len();
    let word = leading_word(rest);
    let letter = rest.as_bytes()[0].to_ascii_lowercase();
    // Most words end here: nothing that is looked for begins like them.
    let fits = |first: &str| first.as_bytes()[0] == letter && word.len() + 1 >= first.len();
    let several = |list: &[&[&str]]| {
        let mut list = list.iter().filter(|words| fits(words[0]));
        list.find_map(|words| after_words(rest, words)).map(end)
    };
    let mut phrases = PHRASES.iter().filter(|phrase| fits(phrase.words[0]));
    let mode = phrases
        .find_map(|phrase| Some((What::Mode(phrase), end(after_words(rest, phrase.words)?))));
    if mode.is_some() {
        return mode;
    }
    if matches!(letter, b'c' | b's') && among(word, CANCEL_WORDS) {
        return Some((What::CancelWord, at + word.len()));
    }
    if let Some(end) = several(&CANCEL_PHRASES) {
        return Some((What::CancelPhrase, end));
    }
    several(&EXPLORING).map(|end| (What::Exploring, end))
}

fn found(what: What, text: &str, at: usize, end: usize, covered: Option<Why>) -> Found {
    let not = |why| Verdict::Not(why);
    let verdict = |objection: Option<Why>| {
        covered
            .or_else(|| is_code_line(text).then_some(Why::Code))
            .or_else(|| is_joined(text, at, end).then_some(Why::Joined))
            .or(objection)
            .map_or(Verdict::Counts, not)
    };
    let sentence = Sentence::around(text, at, end);
    match what {
        What::Exploring if covered.is_some() => {
            // Nobody said it; nothing hangs on what it is called.
            Found::Phrase(Word::Cancel, not(Why::Quoted))
        }
        What::Exploring => Found::Exploring,
        What::Mode(phrase) => {
            let objection = sentence.objection().or_else(|| match phrase.kind {
                PhraseKind::Name => sentence.is_about().then_some(Why::Mention),
                PhraseKind::Speech => None,
            });
            Found::Phrase(phrase.word, verdict(objection))
        }
        What::CancelWord => Found::Phrase(Word::Cancel, verdict(cancel::word(&sentence))),
        What::CancelPhrase => Found::Phrase(Word::Cancel, verdict(cancel::phrase(&sentence))),
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
        Some(c) => is_letter(c) || "-_.\\@#=:~%&+".contains(c),
        None => false,
    };
    joins_before
        || match after.next() {
            Some('.' | ':' | ',') => after.next().is_some_and(is_letter),
            Some(c) => is_letter(c) || "-/\\@#=(%&+*".contains(c),
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
    asks: bool,
}

impl<'a> Sentence<'a> {
    fn around(text: &'a str, at: usize, end: usize) -> Self {
        let before = tail(&text[..at], REACH);
        let ends = |c: char| matches!(c, '.' | '!' | '?' | ';' | '。' | '！' | '？' | '\n');
        let start = before
            .char_indices()
            .rev()
            .find(|(place, c)| ends(*c) && before[place + c.len_utf8()..].starts_with(is_blank));
        let before = start.map_or(before, |(place, c)| &before[place + c.len_utf8()..]);
        let after = head(&text[end..], REACH);
        let stop = after.char_indices().find(|(place, c)| {
            let rest = &after[place + c.len_utf8()..];
            ends(*c)
                && (rest.is_empty()
                    || rest.starts_with(|c| is_blank(c) || c == '"')
                    || !c.is_ascii())
        });
        let asks = stop.is_some_and(|(_, c)| matches!(c, '?' | '？'));
        let after = stop.map_or(after, |(place, _)| &after[..place]);
        Self { before: trim(before).trim_end_matches(['$', '/']), after, asks }
    }

    /// Whether it is a question, and not a request in the form of one.
    pub fn is_question(&self) -> bool {
        let mut first = words(self.before);
        let word = first.next().unwrap_or("");
        let wonders = among(word, WONDERING);
        !talk::is_request(self.before) && (self.asks || wonders)
    }

    /// Whether one of the last words before the phrase takes it back.
    pub fn is_negated(&self) -> bool {
        last_words(self.before, 4).any(|word| among(word, NEGATIONS))
    }

    fn objection(&self) -> Option<Why> {
        if self.is_question() {
            return Some(Why::Question);
        }
        self.is_negated().then_some(Why::Negated)
    }

    /// Whether the name in it is talked about.
    pub fn is_about(&self) -> bool {
        let rest = self.after.trim_start_matches(is_blank);
        // "in ralph mode" says nothing more than "in ralph".
        let rest =
            after_words(rest, &["mode"]).map_or(rest, |rest| rest.trim_start_matches(is_blank));
        // "autopilot, build": a comma after the name is no sentence about it.
        among(trailing_word(self.before), ABOUT)
            || talk::says(rest)
            || among(leading_word(rest), THING)
    }
}

/// The last words of a text, from the end.
pub fn last_words(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    (0..count).map_while(move |_| {
        rest = rest.trim_end_matches(|c: char| !is_letter(c));
        let word = trailing_word(rest);
        rest = &rest[..rest.len() - word.len()];
        (!word.is_empty()).then_some(word)
    })
}
