//! What must hold at every moment of every run, whatever the world does.

use std::collections::{BTreeMap, BTreeSet};

use omx_agents::agent::{AgentCommand, AgentMessage, ApprovalDecision, ConversationStart};
use omx_agents::event::ApprovalRequest;
use omx_agents::failure::FailureCause;
use omx_agents::results::ResultKind;
use omx_conductor::engine::{Effect, Engine, Happening, Talk};
use omx_kernel::{Mode, Timestamp};
use omx_runs::Record;
use omx_runs::StepKey;

use super::world::World;

/// Why a run may be let go of unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Only the person can set it right.
    Account,
    Rejected,
    /// A conversation with work in it is gone.
    LostWork,
    /// Something of omx's own did not work.
    Broke,
}

/// What a run's documents count.
type Counters = Vec<(Mode, &'static str, u64)>;

/// What the rules remember.
#[derive(Default)]
pub struct Rules {
    taken_up: Option<Timestamp>,
    /// The run is being stopped: nothing new may begin.
    pub is_stopping: bool,
    /// The process knows that the run was cancelled.
    pub knows_cancel: bool,
    /// Steps that wait, until when, and the counters when they began to.
    waiting: BTreeMap<StepKey, (Timestamp, Counters)>,
    /// Steps whose folder was looked at.
    settled: BTreeSet<StepKey>,
    /// Steps whose check ran to its end.
    checked: BTreeSet<StepKey>,
    /// Asks the person answered with yes.
    pub asks: BTreeMap<String, ApprovalRequest>,
    pub allowed_by_person: BTreeSet<String>,
    pub reasons: BTreeSet<Reason>,
    pub unreadable: BTreeMap<StepKey, u32>,
    pub pauses: BTreeMap<StepKey, u32>,
    /// Steps whose service failed and that were not opened again.
    paused: BTreeSet<StepKey>,
    pub breaks: BTreeMap<StepKey, u32>,
    /// What did not hold in each step that looked, in words.
    failures: BTreeMap<StepKey, String>,
    /// What each mending step of a ralph left behind and was for.
    mended: Vec<(StepKey, String)>,
    /// Steps the person took as done.
    pub skipped: BTreeSet<String>,
    /// Steps by name that were ever begun.
    pub begun: BTreeSet<StepKey>,
}

impl Rules {
    pub fn process_begins(&mut self, now: Timestamp) {
        self.taken_up = Some(now);
        self.is_stopping = false;
        self.knows_cancel = false;
        self.waiting.clear();
        self.settled.clear();
        self.checked.clear();
        self.asks.clear();
        self.allowed_by_person.clear();
        self.reasons.clear();
        self.unreadable.clear();
        self.pauses.clear();
        self.paused.clear();
        self.breaks.clear();
    }

    pub fn settled(&mut self, step: &StepKey) {
        self.settled.insert(step.clone());
    }

    pub fn checked(&mut self, step: &StepKey) {
        self.checked.insert(step.clone());
    }

    /// A step found that something does not hold.
    pub fn found(&mut self, step: &StepKey, words: String) {
        self.failures.insert(step.clone(), words);
    }

    /// What a mending step mends: what the last look of its round found.
    fn failure(&self, mending: &StepKey) -> &str {
        let of_part = |name: String| match part(mending) {
            "" => name,
            part => format!("{part}.{name}"),
        };
        let round = mending.as_str().rsplit("fix").next().unwrap_or_default();
        let looks = ["recheck", "architect", "verifier", "check"];
        let names = looks.map(|look| of_part(format!("{look}{round}")));
        let found = |name: &String| self.failures.iter().find(|(step, _)| step.as_str() == name);
        names.iter().find_map(found).map_or("", |(_, words)| words)
    }

    /// The person mended it: whatever came of that, the row is broken.
    pub fn is_skipped(&mut self, step: &StepKey) {
        self.mended.push((step.clone(), format!("the person did {step}")));
    }

    /// Five mending steps in a row left the folder as it was, for the same failure.
    pub fn is_stuck(&self) -> bool {
        let Some((last, print)) = self.mended.last() else { return false };
        let of_part = |key: &StepKey| part(key) == part(last);
        let row =
            self.mended.iter().rev().take_while(|(key, other)| of_part(key) && other == print);
        row.count() >= 5
    }
}

/// All of a step's name but its last word.
fn part(key: &StepKey) -> &str {
    key.as_str().rsplit_once('.').map_or("", |(part, _)| part)
}

impl World {
    /// What the process is about to hear.
    pub fn before(&mut self, happening: &Happening) {
        match happening {
            Happening::Cancelled => {
                self.rules.is_stopping = true;
                self.rules.knows_cancel = true;
            }
            Happening::Interrupted => self.rules.is_stopping = true,
            Happening::Checked(_, Err(_))
            | Happening::Kept(_, Err(_))
            | Happening::Settled(_, Err(_)) => {
                self.rules.reasons.insert(Reason::Broke);
            }
            Happening::Answered(_, approval, ApprovalDecision::Allow) => {
                self.rules.allowed_by_person.insert(approval.0.clone());
            }
            Happening::Agent(_, omx_agents::AgentEvent::ApprovalNeeded { approval, ask }) => {
                self.rules.asks.insert(approval.0.clone(), ask.clone());
            }
            _ => {}
        }
    }

    /// An agent met trouble.
    pub fn meets(&mut self, number: usize, cause: &FailureCause) {
        let agent = &self.agents[number];
        let step = agent.step.clone();
        match cause {
            FailureCause::RateLimited { until: Some(until), .. } => {
                let counters = self.documents.counters();
                self.rules.waiting.insert(step, (*until, counters));
            }
            FailureCause::RateLimited { until: None, .. } | FailureCause::NotLoggedIn { .. } => {
                self.rules.reasons.insert(Reason::Account);
            }
            FailureCause::Network { .. }
            | FailureCause::Service { .. }
            | FailureCause::CutOff { .. } => {
                *self.rules.pauses.entry(step.clone()).or_default() += 1;
                self.rules.paused.insert(step);
            }
            FailureCause::Crashed { .. } | FailureCause::Silent { .. } => {
                *self.rules.breaks.entry(step).or_default() += 1;
            }
            FailureCause::Rejected { .. } => {
                self.rules.reasons.insert(Reason::Rejected);
            }
            FailureCause::UnknownConversation { .. } => {
                let told = self.conversations.iter().filter(|known| known.step == step);
                if told.clone().any(|known| known.kind.is_none_or(|kind| kind == ResultKind::Work))
                {
                    self.rules.reasons.insert(Reason::LostWork);
                }
            }
            _ => {}
        }
    }

    /// Whether all that may be spent is spent.
    pub fn is_over_budget(&self) -> bool {
        let budget = self.scenario.asked.budget;
        let spent = self.journal.spent;
        let worked = self.journal.worked_ms + self.worked_ms();
        budget.tokens.is_some_and(|most| spent.tokens() >= most)
            || budget.micro_usd.is_some_and(|most| spent.micro_usd.unwrap_or(0) >= most)
            || budget.seconds.is_some_and(|most| worked >= most * 1000)
    }

    /// How long this process has had the run.
    pub fn worked_ms(&self) -> u64 {
        self.now.millis_since(self.rules.taken_up.unwrap_or(self.now)) as u64
    }

    /// What holds of an effect before it is carried out.
    pub fn check_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Record(record) => self.check_record(record),
            Effect::Open(step, talk) => self.check_open(step, talk),
            Effect::Order(step, AgentCommand::Send(message)) => self.check_send(step, message),
            Effect::Order(_, AgentCommand::Answer(approval, decision)) => {
                self.nothing_begins_late("an approval is answered");
                let by_person = self.rules.allowed_by_person.contains(&approval.0);
                let ask = self.rules.asks.get(&approval.0);
                if *decision == ApprovalDecision::Allow && !by_person && !self.is_in_policy(ask) {
                    self.broken("only the policy or the person says yes", format!("{ask:?}"));
                }
            }
            Effect::Order(_, AgentCommand::End) | Effect::StopCheck(_) | Effect::Show(_) => {}
            Effect::Order(_, order) => self.broken("no other order is given", format!("{order:?}")),
            Effect::Check(step, _) => {
                self.something_begins(step);
                if self.checks.contains(step) {
                    self.broken("a check runs once at a time", step);
                }
            }
            Effect::Keep(step, _) => self.something_begins(step),
            Effect::Settle(step) => {
                self.is_begun(step);
                if self.agent_of(step).is_some() {
                    self.broken("a folder is looked at when its agent has ended", step);
                }
            }
            Effect::NeedsPerson(..) => self.nothing_begins_late("the person is asked"),
            Effect::Documents(_) | Effect::Note(..) => {
                if self.rules.knows_cancel {
                    self.broken("a cancelled run writes no document", format!("{effect:?}"));
                }
            }
            Effect::Close(_) => {
                let living = self.agents.iter().find(|agent| agent.is_alive);
                if let Some(agent) = living {
                    self.broken("agents end before the run is let go of", &agent.step);
                }
                if let Some(step) = self.checks.first() {
                    self.broken("checks end before the run is let go of", step);
                }
                if self.journal.closed.is_none() {
                    self.broken("the journal is closed first", "");
                }
            }
        }
    }

    /// The table of allowances, as the person was told it.
    fn is_in_policy(&self, ask: Option<&ApprovalRequest>) -> bool {
        use omx_agents::event::TargetLocation::Inside;
        match (self.scenario.asked.allow.as_str(), ask) {
            (_, None) => false,
            ("all", _) | (_, Some(ApprovalRequest::Edit { location: Inside, .. })) => true,
            ("commands", Some(ApprovalRequest::Command { location: Inside, .. })) => true,
            (_, Some(ApprovalRequest::Tool { server, .. })) => server == "omx",
            _ => false,
        }
    }

    fn nothing_begins_late(&self, what: &str) {
        if self.rules.is_stopping {
            self.broken("nothing begins in a run that is being stopped", what);
        }
    }

    fn is_begun(&self, step: &StepKey) {
        if self.journal.finished.contains(step) {
            self.broken("nothing of a finished step runs again", step);
        }
        if !self.journal.begun.contains(step) {
            self.broken("the journal says that a step begins before it does", step);
        }
    }

    fn something_begins(&self, step: &StepKey) {
        self.nothing_begins_late(step.as_str());
        self.is_begun(step);
        if self.is_over_budget() {
            self.broken("nothing begins when the budget is used up", step);
        }
        if self.rules.is_stuck() {
            self.broken("a run without progress pauses", step);
        }
    }

    fn check_open(&mut self, step: &StepKey, talk: &Talk) {
        self.something_begins(step);
        if self.agent_of(step).is_some() {
            self.broken("a step has one agent at a time", step);
        }
        let known = self.journal.conversations.get(step);
        match (&talk.start, known) {
            (ConversationStart::New, Some(known)) => {
                self.broken("a known conversation goes on", format!("{step}, {known}"));
            }
            (ConversationStart::Resume(id), known)
                if known.map(String::as_str) != Some(id.as_str()) =>
            {
                self.broken("the conversation that goes on is the step's own", step);
            }
            _ => {}
        }
        self.rules.paused.remove(step);
        if talk.start != ConversationStart::New {
            self.seen.insert("gone on with".to_owned());
        }
        if let Some((until, counters)) = self.rules.waiting.remove(step) {
            self.seen.insert("waited for a limit".to_owned());
            if self.now < until {
                self.broken("a limit is waited for", step);
            }
            if counters != self.documents.counters() {
                self.broken("a limit counts as nothing", step);
            }
        }
    }

    fn check_send(&mut self, step: &StepKey, message: &AgentMessage) {
        self.something_begins(step);
        if message.schema.is_none() {
            self.broken("an agent knows the schema of its answer", step);
        }
        let Some(number) = self.agent_of(step) else { return };
        let agent = &self.agents[number];
        let own = agent.conversation.map(|at| self.conversations[at].id.as_str());
        if own.is_none() || self.journal.conversations.get(step).map(String::as_str) != own {
            self.broken("a conversation is recorded before a word is said in it", step);
        }
        if agent.is_in_turn {
            self.broken("one call at a time", step);
        }
        if self.rules.waiting.contains_key(step) {
            self.broken("nothing is said while a limit holds", step);
        }
    }

    fn check_record(&mut self, record: &Record) {
        match record {
            Record::StepStarted { step, .. } => {
                if self.journal.begun.contains(step) || self.journal.finished.contains(step) {
                    self.broken("a step begins once", step);
                }
                self.rules.begun.insert(step.clone());
            }
            Record::StepDiscarded { step, .. } => {
                let known = self.journal.conversations.get(step);
                let known = known.and_then(|id| self.conversations.iter().find(|c| c.id == *id));
                if !known.is_some_and(|conversation| conversation.is_lost) {
                    self.broken("a step is given up only if its conversation is lost", step);
                }
                self.seen.insert("begun again".to_owned());
            }
            Record::StepFinished { step, .. } => self.check_finished(step),
            _ => {}
        }
    }

    fn check_finished(&mut self, step: &StepKey) {
        self.is_begun(step);
        if self.agent_of(step).is_some() {
            self.broken("a step is finished when its agent has ended", step);
        }
        let name = step.as_str();
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with("keep") {
            return;
        }
        if !self.rules.settled.contains(step) {
            self.broken("a step is finished when the folder was looked at", step);
        }
        let is_check = last.starts_with("check") || last.starts_with("recheck");
        let is_done = if is_check {
            self.rules.checked.contains(step)
        } else {
            self.folder.last_answer(step).is_some()
        };
        if !is_done {
            self.broken("a step is finished when it was done", step);
        }
    }

    /// A step's result counts from now on: whoever takes the run up knows it.
    pub fn is_kept(&mut self, step: &StepKey) {
        let last = step.as_str().rsplit('.').next().unwrap_or_default();
        let is_ralph = matches!(self.scenario.asked.mode, Mode::Ralph | Mode::Autopilot);
        if is_ralph && last.starts_with("fix") {
            let tree = (!self.scenario.has_no_tree).then(|| self.folder.tree());
            let failure = self.rules.failure(step).to_owned();
            self.rules.mended.push((step.clone(), format!("{tree:?} {failure}")));
        }
    }

    /// A step's result no longer counts.
    pub fn is_forgotten(&mut self, step: &StepKey) {
        self.rules.mended.retain(|(key, _)| key != step);
        self.rules.failures.remove(step);
    }

    /// The run's document waits while a step of it does, and then no longer.
    fn documents_tell_of_waiting(&self) {
        let rules = &self.rules;
        let says_so = self.documents.waits(self.scenario.asked.mode);
        let limited = rules.waiting.first_key_value();
        if says_so && rules.paused.is_empty() && limited.is_none() {
            self.broken("a document waits for something", "nothing is waited for");
        }
        let goes_on = !rules.is_stopping
            && !self.documents.are_cancelled
            && !self.is_over_budget()
            && !self.may_fail()
            && !self.may_block();
        if let (Some((step, _)), true, false) = (limited, goes_on, says_so) {
            self.broken("a document tells that its run waits", step);
        }
    }

    /// What holds whenever the machine has dealt with something.
    pub fn after(&self, engine: &Engine) {
        self.documents_tell_of_waiting();
        if engine.wake().is_some_and(|wake| wake <= self.now) {
            self.broken("it never wants to be woken in the past", format!("{:?}", engine.wake()));
        }
        for (mode, ..) in self.documents.counters() {
            if let Some((iteration, most)) = self.documents.iteration(mode)
                && iteration > most
            {
                self.broken("a limit is a limit", format!("{iteration} of {most}"));
            }
        }
    }
}
