//! What the rehearsal agent keeps on disk, so that it can be killed at any
//! moment and go on: one file for each conversation, and one for the plays of
//! a scenario, which all its agents share under a lock.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::choose::{Call, Choice, Play, broken_off, choose, choose_for_words};
use crate::replace::{locked, read, replace};
use crate::scenario::Scenario;
use crate::wire::Answer;
use omx_agents::agent::{ConversationId, MessageLabels};

/// A conversation, as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    /// The role's prompt.
    role: Option<String>,
    /// How many turns were begun.
    turns: u64,
    /// The call of the last turn, and its answer if it came to one.
    call: Option<Call>,
    answer: Option<Answer>,
    words: Vec<Word>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Heard(String),
    Said(String),
}

/// The plays of one scenario by all agents.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Plays {
    /// How many conversations were begun.
    conversations: u64,
    plays: Vec<Play>,
}

/// What a call leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Taken {
    /// This entry, from this step on.
    Entry { entry: usize, step: usize },
    /// An answer that may never have been taken is given again.
    Again(Answer),
    /// Nothing fits.
    Nothing,
}

/// What happened last in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// The conversation was begun or gone on with in a call.
    Call,
    /// The conversation was resumed.
    Resume,
}

/// One conversation's memory.
#[derive(Debug)]
pub(super) struct Memory {
    scenario: Scenario,
    folder: PathBuf,
    id: ConversationId,
    record: Record,
    /// The play that runs, by its place among all.
    play: Option<usize>,
    since: Since,
}

impl Memory {
    /// Begins a conversation. It is kept before this returns.
    pub(super) fn begin(
        scenario: Scenario,
        folder: &Path,
        role: Option<String>,
    ) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let count = change(folder, &scenario, |plays| {
            plays.conversations += 1;
            plays.conversations
        })?;
        let id = match scenario.seed {
            Some(seed) => seeded(seed, count),
            None => ConversationId::random(),
        };
        let record = Record { role, turns: 0, call: None, answer: None, words: Vec::new() };
        let folder = folder.to_owned();
        let memory = Self { scenario, folder, id, record, play: None, since: Since::Call };
        memory.keep()?;
        Ok(memory)
    }

    /// Goes on with a conversation; nothing if it was never begun.
    pub(super) fn resume(
        scenario: Scenario,
        folder: &Path,
        id: ConversationId,
    ) -> io::Result<Option<Self>> {
        let Some(record) = read::<Record>(&file_of(folder, &id))? else { return Ok(None) };
        let folder = folder.to_owned();
        Ok(Some(Self { scenario, folder, id, record, play: None, since: Since::Resume }))
    }

    pub(super) fn id(&self) -> &ConversationId {
        &self.id
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Which turn it is, counted from 1.
    pub(super) fn turn(&self) -> u64 {
        self.record.turns
    }

    /// Hears what begins a turn and takes what is to be played.
    pub(super) fn take(&mut self, labels: MessageLabels, words: &str) -> io::Result<Taken> {
        let last = self.record.call.take();
        let same = last.as_ref().is_some_and(|last| last.is_same_step(&labels));
        // A step that was begun before the agent was last started goes on.
        let goes_on = std::mem::replace(&mut self.since, Since::Call) == Since::Resume && same;
        let call = Call::then(last, labels, words);
        self.record.turns += 1;
        self.record.words.push(Word::Heard(words.to_owned()));
        self.record.call = Some(call.clone());
        match self.record.answer.take() {
            Some(answer) if goes_on => return self.again(answer),
            _ => self.keep()?,
        }
        let (scenario, id) = (&self.scenario, self.id.as_str());
        let taken = change(&self.folder, scenario, |plays| {
            let broken_off = broken_off(&plays.plays, id).map(|(at, _)| Choice::GoOn(at));
            let chosen = broken_off.filter(|_| goes_on);
            match chosen.unwrap_or_else(|| choose(scenario, &plays.plays, id, &call)) {
                Choice::Begin(entry) => Some(plays.begin(entry, id)),
                Choice::GoOn(play) => plays.plays.get(play).map(|found| (play, found.clone())),
                Choice::Nothing => None,
            }
        })?;
        Ok(self.begun(taken))
    }

    /// Gives the last answer once more; what led to it is not done again.
    fn again(&mut self, answer: Answer) -> io::Result<Taken> {
        self.answer(&answer)?;
        // It was kept, and the agent perhaps killed before its play was closed.
        change(&self.folder, &self.scenario, |plays| {
            let own = |play: &&mut Play| play.conversation == self.id.as_str();
            if let Some(last) = plays.plays.iter_mut().rfind(own) {
                last.finished = true;
            }
        })?;
        Ok(Taken::Again(answer))
    }

    /// Takes what words said to the busy agent lead to, if to anything; then
    /// the play before it is over.
    pub(super) fn take_for_words(&mut self, text: &str) -> io::Result<Taken> {
        let call = Call::then(self.record.call.clone(), MessageLabels::default(), text);
        let (scenario, id, current) = (&self.scenario, self.id.as_str(), self.play);
        let taken = change(&self.folder, scenario, |plays| {
            let Choice::Begin(entry) = choose_for_words(scenario, &plays.plays, &call) else {
                return None;
            };
            if let Some(before) = current.and_then(|at| plays.plays.get_mut(at)) {
                before.finished = true;
            }
            Some(plays.begin(entry, id))
        })?;
        match taken {
            None => Ok(Taken::Nothing),
            taken => Ok(self.begun(taken)),
        }
    }

    fn begun(&mut self, taken: Option<(usize, Play)>) -> Taken {
        self.play = taken.as_ref().map(|(at, _)| *at);
        match taken {
            Some((_, play)) => Taken::Entry { entry: play.entry, step: play.step },
            None => Taken::Nothing,
        }
    }

    /// A step is about to be done.
    pub(super) fn reach(&mut self, step: usize) -> io::Result<()> {
        self.change_play(|play| play.step = step)
    }

    /// The entry has been played to its end.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.change_play(|play| play.finished = true)?;
        self.play = None;
        Ok(())
    }

    /// What was said to the agent while it worked.
    pub(super) fn hear(&mut self, text: &str) -> io::Result<()> {
        self.record.words.push(Word::Heard(text.to_owned()));
        self.keep()
    }

    /// What the agent says.
    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        self.record.words.push(Word::Said(text.to_owned()));
        self.keep()
    }

    /// The turn's answer, kept before it is given.
    pub(super) fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        self.record.answer = Some(answer.clone());
        self.keep()
    }

    fn keep(&self) -> io::Result<()> {
        replace(&file_of(&self.folder, &self.id), &self.record)
    }

    fn change_play(&self, make: impl FnOnce(&mut Play)) -> io::Result<()> {
        let Some(at) = self.play else { return Ok(()) };
        change(&self.folder, &self.scenario, |plays| plays.plays.get_mut(at).map(make)).map(drop)
    }
}

