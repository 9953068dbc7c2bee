//! How a run ended, judged by what really happened.

use omx_agents::results::{ResultKind, ReviewKind};
use omx_conductor::engine::RunOutcome;
use omx_kernel::{DocumentStatus, Mode, RunEnding, Timestamp};
use omx_runs::VerificationLevel;

use super::rules::UnfinishedReason;
use super::workspace::WorkspaceFact;
use super::world::SimWorld;

impl SimWorld {
    /// What holds after a process has released the run.
    pub fn check_closed(&mut self, outcome: &RunOutcome) {
        self.check_let_go();
        let is_recorded = self.journal.closed == Some(outcome.reason());
        if !is_recorded && !self.rules.has_journal_failed {
            self.fail("the journal says how it ended", format!("{:?}", self.journal.closed));
        }
        if !self.rules.are_documents_broken {
            self.check_documents(outcome);
        }
        if matches!(outcome, RunOutcome::Cancelled) && !self.documents.are_cancelled {
            self.fail("only a cancelled run is cancelled", "");
        }
        if self.rules.knows_cancel && *outcome != RunOutcome::Cancelled {
            self.fail("a cancelled run ends as cancelled", format!("{outcome:?}"));
        }
        if self.rules.has_journal_failed
            && !matches!(outcome, RunOutcome::Failed(_) | RunOutcome::Cancelled)
        {
            self.fail("a run without a journal fails", format!("{outcome:?}"));
        }
        if self.rules.is_stuck() && matches!(outcome, RunOutcome::Blocked(_)) {
            self.seen.insert("stuck".to_owned());
        }
        match outcome {
            RunOutcome::Complete(words) => self.is_complete(words),
            RunOutcome::Failed(_) if self.rules.has_journal_failed => {}
            RunOutcome::Failed(words) if self.keeps_coming_back() => self.is_written(words),
            RunOutcome::Failed(words) if !self.may_fail() => {
                self.fail("it fails for a reason", words)
            }
            RunOutcome::Blocked(words)
                if self.rules.are_documents_broken && words.contains("the disk is full") =>
            {
                self.seen.insert("full disk".to_owned());
            }
            RunOutcome::Blocked(words) if !self.may_block() => {
                self.fail("the person is needed for a reason", words);
            }
            RunOutcome::Blocked(words)
                if words.contains("no progress") && !self.rules.is_stuck() =>
            {
                self.fail("one that moves is not paused", words);
            }
            RunOutcome::Limit(words) => self.is_at_limit(words),
            RunOutcome::Budget(words) if !self.is_over_budget() => {
                self.fail("a budget ends what has used it up", words);
            }
            RunOutcome::Interrupted if !self.rules.is_stopping => {
                self.fail("only the person interrupts", "");
            }
            _ => {}
        }
    }

    fn check_documents(&self, outcome: &RunOutcome) {
        if !self.documents.active().is_empty() {
            self.fail("nothing stays active", format!("{:?}", self.documents.active()));
        }
        if self.documents.are_cancelled && *outcome != RunOutcome::Cancelled {
            self.fail("a cancelled run ends as cancelled", format!("{outcome:?}"));
        }
        if !self.rules.has_begun_document || self.rules.has_journal_failed {
            return;
        }
        let wanted = match outcome {
            RunOutcome::Complete(_) => RunEnding::Finished,
            RunOutcome::Failed(_) | RunOutcome::Limit(_) => RunEnding::Failed,
            RunOutcome::Blocked(_) | RunOutcome::Budget(_) | RunOutcome::Interrupted => {
                RunEnding::Blocked
            }
            RunOutcome::Cancelled => RunEnding::Cancelled,
        };
        let life = self.documents.life(self.scenario.spec.mode);
        if life != Some(DocumentStatus::Ended(wanted)) {
            self.fail("the documents say how it ended", format!("{outcome:?}, they {life:?}"));
        }
    }

    pub fn may_fail(&self) -> bool {
        let rules = &self.rules;
        rules.reasons.contains(&UnfinishedReason::Rejected)
            || rules.reasons.contains(&UnfinishedReason::Broke)
            || rules.unreadable.values().any(|times| *times >= 2)
            || rules.breaks.values().any(|times| *times >= 3)
            || (self.scenario.spec.mode == Mode::Pipeline && self.last_answer_ends())
    }

