//! Mentions of a mode: the text after a name shows whether the person calls the mode, or
//! makes a statement or asks a question about it.

use crate::decision::RejectReason;
use crate::lexicon::{
    ADVERBS, ASKING, HANGUL_PARTICLES, ITSELF, KANA_PARTICLES, NAMED_THINGS, NO_LONGER,
    REQUEST_SCRIPTS, REQUESTS, SUBJECT_OF, SUBJECT_SCRIPTS, TASK_PLACES, TELLING, WONDERING,
};
use crate::problem_report;
use crate::text::{eq_word, head, is_blank, is_in_list, leading_word, trim, words};

/// How many bytes after the name are examined.
const LOOK: usize = 600;

/// The most words of a question about the mode itself.
const SHORT: usize = 5;

/// Why the text after an explicit call makes it a mention, if it does.
pub fn reject_reason(rest: &str) -> Option<RejectReason> {
    let rest = trim(head(rest, LOOK));
    let first = rest.chars().next()?;
    if is_operator(rest) || is_placeholder(rest) {
        return Some(RejectReason::Mention);
    }
    if let Some(told) =
        rest.strip_prefix(['-', '–', '—']).filter(|reported| reported.starts_with(is_blank))
    {
        return is_explanation(trim(told)).then_some(RejectReason::Mention);
    }
    if first == '?' || first == '？' {
        return Some(RejectReason::Question);
    }
    if problem_report::is_problem_report(rest) {
        return Some(RejectReason::Report);
    }
    if is_statement_about(rest) {
        return Some(if ends_with_question_mark(rest) {
            RejectReason::Question
        } else {
            RejectReason::Mention
        });
    }
    asks_about_it(rest).then_some(RejectReason::Question)
}

/// Whether the text starts with a sign that separates a name from its explanation, or
/// that makes it code.
fn is_operator(rest: &str) -> bool {
    let sign = rest.split(is_blank).next().unwrap_or("");
    let next = rest.chars().next();
    matches!(
        sign,
        "--" | "="
            | "=="
            | "==="
            | "!="
            | "+="
            | "-="
            | "->"
            | "=>"
            | "→"
            | "|"
            | "||"
            | "&&"
            | ">"
            | "<"
            | ">>"
            | "??"
            | "?:"
            | "."
            | ";"
            | "*"
            | "/"
            | "%"
            | "⇒"
    ) || matches!(next, Some(')' | ']' | '}' | '=' | ';' | '→' | '、' | '。' | '”' | '»'))
}

/// Whether the text after a dash explains the name before it.
fn is_explanation(told: &str) -> bool {
    let first = leading_word(told);
    is_statement_about(told) || is_third_person(first) || is_in_list(first, "a an the")
}

/// Whether the text is a placeholder of a task: `<task>`, `[options]`, `…`.
fn is_placeholder(rest: &str) -> bool {
    if rest.chars().all(|c| matches!(c, '.' | '…' | ' ')) {
        return true;
    }
    if TASK_PLACES.contains(&leading_word(rest)) {
        return true;
    }
    [('<', '>'), ('[', ']'), ('{', '}')].into_iter().any(|(open, close)| {
        let inner = rest.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inner.is_some_and(|inner| !inner.contains('/') || inner.len() < 12)
    })
}

/// Whether the text continues a statement about the name before it.
pub fn is_statement_about(rest: &str) -> bool {
    if is_statement_without_spaces(rest) {
        return true;
    }
    let mut all = words(rest);
    let Some(mut word) = all.next() else { return false };
    if !rest.starts_with(word) {
        return false;
    }
    let mut second = all.next();
    let adverb = is_in_list(word, ADVERBS);
    if adverb {
        let Some(next) = second else { return false };
        word = next;
        second = all.next();
    }
    if is_inverted_question(word, second, rest) {
        return false;
    }
    if eq_word(word, "no") {
        return second.is_some_and(|next| is_in_list(next, NO_LONGER));
    }
    if eq_word(word, "can")
        || eq_word(word, "could")
        || eq_word(word, "would")
        || eq_word(word, "will")
    {
        // "can you …" is a polite request.
        return !second.is_some_and(|next| eq_word(next, "you"));
    }
    if is_in_list(word, NAMED_THINGS) {
        return second.is_none_or(|next| is_in_list(next, SUBJECT_OF) || is_past(next));
    }
    is_in_list(word, SUBJECT_OF) || is_past(word) || (adverb && is_third_person(word))
}

