//! A prompt that addresses a mode by name: `autopilot: build …`, `ralph, fix …`.
//!
//! Mode names are also ordinary words or names of people. An address therefore needs its
//! punctuation, followed by something that can be a task.

use omx_kernel::Mode;

use crate::call::{LeadingCalls, ModeCall, leading_name};
use crate::decision::{CallTarget, RejectReason};
use crate::lexicon::TELLING;
use crate::mention;
use crate::text::{
    head, is_blank, is_in_list, leading_word, strip_prefix_ignore_case, trim, trim_start, words,
};

/// How many bytes of the task are examined.
const LOOK: usize = 600;

/// Parses the address at the start of a prompt: a name followed by a colon or comma.
/// `after` is the text after the line.
pub fn parse_address<'a>(line: &'a str, after: &str) -> Option<LeadingCalls<'a>> {
    let start = trim_start(line);
    let (mut calls, sign) = names(line, start)?;
    let (rest, sign) = match sign.chars().next()? {
        c @ (':' | ',') if sign[1..].chars().next().is_none_or(is_blank) => (&sign[1..], c),
        '：' => (&sign['：'.len_utf8()..], ':'),
        '，' | '、' => (&sign['，'.len_utf8()..], ','),
        _ => return None,
    };
    // Neither cancel nor the short form of ultrawork can be addressed.
    let is_name = |call: &ModeCall<'_>| {
        call.target != CallTarget::Cancel && !call.text.eq_ignore_ascii_case("ulw")
    };
    calls.retain(is_name);
    let first = calls.first()?.target;
    let everyday = is_everyday(first) && !is_plain_order(start, rest, sign);
    let rejection =
        everyday.then_some(RejectReason::Mention).or_else(|| rejection(first, rest, sign, after));
    Some(LeadingCalls { calls, rest, rejection })
}

/// Parses the name or joined names at the start of a line. Returns them with the rest.
fn names<'a>(line: &'a str, start: &'a str) -> Option<(Vec<ModeCall<'a>>, &'a str)> {
    let mut calls = Vec::new();
    let mut rest = start;
    loop {
        let (word, after) = leading_name(rest).or_else(|| spaced_name(rest))?;
        let length = rest.len() - after.len();
        calls.push(ModeCall { target: word, text: &rest[..length], at: line.len() - rest.len() });
        let next = trim_start(after);
        let joint = leading_word(next);
        rest = match next.strip_prefix(['+', '&']) {
            Some(next) if calls.len() < 4 => trim_start(next),
            _ if is_in_list(joint, "and with") && calls.len() < 4 => {
                trim_start(&next[joint.len()..])
            }
            _ => return Some((calls, after)),
        };
    }
}

/// A name written as two words.
fn spaced_name(text: &str) -> Option<(CallTarget, &str)> {
    let rest = strip_prefix_ignore_case(text, "code review")?;
    Some((CallTarget::Mode(Mode::CodeReview), rest))
}

/// Whether the name is also an ordinary word, for which the rules are stricter.
fn is_everyday(word: CallTarget) -> bool {
    matches!(word, CallTarget::Mode(Mode::Team | Mode::Swarm | Mode::Pipeline | Mode::CodeReview))
}

/// Whether a lowercase name and a colon are followed by a lowercase task.
fn is_plain_order(start: &str, rest: &str, sign: char) -> bool {
    let task = trim_start(rest).chars().next();
    let small = |c: char| c.is_lowercase() || c.is_alphabetic() && !c.is_uppercase();
    sign == ':' && start.starts_with(char::is_lowercase) && task.is_some_and(small)
}

/// Why this is not an address, if it is not.
fn rejection(name: CallTarget, rest: &str, sign: char, after: &str) -> Option<RejectReason> {
    let task = trim(head(rest, LOOK));
    let after = after.trim_start_matches(['\r', '\n']);
    let next = trim(head(after, LOOK));
    if task.is_empty() {
        // `pipeline:` above indented keys is a configuration file, not a call.
        let keys = after.starts_with([' ', '\t', '-']) || next.starts_with('-');
        let keys = keys || leading_pair(next);
        return (next.is_empty() || keys || sign == ',').then_some(RejectReason::NoTask);
    }
    if leading_name(task).is_some() {
        return Some(RejectReason::Listed);
    }
    let quoted = task.ends_with(['"', '\'', '”', '»', '`']);
    if mention::ends_with_question_mark(task) && !mention::is_request(task) && !quoted {
        return Some(RejectReason::Question);
    }
    if let Some(why) = mention::reject_reason(task) {
        return Some(why);
    }
    let first = leading_word(task);
    let behind = &task[first.len()..];
    if sign == ',' && is_apposition(task, first, behind) {
        return Some(RejectReason::Mention);
    }
    if is_in_list(first, TELLING) {
        return Some(RejectReason::Question);
    }
    if is_logged(task, first, behind) {
        return Some(RejectReason::Report);
    }
    let plans_how = name == CallTarget::Mode(Mode::Ralplan) && mention::asks_how_to(task);
    if !task.starts_with(is_task_start) || is_in_list(first, NOT_A_TASK) && !plans_how {
        return Some(RejectReason::Mention);
    }
    if is_transcript(next) {
        return Some(RejectReason::Quoted);
    }
    (!is_long_enough(task)).then_some(RejectReason::NoTask)
}

