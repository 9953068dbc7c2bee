//! Selects the entry that a call plays.

use serde::{Deserialize, Serialize};

use crate::scenario::{Scenario, ScenarioEntry};
use omx_agents::agent::MessageLabels;

/// What entries can match: the labels and the text of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallContext {
    pub(super) role: Option<String>,
    pub(super) phase: Option<String>,
    pub(super) step: Option<String>,
    /// Everything said to the agent for the same step.
    pub(super) text: String,
}

impl CallContext {
    /// The context of a message that follows the last call.
    pub(super) fn following(last: Option<Self>, labels: MessageLabels, message: &str) -> Self {
        let same = last.as_ref().is_some_and(|last| last.is_same_step(&labels));
        let (role, phase, before) =
            last.map(|last| (last.role, last.phase, last.text)).unwrap_or_default();
        Self {
            // A role and a phase hold until others are given.
            role: labels.role.or(role),
            phase: labels.phase.or(phase),
            step: labels.step,
            text: if same { format!("{before}\n\n{message}") } else { message.to_owned() },
        }
    }

    /// Whether the labels name the same step of a run.
    pub(super) fn is_same_step(&self, labels: &MessageLabels) -> bool {
        labels.step.is_some() && labels.step == self.step
    }
}

/// One use of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryUse {
    /// The index of the entry.
    pub(super) entry: usize,
    /// The conversation that uses it.
    pub(super) conversation: String,
    /// The step that was started last.
    pub(super) step: usize,
    /// Whether all steps were played.
    pub(super) finished: bool,
}

/// What a call plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// An entry, from its first step.
    Start(usize),
    /// An unfinished use of an entry, from the step it reached.
    Resume(usize),
    /// No entry matches.
    NoMatch,
}

/// Selects the first entry that matches the call and has uses left. An
/// unfinished use in the same conversation can always be resumed, and is resumed
/// if nothing else matches, so that "continue" needs no entry of its own.
pub(super) fn select_entry(
    scenario: &Scenario,
    uses: &[EntryUse],
    conversation: &str,
    call: &CallContext,
) -> Selection {
    let unfinished = find_unfinished(uses, conversation);
    for (index, entry) in scenario.entries.iter().enumerate() {
        if !is_match(entry, call) {
            continue;
        }
        match unfinished {
            Some((at, used)) if used.entry == index => return Selection::Resume(at),
            _ if has_uses_left(entry, index, uses) => return Selection::Start(index),
            _ => {}
        }
    }
    unfinished.map_or(Selection::NoMatch, |(at, _)| Selection::Resume(at))
}

/// Selects an entry for a message to a busy agent. Only entries with a `match`
/// react to one.
pub(super) fn select_for_steering(
    scenario: &Scenario,
    uses: &[EntryUse],
    call: &CallContext,
) -> Selection {
    let selected = scenario.entries.iter().enumerate().find(|(index, entry)| {
        entry.text.is_some() && is_match(entry, call) && has_uses_left(entry, *index, uses)
    });
    selected.map_or(Selection::NoMatch, |(index, _)| Selection::Start(index))
}

/// The conversation's last use of an entry, if it is unfinished.
pub(super) fn find_unfinished<'a>(
    uses: &'a [EntryUse],
    conversation: &str,
) -> Option<(usize, &'a EntryUse)> {
    let mut own = uses.iter().enumerate().filter(|(_, used)| used.conversation == conversation);
    own.next_back().filter(|(_, used)| !used.finished)
}

fn is_match(entry: &ScenarioEntry, call: &CallContext) -> bool {
    let is_given =
        |wanted: &Option<String>, given: &Option<String>| wanted.is_none() || wanted == given;
    is_given(&entry.role, &call.role)
        && is_given(&entry.phase, &call.phase)
        && entry.text.as_ref().is_none_or(|text| call.text.contains(text))
}

fn has_uses_left(entry: &ScenarioEntry, index: usize, uses: &[EntryUse]) -> bool {
    let used = uses.iter().filter(|used| used.entry == index).count();
    entry.at_most.is_none_or(|most| used < usize::try_from(most).unwrap_or(usize::MAX))
}

/// Counts the finished and the unfinished uses of an entry.
pub(super) fn count_uses(uses: &[EntryUse], entry: usize) -> (usize, usize) {
    let of_entry = || uses.iter().filter(|used| used.entry == entry);
    let finished = of_entry().filter(|used| used.finished).count();
    (finished, of_entry().count() - finished)
}
