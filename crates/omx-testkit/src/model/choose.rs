//! Which script and which of its turns a request asks for. Everything is read
//! from the request itself, so that resumed, forked and parallel conversations
//! each find their own place.

use std::collections::BTreeMap;

use serde_json::Value;

use super::log::{Kind, codex};
use super::script::Script;
use super::wire::{Voice, Wire};

/// How Codex and Claude Code ask for the summary of a long conversation.
const COMPACTION: [&str; 3] = [
    "context checkpoint compaction",
    "detailed summary of the conversation",
    "detailed summary of this conversation",
];

/// What a test has told the server.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub scripts: BTreeMap<String, Script>,
    /// A phrase in the last user text, in small letters, and the answer to it.
    pub rules: Vec<(String, String)>,
}

/// What a model request is for.
pub(super) fn kind(
    wire: &dyn Wire,
    known: &Known,
    headers: &BTreeMap<String, String>,
    body: &Value,
) -> Kind {
    let history = wire.history(body);
    let said = history.iter().rev().find_map(|voice| match voice {
        Voice::User(text) => Some(text.to_lowercase()),
        _ => None,
    });
    let said = said.unwrap_or_default();
    if let Some((phrase, _)) = known.rules.iter().find(|(phrase, _)| said.contains(phrase)) {
        return Kind::Rule(phrase.clone());
    }
    let codex = codex(headers);
    let asks_for_summary = COMPACTION.iter().any(|phrase| said.contains(phrase));
    if codex["request_kind"] == "compaction" || asks_for_summary {
        return Kind::Compaction;
    }
    let marked = marked(&history);
    let script = marked.as_ref().and_then(|(name, _)| known.scripts.get(name));
    // Codex asks for a title in a thread of its own and quotes the prompt there,
    // mark and all; Claude Code asks without tools.
    let toolless = wire.tools(body).is_empty() && !script.is_some_and(|script| script.toolless);
    if codex["thread_source"] == "thread_title" || toolless {
        return Kind::Side;
    }
    match (marked, script) {
        (Some((name, step)), Some(script)) if script.at(step).is_some() => {
            Kind::Turn { script: name, step }
        }
        (Some((name, step)), Some(_)) => Kind::Stray(format!("script {name} has no turn {step}")),
        (Some((name, _)), None) => Kind::Stray(format!("no script {name}")),
        (None, _) => Kind::Stray("no [[script:NAME]] in what the user said".to_owned()),
    }
}

/// The script named last, and the number of model turns since.
fn marked(history: &[Voice]) -> Option<(String, usize)> {
    let (at, name) = history.iter().enumerate().rev().find_map(|(at, voice)| match voice {
        Voice::User(text) => mark(text).map(|name| (at, name.to_owned())),
        _ => None,
    })?;
    // One answer can be several entries: text, then calls.
    let pairs = history[at..].windows(2);
    let step = pairs.filter(|pair| pair[1] == Voice::Model && pair[0] != Voice::Model).count();
    Some((name, step))
}

/// The name in the last `[[script:NAME]]` of a text.
fn mark(text: &str) -> Option<&str> {
    text.rsplit("[[script:").take(text.matches("[[script:").count()).find_map(|rest| {
        let (name, _) = rest.split_once("]]")?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
        (!name.is_empty() && name.chars().all(plain)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Voice {
        Voice::User(text.to_owned())
    }

    #[test]
    fn the_last_mark_counts() {
        assert_eq!(mark("a [[script:one]] b [[script:two.x-1]] c"), Some("two.x-1"));
        assert_eq!(mark("[[script:one]] [[script:not one]]"), Some("one"));
        assert_eq!(mark("script:one]] [[script:"), None);
        assert_eq!(mark("one]]"), None);
    }

    #[test]
    fn steps_are_model_turns_after_the_mark() {
        use Voice::{Model, Other};
        let at = |history: &[Voice]| marked(history);
        assert_eq!(at(&[user("hi"), Model]), None);
        assert_eq!(at(&[user("[[script:a]]")]), Some(("a".to_owned(), 0)));
        // Text and two calls of one answer, then their results.
        let one = [Other, user("[[script:a]]"), Model, Model, Model, Other, Other];
        assert_eq!(at(&one), Some(("a".to_owned(), 1)));
        // A word of the user without a mark goes on in the same script.
        let on = [user("[[script:a]]"), Model, user("go on"), Model, Other];
        assert_eq!(at(&on), Some(("a".to_owned(), 2)));
        // A new mark starts anew, whatever was before.
        let new = [user("[[script:a]]"), Model, user("[[script:b]]"), Model, Other];
        assert_eq!(at(&new), Some(("b".to_owned(), 1)));
    }
}