impl Plays {
    fn begin(&mut self, entry: usize, conversation: &str) -> (usize, Play) {
        let conversation = conversation.to_owned();
        let play = Play { entry, conversation, step: 0, finished: false };
        self.plays.push(play.clone());
        (self.plays.len() - 1, play)
    }
}

fn file_of(folder: &Path, id: &ConversationId) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// A scenario that was changed is another one, counted from nothing.
fn plays_of(folder: &Path, scenario: &Scenario) -> PathBuf {
    folder.join(format!("plays.{}.json", scenario.fingerprint))
}

fn change<Got>(
    folder: &Path,
    scenario: &Scenario,
    make: impl FnOnce(&mut Plays) -> Got,
) -> io::Result<Got> {
    let file = plays_of(folder, scenario);
    locked(&folder.join("lock"), || {
        let mut plays = read::<Plays>(&file)?.unwrap_or_default();
        let got = make(&mut plays);
        replace(&file, &plays)?;
        Ok(got)
    })
}

/// All plays of a scenario so far.
pub(super) fn plays(folder: &Path, scenario: &Scenario) -> io::Result<Vec<Play>> {
    Ok(read::<Plays>(&plays_of(folder, scenario))?.unwrap_or_default().plays)
}

/// The id of the nth conversation of a scenario with a seed.
fn seeded(seed: u64, count: u64) -> ConversationId {
    let half = |salt: u64| {
        // One step of SplitMix64: neighbours become strangers.
        let mixed = seed ^ count.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let bits = (u128::from(half(1)) << 64) | u128::from(half(2));
    let id = uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid();
    ConversationId::new(&id.to_string()).unwrap_or_else(ConversationId::random)
}
