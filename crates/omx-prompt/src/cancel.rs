//! Words that cancel. They act immediately, so the person must address them to omx rather
//! than talk about them.

use crate::call::leading_name;
use crate::decision::{CallTarget, CancelReach, RejectReason};
use crate::lexicon::{ABOUT, THING};
use crate::mention;
use crate::phrases::{Sentence, last_words};
use crate::text::{is_blank, is_in_list, leading_word, words};

/// Words that may come before "cancel the run" in its clause.
const FILLERS: &str = "\
    please pls ok okay now just hey no wait stop enough and then so you can could would let's i \
    want to need hm hmm sorry actually alright well yes oh immediately quickly i'd like";

/// Words that may come after it.
const AFTER: &str = "now please pls immediately and right thanks thank because i then asap again completely entirely already";

/// Words that show that the person talks about a cancel word.
const TALK: &str = "\
    type typed typing say says said saying word words keyword keywords called named when if \
    whether after until unless the a an support supports handle handles implement document \
    rename like with via using use used tried test tests mention enter entered wrote write \
    between or that about send sent sends";

/// Parses what a cancel ends from the text after its word: a flag, `all`, `everything`, or
/// the name of a mode.
pub fn parse_reach(rest: &str) -> CancelReach {
    let mut parts = rest.split(is_blank).filter(|part| !part.is_empty()).peekable();
    if parts.peek().is_some_and(|part| part.eq_ignore_ascii_case("--mode")) {
        parts.next();
    }
    let Some(first) = parts.next() else { return CancelReach::Session };
    if let Some(reach) = flag(first) {
        return reach;
    }
    let ends_sentence = first.ends_with(['.', '!', ',', ';']);
    let word = first.trim_end_matches(['.', '!', ',', ';']);
    let is_last = ends_sentence
        || parts.all(|part| is_in_list(part.trim_end_matches(['.', '!', ',']), AROUND_ALL));
    if is_last && is_in_list(word, "all everything") {
        return CancelReach::EverySession;
    }
    match leading_name(word) {
        Some((CallTarget::Mode(mode), "")) if is_last => CancelReach::Mode(mode),
        _ => CancelReach::Session,
    }
}

/// Words that may stand around "all".
const AROUND_ALL: &str = "please pls now omx omc modes mode runs run sessions session immediately";

/// The reach that a flag at the start of a text names. Editors turn two hyphens into a dash.
fn flag(text: &str) -> Option<CancelReach> {
    let word = text.split(is_blank).next().unwrap_or_default();
    let name = ["--", "—", "–"].iter().find_map(|dash| word.strip_prefix(dash))?;
    match name.trim_end_matches(['.', '!', ',', ';']) {
        "force" | "all" => Some(CancelReach::Force),
        "every-session" => Some(CancelReach::EverySession),
        _ => None,
    }
}

/// Why a coined word (`cancelomx`) does not cancel, if it does not.
pub fn reject_cancel_word(sentence: &Sentence<'_>) -> Option<RejectReason> {
    if sentence.is_question() {
        return Some(RejectReason::Question);
    }
    let clause = clause(sentence.before);
    if is_refused(clause) {
        return Some(RejectReason::Negated);
    }
    let rest = sentence.after.trim_start_matches(is_blank);
    // "Answer: cancelomx, or …" is a definition; "ok: cancelomx" is a command.
    let label = clause.rsplit_once([':', '：']).map_or("", |(label, _)| label);
    let further = rest.trim_start_matches(|c| c == ',' || is_blank(c));
    let about = words(label).any(|word| !is_in_list(word, FILLERS))
        || is_in_list(leading_word(further), "and or")
        || last_words(clause, 8).any(|word| is_in_list(word, TALK) || is_in_list(word, ABOUT))
        || words(clause).nth(6).is_some()
        || mention::is_statement_about(rest)
        || rest.starts_with(['=', '-', '—', '–', '→', '|', ')', ']']) && flag(rest).is_none()
        || is_in_list(leading_word(rest), THING);
    about.then_some(RejectReason::Mention)
}

/// Why a phrase like "cancel the run" does not cancel, if it does not.
pub fn reject_cancel_phrase(sentence: &Sentence<'_>) -> Option<RejectReason> {
    if sentence.is_question() {
        return Some(RejectReason::Question);
    }
    let clause = clause(sentence.before);
    if is_refused(clause) {
        return Some(RejectReason::Negated);
    }
    let led = words(clause).take(9).all(|word| is_in_list(word, FILLERS))
        && words(clause).nth(8).is_none()
        && !clause.contains(|c: char| !c.is_alphanumeric() && !is_blank(c) && !"'’:".contains(c));
    let rest = sentence.after.trim_start_matches(is_blank);
    let next = leading_word(rest);
    let ended = rest.is_empty() || rest.starts_with([',', '.', '!', ';', '…', '-', '–', '—', ')']);
    (!led || !(ended || is_in_list(next, AFTER))).then_some(RejectReason::Mention)
}

fn is_refused(clause: &str) -> bool {
    let not = "not don't never doesn't didn't won't can't cannot without";
    last_words(clause, 6).any(|word| is_in_list(word, not))
}

/// Returns the part of a sentence after its last comma or dash.
fn clause(before: &str) -> &str {
    let cut = before.rfind([',', '—', '–', '，', '、']);
    let cut = cut.map(|at| at + before[at..].chars().next().map_or(0, char::len_utf8));
    cut.map_or(before, |at| &before[at..])
}

#[cfg(test)]
mod tests {
    use omx_kernel::Mode;

    use super::*;

    #[test]
    fn modes_5_3a_the_text_after_a_cancel_word_says_how_far_it_reaches() {
        for (rest, reach) in [
            ("", CancelReach::Session),
            (" please", CancelReach::Session),
            (" and explain all of it", CancelReach::Session),
            (" --force", CancelReach::Force),
            (" --all", CancelReach::Force),
            (" —all", CancelReach::Force),
            (" --force --all", CancelReach::Force),
            (" --every-session", CancelReach::EverySession),
            (" all", CancelReach::EverySession),
            (" everything, please", CancelReach::EverySession),
            (" all runs now", CancelReach::EverySession),
            (" all tests that are slow", CancelReach::Session),
            (" ralph", CancelReach::Mode(Mode::Ralph)),
            (" --mode ultraqa", CancelReach::Mode(Mode::Ultraqa)),
            (" ralphs", CancelReach::Session),
            (" --forced", CancelReach::Session),
        ] {
            assert_eq!(parse_reach(rest), reach, "{rest:?}");
        }
    }
}
