//! A world with a clock of its own, in which a run is carried out. All chances
//! come from one seed, so the same seed is the same world.

use std::collections::{BTreeMap, BTreeSet};

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::ApprovalId;
use omx_conductor::engine::{Engine, Happening, Outcome};
use omx_conductor::story::{CheckResult, KeptPlan, StepKey};
use omx_kernel::Timestamp;
use omx_testkit::Random;

use super::agents::{Agent, Conversation};
use super::documents::Documents;
use super::folder::{Deed, Folder};
use super::journal::Journal;
use super::rules::Rules;
use super::scenario::Scenario;
use crate::kit;

/// More than any run has: one that is not over by then never will be.
const MOST_HAPPENINGS: u32 = 1_500;

/// The process is gone.
pub struct Crashed;

/// Something that will come about.
#[derive(Debug)]
pub enum Coming {
    /// The next thing this agent does.
    Agent(usize),
    /// A check comes to its end.
    Check(StepKey),
    /// A check that was told to end does so.
    Stopped(StepKey),
    Kept(StepKey),
    Settled(StepKey),
    /// The person answers an approval.
    Answer(StepKey, ApprovalId),
    /// The process notices that the run was cancelled.
    CancelSeen,
}

/// How a process let go of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Left {
    Closed(Outcome),
    Crashed,
}

/// The world.
pub struct World {
    pub random: Random,
    pub scenario: Scenario,
    pub now: Timestamp,
    queue: BTreeMap<(i64, u64), Coming>,
    numbers: u64,
    pub journal: Journal,
    pub documents: Documents,
    pub folder: Folder,
    pub agents: Vec<Agent>,
    pub conversations: Vec<Conversation>,
    /// Checks that run.
    pub checks: BTreeSet<StepKey>,
    pub rules: Rules,
    pub happenings: u32,
    /// What this world has shown, so that all of them together show everything.
    pub seen: BTreeSet<String>,
    pub trace: Option<Vec<String>>,
}

impl World {
    pub fn new(seed: u64, trace: Option<Vec<String>>) -> Self {
        let mut random = Random::new(seed);
        let scenario = Scenario::of(&mut random);
        let now = Timestamp::parse(&scenario.asked.started_at).unwrap();
        let mut folder = Folder::default();
        folder.files.insert(format!(".omx/runs/{}/journal.jsonl", kit::session()));
        let mut world = Self {
            random,
            scenario,
            now,
            queue: BTreeMap::new(),
            numbers: 0,
            journal: Journal::default(),
            documents: Documents::new(kit::session()),
            folder,
            agents: Vec::new(),
            conversations: Vec::new(),
            checks: BTreeSet::new(),
            rules: Rules::default(),
            happenings: 0,
            seen: BTreeSet::new(),
            trace,
        };
        let scenario = format!("{:?}", world.scenario);
        world.note(|| scenario);
        world
    }

    /// A rule does not hold: the seed has failed.
    #[track_caller]
    pub fn broken(&self, rule: &str, how: impl std::fmt::Display) -> ! {
        panic!("{rule}: {how}");
    }

