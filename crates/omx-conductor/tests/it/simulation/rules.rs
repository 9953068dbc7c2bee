//! What the rules remember about a run.

use std::collections::{BTreeMap, BTreeSet};

use omx_agents::event::ApprovalRequest;
use omx_agents::failure::FailureCause;
use omx_agents::results::ResultKind;
use omx_kernel::{Mode, Timestamp};
use omx_runs::{Budget, StepKey};

use super::world::SimWorld;

/// How often a run tries again after documents could not be written.
const MOST_FAILURES: u32 = 8;

/// Why a run may be released unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnfinishedReason {
    /// Only the person can fix it.
    Account,
    Rejected,
    /// A conversation with work in it is gone.
    LostWork,
    /// Something of omx's own did not work.
    Broke,
}

/// The counters of a run's documents.
pub type DocumentCounters = Vec<(Mode, &'static str, u64)>;

/// What the rules remember.
#[derive(Default)]
pub struct RuleState {
    opened_at: Option<Timestamp>,
    /// The process writes down what opening the run changes.
    pub is_opening: bool,
    /// The run is being stopped: nothing new may begin.
    pub is_stopping: bool,
    /// The person interrupted the run.
    pub is_interrupted: bool,
    /// The process knows that the run was cancelled.
    pub knows_cancel: bool,
    pub cancelled_at: Option<Timestamp>,
    pub has_journal_failed: bool,
    /// This process has begun the run's own document.
    pub has_begun_document: bool,
    /// Documents cannot be written for as long as this process lives.
    pub are_documents_broken: bool,
    /// The process knows which documents an earlier one left active.
    pub has_found_documents: bool,
    /// How often in a row documents could not be written or read.
    pub failures_in_row: u32,
    /// The last change of a document was not written yet.
    pub is_write_pending: bool,
    /// The budget was used up when the person changed a limit.
    pub was_over_budget: bool,
    /// Steps that wait, until when, and the counters when they began to.
    pub waiting: BTreeMap<StepKey, (Timestamp, DocumentCounters)>,
    /// Steps whose work was committed.
    pub committed: BTreeSet<StepKey>,
    /// Steps whose check ran to its end.
    pub checked: BTreeSet<StepKey>,
    pub asks: BTreeMap<String, ApprovalRequest>,
    /// Steps whose question the person answered with yes.
    pub allowed_by_person: BTreeSet<StepKey>,
    pub reasons: BTreeSet<UnfinishedReason>,
    pub unreadable: BTreeMap<StepKey, u32>,
    /// When a step's service first failed.
    pub pauses: BTreeMap<StepKey, Timestamp>,
    /// Steps whose service failed and that were not opened again.
    pub paused: BTreeSet<StepKey>,
    pub breaks: BTreeMap<StepKey, u32>,
    /// What failed in each step that looked, in words.
    pub failures: BTreeMap<StepKey, String>,
    /// What each fixing step of a ralph left behind and was for.
    pub fixes: Vec<(StepKey, String)>,
    /// Steps the person accepted as done.
    pub skipped: BTreeSet<String>,
    /// Steps that were ever begun.
    pub begun: BTreeSet<StepKey>,
}

impl RuleState {
    /// Forgets everything that holds for one process only.
    pub fn process_begins(&mut self, now: Timestamp) {
        let old = std::mem::take(self);
        *self = Self {
            opened_at: Some(now),
            is_opening: true,
            failures: old.failures,
            fixes: old.fixes,
            skipped: old.skipped,
            begun: old.begun,
            ..Self::default()
        };
    }

    pub fn committed(&mut self, step: &StepKey) {
        self.committed.insert(step.clone());
    }

    pub fn checked(&mut self, step: &StepKey) {
        self.checked.insert(step.clone());
    }

    pub fn something_broke(&mut self) {
        self.reasons.insert(UnfinishedReason::Broke);
    }

    /// A record could not be written: nothing may happen from now on.
    pub fn journal_fails(&mut self) {
        self.something_broke();
        self.has_journal_failed = true;
        self.is_stopping = true;
    }

    /// A run gives up after some failures in a row, however they come about.
    pub fn document_fails(&mut self) {
        self.failures_in_row += 1;
        if self.failures_in_row > MOST_FAILURES {
            self.documents_break();
        }
    }

    pub fn documents_break(&mut self) {
        self.something_broke();
        self.are_documents_broken = true;
    }

    pub fn learns_of_cancel(&mut self) {
        self.knows_cancel = true;
        self.is_stopping = true;
    }

    /// A step found that something fails.
    pub fn found(&mut self, step: &StepKey, words: String) {
        self.failures.insert(step.clone(), words);
    }

    /// The failure a fixing step is for: what the last look of its round found.
    pub fn failure(&self, fix: &StepKey) -> &str {
        let of_part = |name: String| match part(fix) {
            "" => name,
            part => format!("{part}.{name}"),
        };
        let round = fix.as_str().rsplit("fix").next().unwrap_or_default();
        let looks = ["recheck", "architect", "verifier", "check"];
        let names = looks.map(|look| of_part(format!("{look}{round}")));
        let found = |name: &String| self.failures.iter().find(|(step, _)| step.as_str() == name);
        names.iter().find_map(found).map_or("", |(_, words)| words)
    }

    /// The person fixed it: whatever came of that, the row ends.
    pub fn is_skipped(&mut self, step: &StepKey) {
        self.fixes.push((step.clone(), format!("the person did {step}")));
    }

    /// Five fixes in a row left the workspace as it was, for the same failure.
    pub fn is_stuck(&self) -> bool {
        let Some((last, print)) = self.fixes.last() else { return false };
        let of_part = |key: &StepKey| part(key) == part(last);
        let row = self.fixes.iter().rev().take_while(|(key, other)| of_part(key) && other == print);
        row.count() >= 5
    }
}

/// All of a step's name but its last word.
fn part(key: &StepKey) -> &str {
    key.as_str().rsplit_once('.').map_or("", |(part, _)| part)
}

impl SimWorld {
    /// An agent meets a failure.
    pub fn meets(&mut self, number: usize, cause: &FailureCause) {
        let agent = &self.agents[number];
        let step = agent.step.clone();
        match cause {
            FailureCause::RateLimited { until: Some(until), .. } if *until > self.now => {
                let counters = self.documents.counters();
                self.rules.waiting.insert(step, (*until, counters));
            }
            FailureCause::NotLoggedIn { .. } => {
                self.rules.reasons.insert(UnfinishedReason::Account);
            }
            FailureCause::RateLimited { .. }
            | FailureCause::Network { .. }
            | FailureCause::Service { .. }
            | FailureCause::CutOff { .. } => {
                self.rules.pauses.entry(step.clone()).or_insert(self.now);
                self.rules.paused.insert(step);
            }
            FailureCause::Crashed { .. } | FailureCause::Silent { .. } => {
                *self.rules.breaks.entry(step).or_default() += 1;
            }
            FailureCause::Rejected { .. } => {
                self.rules.reasons.insert(UnfinishedReason::Rejected);
            }
            FailureCause::UnknownConversation { .. } => self.work_is_lost(&step),
            _ => {}
        }
    }

    /// A conversation is gone, and perhaps work with it.
    pub fn work_is_lost(&mut self, step: &StepKey) {
        let mut receivers = self.conversations.iter().filter(|known| known.step == *step);
        if receivers.any(|known| known.kind.is_none_or(|kind| kind == ResultKind::Work)) {
            self.rules.reasons.insert(UnfinishedReason::LostWork);
        }
    }

    /// Whether the budget is used up.
    pub fn is_over_budget(&self) -> bool {
        let budget = self.budget();
        let usage = self.journal.usage;
        let worked = self.journal.worked_ms + self.worked_ms();
        budget.tokens.is_some_and(|most| usage.tokens() >= most)
            || budget.micro_usd.is_some_and(|most| usage.micro_usd.unwrap_or(0) >= most)
            || budget.seconds.is_some_and(|most| worked >= most * 1000)
    }

    /// The budget in force.
    pub fn budget(&self) -> Budget {
        self.scenario.spec.budget.changed_by(self.journal.limits.budget)
    }

    /// The iteration limit in force, if anybody set one.
    pub fn max_iterations(&self) -> Option<u64> {
        self.journal.limits.max_iterations.or(self.scenario.spec.max_iterations)
    }

    /// How long this process has had the run.
    pub fn worked_ms(&self) -> u64 {
        self.now.millis_since(self.rules.opened_at.unwrap_or(self.now)) as u64
    }
}