    pub fn may_block(&self) -> bool {
        let rules = &self.rules;
        rules.reasons.contains(&UnfinishedReason::Account)
            || rules.reasons.contains(&UnfinishedReason::LostWork)
            || rules.pauses.values().any(|first| self.is_patience_over(*first))
            || rules.is_stuck()
            || self.scenario.spec.task.raw().contains("politely")
            || (self.scenario.spec.mode == Mode::Ultraqa && self.scenario.spec.check.is_none())
            || self.last_answer_ends()
            || self.changed_nothing()
    }

    fn is_patience_over(&self, first: Timestamp) -> bool {
        let patience = self.scenario.spec.limits.patience_s;
        self.now.millis_since(first) >= i64::try_from(patience * 1000).unwrap()
    }

    fn last_answer_ends(&self) -> bool {
        let answers = self.workspace.facts.iter().rev();
        let mut answers = answers.filter(|fact| matches!(fact, WorkspaceFact::Answered { .. }));
        matches!(answers.next(), Some(WorkspaceFact::Answered { ends_run: true, .. }))
    }

    /// An autopilot that has nothing to review.
    pub fn changed_nothing(&self) -> bool {
        let nobody_tells = self.scenario.reports_no_files || !self.rules.skipped.is_empty();
        self.scenario.spec.mode == Mode::Autopilot && nobody_tells
    }

    fn is_at_limit(&self, words: &str) {
        self.is_written(words);
        if !words.contains("reached") {
            self.fail("a limit ends what has reached it", words);
        }
    }

    fn is_written(&self, words: &str) {
        let error = self.documents.error(self.scenario.spec.mode).unwrap_or_default();
        let is_told = self.rules.has_begun_document && !self.documents.are_cancelled;
        if error != words && is_told {
            self.fail("an end is written as what it is", format!("{error:?}, not {words:?}"));
        }
    }

    /// The same finding or failure for the third time ended it.
    fn keeps_coming_back(&self) -> bool {
        let error = self.documents.error(self.scenario.spec.mode);
        error.is_some_and(|error| error.contains(" came back "))
    }

    fn is_complete(&self, words: &str) {
        let spec = &self.scenario.spec;
        let facts = &self.workspace.facts;
        match spec.mode {
            Mode::Ralplan => self.is_agreed(facts),
            Mode::Ralph => self.is_built(facts),
            Mode::Autopilot => {
                let last_plan = last(facts, |fact| is_answer(fact, ResultKind::Plan));
                let (planned, built) = facts.split_at(last_plan.unwrap_or(0));
                let of_plan = |fact: &WorkspaceFact| match fact {
                    WorkspaceFact::Kept => true,
                    WorkspaceFact::Answered { kind, .. } => {
                        *kind != ResultKind::Work && *kind != ResultKind::Verification
                    }
                    _ => false,
                };
                let agreed: Vec<WorkspaceFact> =
                    planned.iter().chain(built).filter(|fact| of_plan(fact)).cloned().collect();
                self.is_agreed(&agreed);
                self.is_built(built);
                for lane in [ReviewKind::Code, ReviewKind::ArchitectInCodeReview] {
                    self.is_last_good(facts, ResultKind::Review(lane), |_| false);
                }
            }
            Mode::CodeReview => {
                let lanes = [ReviewKind::Code, ReviewKind::ArchitectInCodeReview];
                let good = lanes.map(|lane| last_good(facts, ResultKind::Review(lane), None));
                let is_clean = good == [Some(true); 2];
                if good.contains(&None) {
                    self.fail("a review has two lanes", "one is missing");
                }
                if is_clean == words.starts_with("Not clean") {
                    self.fail("a review says what the lanes said", words);
                }
            }
            Mode::Ultraqa => self.is_checked(facts),
            _ => self.is_through(facts),
        }
    }

