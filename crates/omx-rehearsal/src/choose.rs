//! Which entry a call plays: the one rule of the rehearsal.

use serde::{Deserialize, Serialize};

use crate::scenario::{Scenario, ScenarioEntry};
use omx_agents::agent::MessageLabels;

/// What the agent was asked, as far as entries can tell calls apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) role: Option<String>,
    pub(super) phase: Option<String>,
    pub(super) step: Option<String>,
    /// All that was said in this matter.
    pub(super) text: String,
}

impl Call {
    /// The call that words make after this one.
    pub(super) fn then(last: Option<Self>, labels: MessageLabels, words: &str) -> Self {
        let same = last.as_ref().is_some_and(|last| last.is_same_step(&labels));
        let (role, phase, before) =
            last.map(|last| (last.role, last.phase, last.text)).unwrap_or_default();
        Self {
            // A role and a phase hold until others are said.
            role: labels.role.or(role),
            phase: labels.phase.or(phase),
            step: labels.step,
            text: if same { format!("{before}\n\n{words}") } else { words.to_owned() },
        }
    }

    /// Whether labels are those of the same step of a run.
    pub(super) fn is_same_step(&self, labels: &MessageLabels) -> bool {
        labels.step.is_some() && labels.step == self.step
    }
}

/// One use of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Play {
    /// Which entry.
    pub(super) entry: usize,
    /// In which conversation.
    pub(super) conversation: String,
    /// The step that was begun last.
    pub(super) step: usize,
    /// Whether it was played to its end.
    pub(super) finished: bool,
}

/// What a call leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// An entry is played from its beginning.
    Begin(usize),
    /// A play that was broken off is gone on with.
    GoOn(usize),
    /// Nothing fits.
    Nothing,
}

/// Chooses for a call: the first entry that fits and may still be played. A
/// play of the same conversation that was broken off may always be gone on
/// with, and is if nothing else fits: "go on" needs no entry of its own.
pub(super) fn choose(
    scenario: &Scenario,
    plays: &[Play],
    conversation: &str,
    call: &Call,
) -> Choice {
    let broken_off = broken_off(plays, conversation);
    for (index, entry) in scenario.entries.iter().enumerate() {
        if !fits(entry, call) {
            continue;
        }
        match broken_off {
            Some((at, play)) if play.entry == index => return Choice::GoOn(at),
            _ if may_be_played(entry, index, plays) => return Choice::Begin(index),
            _ => {}
        }
    }
    broken_off.map_or(Choice::Nothing, |(at, _)| Choice::GoOn(at))
}

/// Chooses for words said to a busy agent: only an entry that waits for them.
pub(super) fn choose_for_words(scenario: &Scenario, plays: &[Play], call: &Call) -> Choice {
    let chosen = scenario.entries.iter().enumerate().find(|(index, entry)| {
        entry.text.is_some() && fits(entry, call) && may_be_played(entry, *index, plays)
    });
    chosen.map_or(Choice::Nothing, |(index, _)| Choice::Begin(index))
}

/// The conversation's last play, if it did not come to its end.
pub(super) fn broken_off<'a>(plays: &'a [Play], conversation: &str) -> Option<(usize, &'a Play)> {
    let mut own = plays.iter().enumerate().filter(|(_, play)| play.conversation == conversation);
    own.next_back().filter(|(_, play)| !play.finished)
}

fn fits(entry: &ScenarioEntry, call: &Call) -> bool {
    let named =
        |wanted: &Option<String>, given: &Option<String>| wanted.is_none() || wanted == given;
    named(&entry.role, &call.role)
        && named(&entry.phase, &call.phase)
        && entry.text.as_ref().is_none_or(|text| call.text.contains(text))
}

fn may_be_played(entry: &ScenarioEntry, index: usize, plays: &[Play]) -> bool {
    let used = plays.iter().filter(|play| play.entry == index).count();
    entry.at_most.is_none_or(|most| used < usize::try_from(most).unwrap_or(usize::MAX))
}

/// How often an entry was played to its end, and how often only begun.
pub(super) fn count(plays: &[Play], entry: usize) -> (usize, usize) {
    let of_entry = || plays.iter().filter(|play| play.entry == entry);
    let finished = of_entry().filter(|play| play.finished).count();
    (finished, of_entry().count() - finished)
}
