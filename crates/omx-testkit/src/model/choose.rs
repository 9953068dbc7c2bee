//! Which script and which of its turns a request asks for. Everything is read
//! from the request itself, so that resumed, forked and parallel conversations
//! each find their own place.

use std::collections::BTreeMap;

use serde_json::Value;

use super::log::{ModelRequestKind, codex};
use super::script::ModelScript;
use super::wire::{HistoryEntry, WireFormat};

/// How Codex and Claude Code ask for the summary of a long conversation.
const COMPACTION: [&str; 3] = [
    "context checkpoint compaction",
    "detailed summary of the conversation",
    "detailed summary of this conversation",
];

/// The test's configuration of the server.
#[derive(Debug, Default)]
pub(super) struct ModelConfig {
    pub scripts: BTreeMap<String, ModelScript>,
    /// A phrase in the last user text, in small letters, and the answer to it.
    pub rules: Vec<(String, String)>,
}

impl ModelConfig {
    /// The script a prompt selects: by a mark, or by its phrases.
    fn meant(&self, text: &str) -> Option<String> {
        let by_words = || {
            let fitting = self.scripts.values().filter(|script| script.fits(text));
            fitting.max_by_key(|script| script.phrases.len()).map(|script| script.name.clone())
        };
        mark(text).map(str::to_owned).or_else(by_words)
    }
}

/// What a model request is for.
pub(super) fn kind(
    wire: &dyn WireFormat,
    known: &ModelConfig,
    headers: &BTreeMap<String, String>,
    body: &Value,
) -> ModelRequestKind {
    let history = wire.history(body);
    let text_seen = history.iter().rev().find_map(|voice| match voice {
        HistoryEntry::User(text) => Some(text.to_lowercase()),
        _ => None,
    });
    let text_seen = text_seen.unwrap_or_default();
    if let Some((phrase, _)) = known.rules.iter().find(|(phrase, _)| text_seen.contains(phrase)) {
        return ModelRequestKind::Rule(phrase.clone());
    }
    let codex = codex(headers);
    let asks_for_summary = COMPACTION.iter().any(|phrase| text_seen.contains(phrase));
    if codex["request_kind"] == "compaction" || asks_for_summary {
        return ModelRequestKind::Compaction;
    }
    let marked = marked(&history, |text| known.meant(text));
    let script = marked.as_ref().and_then(|(name, _)| known.scripts.get(name));
    // Codex asks for a title in a thread of its own and quotes the prompt there,
    // mark and all; Claude Code asks without tools.
    let toolless = wire.tools(body).is_empty() && !script.is_some_and(|script| script.toolless);
    if codex["thread_source"] == "thread_title" || toolless {
        return ModelRequestKind::Side;
    }
    match (marked, script) {
        (Some((name, step)), Some(script)) if script.at(step).is_some() => {
            ModelRequestKind::Turn { script: name, step }
        }
        (Some((name, step)), Some(_)) => {
            ModelRequestKind::Stray(format!("script {name} has no turn {step}"))
        }
        (Some((name, _)), None) => ModelRequestKind::Stray(format!("no script {name}")),
        (None, _) => ModelRequestKind::Stray("what the user said chooses no script".to_owned()),
    }
}

/// The script chosen last, and the number of model turns since.
fn marked(
    history: &[HistoryEntry],
    meant: impl Fn(&str) -> Option<String>,
) -> Option<(String, usize)> {
    let (at, name) = history.iter().enumerate().rev().find_map(|(at, voice)| match voice {
        HistoryEntry::User(text) => meant(text).map(|name| (at, name)),
        _ => None,
    })?;
    // One answer can be several entries: text, then calls.
    let pairs = history[at..].windows(2);
    let step = pairs
        .filter(|pair| pair[1] == HistoryEntry::Model && pair[0] != HistoryEntry::Model)
        .count();
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

    fn user(text: &str) -> HistoryEntry {
        HistoryEntry::User(text.to_owned())
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
        use HistoryEntry::{Model, Other};
        let at = |history: &[HistoryEntry]| marked(history, |text| mark(text).map(str::to_owned));
        assert_eq!(at(&[user("hi"), Model]), None);
        assert_eq!(at(&[user("[[script:a]]")]), Some(("a".to_owned(), 0)));
        // Text and two calls of one answer, then their results.
        let one = [Other, user("[[script:a]]"), Model, Model, Model, Other, Other];
        assert_eq!(at(&one), Some(("a".to_owned(), 1)));
        // A user message without a mark continues the same script.
        let on = [user("[[script:a]]"), Model, user("go on"), Model, Other];
        assert_eq!(at(&on), Some(("a".to_owned(), 2)));
        // A new mark starts over.
        let new = [user("[[script:a]]"), Model, user("[[script:b]]"), Model, Other];
        assert_eq!(at(&new), Some(("b".to_owned(), 1)));
    }

    #[test]
    fn words_choose_where_there_is_no_mark() {
        let mut known = ModelConfig::default();
        for script in [
            ModelScript::named("plan").when("Plan it").say("p"),
            ModelScript::named("again").when("Plan it").when("round 2").say("a"),
            ModelScript::named("marked").say("m"),
        ] {
            known.scripts.insert(script.name.clone(), script);
        }
        let chosen = |text: &str| known.meant(text);
        assert_eq!(chosen("Plan it, please").as_deref(), Some("plan"));
        assert_eq!(chosen("Plan it: round 2").as_deref(), Some("again"));
        assert_eq!(chosen("Plan it [[script:marked]]").as_deref(), Some("marked"));
        assert_eq!(chosen("round 2"), None);
    }
}