    /// Architect and critic approved the last plan, and it was kept.
    fn is_agreed(&self, facts: &[WorkspaceFact]) {
        let plan = last(facts, |fact| is_answer(fact, ResultKind::Plan));
        let Some(plan) = plan else { self.fail("a plan was made", "none was") };
        for lane in [ReviewKind::Architect, ReviewKind::Critic] {
            if last_good(&facts[plan..], ResultKind::Review(lane), None) != Some(true) {
                self.fail("a plan is approved by architect and critic", format!("{lane:?}"));
            }
        }
        if !facts[plan..].contains(&WorkspaceFact::Kept) {
            self.fail("a plan is kept", "it is not");
        }
    }

    /// Verified after all work but the tidying, and checked after that.
    fn is_built(&self, facts: &[WorkspaceFact]) {
        let roles: &[&str] = match self.scenario.spec.verification {
            VerificationLevel::Light | VerificationLevel::Standard => &["verifier"],
            VerificationLevel::Thorough => &["verifier", "architect"],
        };
        for role in roles {
            let is_tidying = |fact: &WorkspaceFact| matches!(fact, WorkspaceFact::Edited { step } if step.as_str().contains("tidy"));
            let edits = last(facts, |fact| {
                matches!(fact, WorkspaceFact::Edited { .. }) && !is_tidying(fact)
            });
            let good = last_good(facts, ResultKind::Verification, Some(role));
            let at = last(facts, |fact| {
                matches!(fact, WorkspaceFact::Answered { kind, role: own, .. }
                    if *kind == ResultKind::Verification && own == role)
            });
            if good != Some(true) || at < edits {
                self.fail("a change is verified as it is", role);
            }
        }
        if self.scenario.spec.check.is_some() {
            self.is_checked(facts);
        }
    }

    /// The last check passed, and nothing was changed after it.
    fn is_checked(&self, facts: &[WorkspaceFact]) {
        let check = last(facts, |fact| matches!(fact, WorkspaceFact::Checked { .. }));
        let edit = last(facts, |fact| matches!(fact, WorkspaceFact::Edited { .. }));
        let passed = check.map(|at| facts[at] == WorkspaceFact::Checked { passed: true });
        if passed != Some(true) || check < edit {
            self.fail("the check passes for what is there", format!("{check:?} {edit:?}"));
        }
    }

    /// Every stage was done, in order, and none of them failed.
    fn is_through(&self, facts: &[WorkspaceFact]) {
        let mut before = None;
        for number in 1..=self.scenario.spec.stages.len() {
            let name = format!("stage{number}");
            let at = last(
                facts,
                |fact| matches!(fact, WorkspaceFact::Answered { step, .. } if step.as_str() == name),
            );
            let fails = at.is_some_and(|at| {
                matches!(facts[at], WorkspaceFact::Answered { ends_run: true, .. })
            });
            let is_skipped = self.rules.skipped.contains(&name);
            if !is_skipped && (at.is_none() || fails || at < before) {
                self.fail("a pipeline goes through all its stages", name);
            }
            before = at.max(before);
        }
    }

    /// The last answer of a kind is good, and nothing was changed after it.
    fn is_last_good(
        &self,
        facts: &[WorkspaceFact],
        kind: ResultKind,
        excused: impl Fn(&WorkspaceFact) -> bool,
    ) {
        let at = last(facts, |fact| is_answer(fact, kind));
        let edit =
            last(facts, |fact| matches!(fact, WorkspaceFact::Edited { .. }) && !excused(fact));
        if last_good(facts, kind, None) != Some(true) || at < edit {
            self.fail("the last review is clean, and of what is there", format!("{kind:?}"));
        }
    }
}

fn last(facts: &[WorkspaceFact], fits: impl Fn(&WorkspaceFact) -> bool) -> Option<usize> {
    facts.iter().rposition(fits)
}

fn is_answer(fact: &WorkspaceFact, wanted: ResultKind) -> bool {
    matches!(fact, WorkspaceFact::Answered { kind, .. } if *kind == wanted)
}

/// Whether the last answer of a kind, and of a role if one is named, was good.
fn last_good(facts: &[WorkspaceFact], wanted: ResultKind, of: Option<&str>) -> Option<bool> {
    facts.iter().rev().find_map(|fact| match fact {
        WorkspaceFact::Answered { kind, role, is_good, .. }
            if *kind == wanted && of.is_none_or(|of| of == role) =>
        {
            Some(*is_good)
        }
        _ => None,
    })
}
