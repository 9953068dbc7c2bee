//! The state of the rehearsal agent on disk, so that it can be killed at any
//! moment and resumed: one file for each conversation, and one for the uses of a
//! scenario's entries, which all its agents share under a lock.
//!
//! Field names are those of earlier versions, whose runs can be resumed.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::selection::{
    CallContext, EntryUse, Selection, find_unfinished, select_entry, select_for_steering,
};
use crate::state_file::{read, replace, with_lock};
use crate::wire::PlayerAnswer;
use omx_agents::agent::{ConversationId, MessageLabels};
use omx_agents::conversation_record::ConversationRecord;

/// The file of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ConversationFile {
    /// The prompt of the role.
    role: Option<String>,
    /// How many turns were started.
    turns: u64,
    /// The call of the last turn, and its answer if there is one.
    call: Option<CallContext>,
    answer: Option<PlayerAnswer>,
    #[serde(rename = "words")]
    transcript: Vec<Utterance>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Utterance {
    #[serde(rename = "heard")]
    ToAgent(String),
    #[serde(rename = "said")]
    ByAgent(String),
}

/// The uses of one scenario by all agents.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ScenarioUses {
    /// How many conversations were started.
    conversations: u64,
    #[serde(rename = "plays")]
    uses: Vec<EntryUse>,
}

/// What a message makes the agent play.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NextPlay {
    /// This entry, starting at this step.
    Entry { entry: usize, step: usize },
    /// The last answer once more: it may never have been received.
    RepeatAnswer(PlayerAnswer),
    /// No entry matches.
    NoMatch,
}

/// What precedes a turn in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnOrigin {
    /// An earlier turn, or the creation of the conversation.
    Ordinary,
    /// The conversation was resumed.
    Resumed,
}

/// The state of one conversation.
#[derive(Debug)]
pub(super) struct ConversationMemory {
    scenario: Scenario,
    folder: PathBuf,
    id: ConversationId,
    record: ConversationFile,
    /// The index of the current use of an entry.
    current: Option<usize>,
    next_turn: TurnOrigin,
}

impl ConversationMemory {
    /// Starts a conversation. Its file exists when this returns.
    pub(super) fn create(
        scenario: Scenario,
        folder: &Path,
        role: Option<String>,
    ) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let count = update_uses(folder, &scenario, |uses| {
            uses.conversations += 1;
            uses.conversations
        })?;
        let id = match scenario.seed {
            Some(seed) => seeded_id(seed, count),
            None => ConversationId::random(),
        };
        let record =
            ConversationFile { role, turns: 0, call: None, answer: None, transcript: Vec::new() };
        let folder = folder.to_owned();
        let memory =
            Self { scenario, folder, id, record, current: None, next_turn: TurnOrigin::Ordinary };
        memory.save()?;
        Ok(memory)
    }

    /// Resumes a conversation. An unknown conversation is `None`.
    pub(super) fn resume(
        scenario: Scenario,
        folder: &Path,
        id: ConversationId,
    ) -> io::Result<Option<Self>> {
        let Some(record) = read::<ConversationFile>(&conversation_file(folder, &id))? else {
            return Ok(None);
        };
        let folder = folder.to_owned();
        Ok(Some(Self {
            scenario,
            folder,
            id,
            record,
            current: None,
            next_turn: TurnOrigin::Resumed,
        }))
    }

    pub(super) fn id(&self) -> &ConversationId {
        &self.id
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The number of the current turn, counted from 1.
    pub(super) fn turn_number(&self) -> u64 {
        self.record.turns
    }

    /// Records the message that starts a turn, and selects what the turn plays.
    pub(super) fn start_turn(
        &mut self,
        labels: MessageLabels,
        message: &str,
    ) -> io::Result<NextPlay> {
        let last = self.record.call.take();
        let is_same_step = last.as_ref().is_some_and(|last| last.is_same_step(&labels));
        // A step that was interrupted with the agent continues where it was.
        let continues = std::mem::replace(&mut self.next_turn, TurnOrigin::Ordinary)
            == TurnOrigin::Resumed
            && is_same_step;
        let call = CallContext::following(last, labels, message);
        self.record.turns += 1;
        self.record.transcript.push(Utterance::ToAgent(message.to_owned()));
        self.record.call = Some(call.clone());
        match self.record.answer.take() {
            Some(answer) if continues => return self.repeat(answer),
            _ => self.save()?,
        }
        let (scenario, id) = (&self.scenario, self.id.as_str());
        let next = update_uses(&self.folder, scenario, |all| {
            let unfinished = find_unfinished(&all.uses, id).map(|(at, _)| Selection::Resume(at));
            let resumed = unfinished.filter(|_| continues);
            match resumed.unwrap_or_else(|| select_entry(scenario, &all.uses, id, &call)) {
                Selection::Start(entry) => Some(all.start(entry, id)),
                Selection::Resume(at) => all.uses.get(at).map(|found| (at, found.clone())),
                Selection::NoMatch => None,
            }
        })?;
        Ok(self.play(next))
    }

    /// Repeats the last answer without repeating the work that led to it.
    fn repeat(&mut self, answer: PlayerAnswer) -> io::Result<NextPlay> {
        self.record_answer(&answer)?;
        // The agent may have been killed after it saved the answer and before it
        // marked the entry as finished.
        update_uses(&self.folder, &self.scenario, |all| {
            let own = |used: &&mut EntryUse| used.conversation == self.id.as_str();
            if let Some(last) = all.uses.iter_mut().rfind(own) {
                last.finished = true;
            }
        })?;
        Ok(NextPlay::RepeatAnswer(answer))
    }

    /// Selects what a message to the busy agent plays. An entry that reacts to it
    /// finishes the current one.
    pub(super) fn steer(&mut self, text: &str) -> io::Result<NextPlay> {
        let call = CallContext::following(self.record.call.clone(), MessageLabels::default(), text);
        let (scenario, id, current) = (&self.scenario, self.id.as_str(), self.current);
        let next = update_uses(&self.folder, scenario, |all| {
            let Selection::Start(entry) = select_for_steering(scenario, &all.uses, &call) else {
                return None;
            };
            if let Some(current) = current.and_then(|at| all.uses.get_mut(at)) {
                current.finished = true;
            }
            Some(all.start(entry, id))
        })?;
        match next {
            None => Ok(NextPlay::NoMatch),
            next => Ok(self.play(next)),
        }
    }

    fn play(&mut self, next: Option<(usize, EntryUse)>) -> NextPlay {
        self.current = next.as_ref().map(|(at, _)| *at);
        match next {
            Some((_, used)) => NextPlay::Entry { entry: used.entry, step: used.step },
            None => NextPlay::NoMatch,
        }
    }

    /// Records the step that is about to be carried out.
    pub(super) fn record_step(&mut self, step: usize) -> io::Result<()> {
        self.update_current(|used| used.step = step)
    }

    /// Records that the current entry is finished.
    pub(super) fn finish_entry(&mut self) -> io::Result<()> {
        self.update_current(|used| used.finished = true)?;
        self.current = None;
        Ok(())
    }

    /// Records a message to the busy agent.
    pub(super) fn record_message(&mut self, text: &str) -> io::Result<()> {
        self.record.transcript.push(Utterance::ToAgent(text.to_owned()));
        self.save()
    }

    /// Records what the agent says.
    pub(super) fn record_text(&mut self, text: &str) -> io::Result<()> {
        self.record.transcript.push(Utterance::ByAgent(text.to_owned()));
        self.save()
    }

    /// Records the turn's answer, before it is sent.
    pub(super) fn record_answer(&mut self, answer: &PlayerAnswer) -> io::Result<()> {
        self.record.answer = Some(answer.clone());
        self.save()
    }

    fn save(&self) -> io::Result<()> {
        replace(&conversation_file(&self.folder, &self.id), &self.record)
    }

    fn update_current(&self, update: impl FnOnce(&mut EntryUse)) -> io::Result<()> {
        let Some(at) = self.current else { return Ok(()) };
        update_uses(&self.folder, &self.scenario, |all| all.uses.get_mut(at).map(update)).map(drop)
    }
}