    pub fn note(&mut self, words: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{} {}", self.now, words()));
        }
    }

    /// Something will come about within so many milliseconds.
    pub fn soon(&mut self, within: usize, coming: Coming) {
        let at = self.now.millis() + self.random.below(within) as i64;
        self.numbers += 1;
        self.queue.insert((at, self.numbers), coming);
    }

    /// The whole life of a run.
    pub fn run(&mut self) {
        let mut decisions = BTreeMap::new();
        loop {
            let left = self.process(&decisions);
            self.note(|| format!("== left: {left:?}"));
            match self.person_decides(&left) {
                Some(next) => decisions = next,
                None => return,
            }
        }
    }

    /// One process, from taking the run up to letting go of it.
    fn process(&mut self, decisions: &BTreeMap<String, omx_conductor::engine::Decide>) -> Left {
        self.rules.process_begins(self.now);
        let Ok(mut engine) = self.take_up(decisions) else { return self.crash() };
        let mut happening = Happening::Opened;
        loop {
            self.happenings += 1;
            if self.happenings > MOST_HAPPENINGS {
                self.broken("every run ends", "it goes on and on");
            }
            self.note(|| format!("-> {}", shortened(&format!("{happening:?}"))));
            self.before(&happening);
            let effects = engine.handle(happening, self.now);
            let closed = match self.carry_out(effects) {
                Ok(closed) => closed,
                Err(Crashed) => return self.crash(),
            };
            self.after(&engine);
            if let Some(outcome) = closed {
                self.is_closed(&mut engine, &outcome);
                let mode = self.scenario.asked.mode.name();
                self.seen.insert(format!("{mode} {}", outcome.as_str()));
                self.queue.clear();
                return Left::Closed(outcome);
            }
            happening = self.next(&engine);
        }
    }

    /// What happens next: the clock goes on to it.
    fn next(&mut self, engine: &Engine) -> Happening {
        if let Some(happening) = self.person_acts() {
            return happening;
        }
        loop {
            let coming = self.queue.first_key_value().map(|((at, _), _)| *at);
            let wake = engine.wake().map(Timestamp::millis);
            let at = match (coming, wake) {
                (None, None) => self.broken("every run ends", "it waits for nothing"),
                (coming, Some(wake)) if coming.is_none_or(|coming| wake < coming) => {
                    self.now = Timestamp::from_millis(wake.max(self.now.millis()));
                    return Happening::Time;
                }
                (coming, _) => coming.unwrap_or_default(),
            };
            self.now = Timestamp::from_millis(at.max(self.now.millis()));
            let Some((_, coming)) = self.queue.pop_first() else { continue };
            if let Some(happening) = self.comes_about(coming) {
                return happening;
            }
        }
    }

    fn comes_about(&mut self, coming: Coming) -> Option<Happening> {
        match coming {
            Coming::Agent(number) => {
                let step = self.agents[number].step.clone();
                self.agent_acts(number).map(|event| Happening::Agent(step, event))
            }
            Coming::Check(step) => {
                // One that was told to end meanwhile tells so itself.
                self.checks.remove(&step).then(|| self.checked(step))
            }
            Coming::Stopped(step) => {
                self.checks.remove(&step).then(|| {
                    // Whoever is told to end says so in one way or another.
                    let result = if self.random.one_in(2) {
                        Err("it was stopped".to_owned())
                    } else {
                        Ok(CheckResult { command: "c".into(), exit_code: None, output: "".into() })
                    };
                    Happening::Checked(step, result)
                })
            }
            Coming::Kept(step) => Some(Happening::Kept(step, self.kept())),
            Coming::Settled(step) => {
                let tree = (!self.scenario.has_no_tree).then(|| self.folder.tree());
                let result = if self.random.one_in(self.scenario.breaks_one_in) {
                    Err("git does not answer".to_owned())
                } else {
                    Ok(tree)
                };
                self.rules.settled(&step);
                Some(Happening::Settled(step, result))
            }
            Coming::Answer(step, approval) => {
                let decision = if self.random.one_in(2) {
                    ApprovalDecision::Allow
                } else {
                    ApprovalDecision::Deny("no".to_owned())
                };
                Some(Happening::Answered(step, approval, decision))
            }
            Coming::CancelSeen => Some(Happening::Cancelled),
        }
    }

    fn checked(&mut self, step: StepKey) -> Happening {
        if self.random.one_in(self.scenario.breaks_one_in) {
            return Happening::Checked(step, Err("there is no shell".to_owned()));
        }
        let passed = self.scenario.check.is_content();
        self.folder.deeds.push(Deed::Checked { passed });
        self.rules.checked(&step);
        let exit_code = match (passed, self.scenario.repeats || !self.random.one_in(3)) {
            (true, _) => Some(0),
            (false, true) => Some(1),
            (false, false) => None,
        };
        let output = if passed { "all is well".to_owned() } else { self.complaint("broken") };
        if !passed {
            self.rules.found(&step, format!("{exit_code:?} {output}"));
        }
        let command = self.scenario.asked.check.clone().unwrap_or_default();
        Happening::Checked(step, Ok(CheckResult { command, exit_code, output }))
    }

    fn kept(&mut self) -> Result<KeptPlan, String> {
        if self.random.one_in(self.scenario.breaks_one_in) {
            return Err("the disk is full".to_owned());
        }
        let kept = KeptPlan {
            plan_path: ".omx/plans/prd-x.md".to_owned(),
            test_spec_path: ".omx/plans/test-spec-x.md".to_owned(),
        };
        self.folder.files.extend([kept.plan_path.clone(), kept.test_spec_path.clone()]);
        self.folder.deeds.push(Deed::Kept);
        Ok(kept)
    }

    /// Words of somebody who is not content: new each time, or always the same.
    pub fn complaint(&mut self, what: &str) -> String {
        if self.scenario.repeats {
            return format!("{what}: always this");
        }
        // Letters, because numbers do not make a complaint a new one.
        let number = self.random.number();
        let letters: String =
            (0..8).map(|at| char::from(b'a' + (number >> (at * 5)) as u8 % 26)).collect();
        format!("{what}: {letters}")
    }

    /// The process is killed. Agents notice a little later, and what they do
    /// until then is done; what they tell, nobody hears.
    fn crash(&mut self) -> Left {
        self.note(|| "!! crash".to_owned());
        self.seen.insert("crash".to_owned());
        self.queue.clear();
        self.checks.clear();
        for number in 0..self.agents.len() {
            for _ in 0..self.random.below(4) {
                if self.agents[number].is_alive {
                    self.agent_acts(number);
                }
            }
            self.agents[number].is_alive = false;
        }
        self.queue.clear();
        Left::Crashed
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