/// Whether the text describes a person: `Ralph, the new one, …`, `Ralph, de l'équipe
/// infra, …`, `Ralph, Ana and Tom …`. A complaint with an instruction after it is a task.
fn is_apposition(task: &str, first: &str, behind: &str) -> bool {
    let listed = behind.starts_with(',') && !is_in_list(first, "please now ok");
    let joined = is_in_list(words(behind).next().unwrap_or(""), "and und et y or");
    let inserted = task.split_once(',').is_some_and(|(inner, _)| {
        is_in_list(first, INSERTED) && words(inner).nth(INSERTION).is_none()
    });
    is_in_list(first, ARTICLES) && !orders_later(task)
        || inserted
        || listed
        || joined && first.starts_with(char::is_uppercase)
}

/// The maximum number of words between two commas of an apposition.
const INSERTION: usize = 7;

const ARTICLES: &str = "the a an one another der die das le la el";

/// First words of an apposition to a person's name.
const INSERTED: &str = "\
    the a an one another of from at in our my your his her their who whose der die das den von vom \
    aus unser unsere mein meine le la les l de du des d notre mon ma chez el los las del nuestro \
    nuestra mi tu da do dos nosso nossa meu minha o os";

/// Whether a later sentence is an instruction.
fn orders_later(task: &str) -> bool {
    let later = task.split(['.', ';', '!']).skip(1);
    later.map(trim).any(|sentence| is_in_list(leading_word(sentence), ORDERS))
}

/// First words of instructions.
const ORDERS: &str = "\
    add build change check clean convert create debug delete extract figure find fix get go \
    implement improve investigate keep make mend migrate move please port reduce refactor remove \
    handle support catch retry ensure allow avoid prevent show log report \
    rename repair replace rewrite run solve sort speed split start stop switch test track turn \
    update upgrade use write";

/// Whether this is a log line: `build failed`, `review verdict missing (exit 1)`.
fn is_logged(task: &str, first: &str, behind: &str) -> bool {
    let line = behind.lines().next().unwrap_or("");
    if line.contains("(exit ") || line.contains("exit code") || line.contains("exit status") {
        return true;
    }
    if !is_in_list(first, ORDERS)
        && ERRORS.iter().any(|error| holds(task.lines().next().unwrap_or(""), error))
    {
        return true;
    }
    let last = words(line).last().unwrap_or("");
    let short = words(line).nth(4).is_none();
    is_in_list(words(behind).next().unwrap_or(""), LOGGED)
        || short && is_in_list(last, LOGGED) && !is_in_list(first, ORDERS)
}

/// Whether a line contains these words, ignoring case.
fn holds(line: &str, wanted: &str) -> bool {
    line.char_indices().any(|(at, _)| strip_prefix_ignore_case(&line[at..], wanted).is_some())
}

/// What programs print when something fails.
const ERRORS: [&str; 16] = [
    "denied",
    "refused",
    "unreachable",
    "unavailable",
    "unable to",
    "could not",
    "cannot ",
    "can't open",
    "not found",
    "invalid option",
    "fault (",
    "core dumped",
    "timed out",
    "failed in ",
    "failed with",
    "failed to ",
];

/// Second words of a log line: `build failed`.
const LOGGED: &str = "failed succeeded passed finished started stopped error missing exited";

/// What a task can begin with.
fn is_task_start(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '"' | '`' | '“' | '@' | '#' | '/' | '.' | '~' | '¡' | '(')
}

/// At least two words; in scripts without spaces, four characters.
fn is_long_enough(task: &str) -> bool {
    words(task).nth(1).is_some() || task.chars().filter(|c| *c > '\u{2e7f}').count() >= 3
}

/// `enabled: true`.
fn leading_pair(text: &str) -> bool {
    let word = leading_word(text);
    !word.is_empty() && text[word.len()..].starts_with(':')
}

/// Whether the following lines look like a conversation, each with a speaker.
fn is_transcript(after: &str) -> bool {
    let lines = after.lines().map(trim).filter(|line| !line.is_empty());
    lines.take(2).filter(|line| leading_pair(line)).count() >= 1
}

/// First words of something said to a person of that name, or about a thing.
const NOT_A_TASK: &str = "\
    iteration phase error warning warn info debug failed done complete completed cancelled started \
    stopped active inactive ready idle status version exit \
    i i'm i've i'll we we're we've he he's she they it it's its this that that's there there's \
    thanks thank thx hi hello hey yes no nope yep yeah ok okay sorry who which whose where when \
    what why how true false null none on off yesterday today tomorrow my our your you you're if \
    because since although but so and as like unlike instead however according good great nice \
    unfortunately ich wir er sie es danke ja nein je il elle nous merci oui yo él ella gracias \
    sí я он она мы спасибо да нет";