/// Whether this is a question like `is this …?` or `does the parser …?`, whose subject
/// comes after the verb and so is not the name before it.
fn is_inverted_question(verb: &str, subject: Option<&str>, rest: &str) -> bool {
    let Some(subject) = subject.filter(|_| ends_with_question_mark(rest)) else { return false };
    let joins = is_in_list(verb, "is are was were isn't aren't wasn't has had hasn't");
    let free = is_in_list(subject, "this that these those we there i our my they it you");
    is_in_list(verb, ASKING) && (free || !joins && is_in_list(subject, "the a an all any every"))
}

/// Whether the word looks like a verb in the past tense.
fn is_past(word: &str) -> bool {
    let not = "need feed seed speed embed shed red bed exceed proceed succeed bleed breed heed \
        weed unused deprecated outdated detailed advanced automated shared typed nested related failed";
    let plain = word.len() > 4 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    plain && word.ends_with("ed") && !is_in_list(word, not)
}

fn is_third_person(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && word.is_ascii()
}

/// Like [`is_statement_about`], for scripts without spaces between words.
fn is_statement_without_spaces(rest: &str) -> bool {
    if SUBJECT_SCRIPTS.iter().any(|start| rest.starts_with(start)) {
        return true;
    }
    let mut chars = rest.chars();
    let first = chars.next();
    if first.is_some_and(|c| KANA_PARTICLES.contains(&c)) {
        return !chars.next().is_some_and(|c| ('\u{3041}'..='\u{309f}').contains(&c));
    }
    is_in_list(leading_word(rest), HANGUL_PARTICLES)
}

/// Whether the text ends with a question mark.
pub fn ends_with_question_mark(text: &str) -> bool {
    let end = trim(text).trim_end_matches(['!', ')', '"', '”', '\'']);
    end.ends_with(['?', '？', '؟'])
}

/// Whether the text is a request in the form of a question.
pub fn is_request(text: &str) -> bool {
    let mut all = words(text);
    let first = all.next().unwrap_or("");
    if is_in_list(first, "can could would will") {
        return all.next().is_some_and(|word| eq_word(word, "you"))
            && !all.next().is_some_and(|word| is_in_list(word, TELLING));
    }
    is_in_list(first, REQUESTS) || REQUEST_SCRIPTS.iter().any(|start| text.starts_with(start))
}

/// Whether the text asks how to do something, which is a task for planning.
pub fn asks_how_to(text: &str) -> bool {
    let mut all = words(text);
    let way = eq_word(all.next().unwrap_or(""), "how")
        && is_in_list(all.next().unwrap_or(""), "to do should can could");
    way && words(text).nth(SHORT).is_some()
        && !words(text).any(|word| is_in_list(word, "it this that you"))
}

/// Whether the text is a question about the mode before it.
fn asks_about_it(rest: &str) -> bool {
    if !ends_with_question_mark(rest) || is_request(rest) {
        return false;
    }
    let itself = if is_in_list(leading_word(rest), WONDERING) { ITSELF } else { "it you" };
    let one_sentence = !rest[..rest.len() - 1].contains(['.', '!', '?', '\n']);
    one_sentence
        && is_in_list(leading_word(rest), ASKING)
        && words(rest).nth(SHORT).is_none()
        && words(rest).skip(1).any(|word| is_in_list(word, itself))
}