impl ScenarioUses {
    fn start(&mut self, entry: usize, conversation: &str) -> (usize, EntryUse) {
        let conversation = conversation.to_owned();
        let used = EntryUse { entry, conversation, step: 0, finished: false };
        self.uses.push(used.clone());
        (self.uses.len() - 1, used)
    }
}

fn conversation_file(folder: &Path, id: &ConversationId) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// What the record of a conversation says about a message.
pub(super) fn find_message(
    folder: &Path,
    id: &ConversationId,
    message: &str,
) -> ConversationRecord {
    let path = conversation_file(folder, id);
    match read::<ConversationFile>(&path) {
        Ok(Some(record)) => {
            let is_it = |said: &Utterance| match said {
                Utterance::ToAgent(text) => text.contains(message),
                Utterance::ByAgent(_) => false,
            };
            match record.transcript.iter().any(is_it) {
                true => ConversationRecord::Received,
                false => ConversationRecord::NotReceived,
            }
        }
        Ok(None) => ConversationRecord::Unknown,
        Err(_) if path.metadata().is_ok_and(|file| file.len() == 0) => ConversationRecord::Empty,
        Err(_) => ConversationRecord::Unknown,
    }
}

/// The file of a scenario's uses. Editing the scenario starts a new count.
fn uses_file(folder: &Path, scenario: &Scenario) -> PathBuf {
    folder.join(format!("plays.{}.json", scenario.fingerprint))
}

fn update_uses<Output>(
    folder: &Path,
    scenario: &Scenario,
    update: impl FnOnce(&mut ScenarioUses) -> Output,
) -> io::Result<Output> {
    let file = uses_file(folder, scenario);
    with_lock(&folder.join("lock"), || {
        let mut uses = read::<ScenarioUses>(&file)?.unwrap_or_default();
        let output = update(&mut uses);
        replace(&file, &uses)?;
        Ok(output)
    })
}

/// Loads all uses of a scenario so far.
pub(super) fn load_uses(folder: &Path, scenario: &Scenario) -> io::Result<Vec<EntryUse>> {
    Ok(read::<ScenarioUses>(&uses_file(folder, scenario))?.unwrap_or_default().uses)
}

/// The id of the nth conversation of a scenario with a seed.
fn seeded_id(seed: u64, count: u64) -> ConversationId {
    let half = |salt: u64| {
        // One step of SplitMix64, so that neighboring counts give unrelated ids.
        let mixed = seed ^ count.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let bits = (u128::from(half(1)) << 64) | u128::from(half(2));
    let id = uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid();
    ConversationId::new(&id.to_string()).unwrap_or_else(ConversationId::random)
}
