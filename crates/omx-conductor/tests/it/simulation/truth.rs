//! How a run ended, judged by what really happened.

use omx_agents::AgentEvent;
use omx_agents::results::{ResultKind, ReviewKind};
use omx_conductor::engine::{Engine, Happening, Outcome};
use omx_kernel::{DocumentStatus, Mode, RunEnding};
use omx_runs::spec::VerificationLevel;

use super::folder::Deed;
use super::rules::Reason;
use super::world::World;

impl World {
    /// What holds when a process has let go of the run.
    pub fn is_closed(&mut self, engine: &mut Engine, outcome: &Outcome) {
        self.stays_closed(engine);
        if self.journal.closed.as_deref() != Some(outcome.as_str()) {
            self.broken("the journal knows how it ended", format!("{:?}", self.journal.closed));
        }
        if !self.documents.active().is_empty() {
            self.broken("nothing stays active", format!("{:?}", self.documents.active()));
        }
        let mode = self.scenario.asked.mode;
        let wanted = match outcome {
            // The cancel came first, and the process had not heard of it.
            _ if self.documents.are_cancelled => RunEnding::Cancelled,
            Outcome::Complete(_) => RunEnding::Finished,
            Outcome::Failed(_) | Outcome::Limit(_) => RunEnding::Failed,
            Outcome::Blocked(_) | Outcome::Budget(_) | Outcome::Interrupted => RunEnding::Blocked,
            Outcome::Cancelled => RunEnding::Cancelled,
        };
        let life = self.documents.life(mode);
        if life != Some(DocumentStatus::Ended(wanted)) {
            self.broken("the documents say how it ended", format!("{outcome:?}, they {life:?}"));
        }
        if matches!(outcome, Outcome::Cancelled) && !self.documents.are_cancelled {
            self.broken("only a cancelled run is cancelled", "");
        }
        if self.rules.knows_cancel && *outcome != Outcome::Cancelled {
            self.broken("a cancelled run ends as cancelled", format!("{outcome:?}"));
        }
        self.is_within_limit();
        if self.rules.is_stuck() && matches!(outcome, Outcome::Blocked(_)) {
            self.seen.insert("stuck".to_owned());
        }
        match outcome {
            Outcome::Complete(words) => self.is_complete(words),
            Outcome::Failed(words) if self.keeps_coming_back() => self.is_written(words),
            // A cancel in between keeps the reason out of the documents.
            Outcome::Failed(words)
                if self.documents.are_cancelled && words.contains(" came back ") => {}
            Outcome::Failed(words) if !self.may_fail() => {
                self.broken("it fails for a reason", words)
            }
            Outcome::Blocked(words) if !self.may_block() => {
                self.broken("the person is needed for a reason", words);
            }
            Outcome::Blocked(words) if words.contains("no progress") && !self.rules.is_stuck() => {
                self.broken("one that moves is not paused", words);
            }
            Outcome::Limit(words) => self.is_at_limit(words),
            Outcome::Budget(words) if !self.is_over_budget() => {
                self.broken("a budget ends what has used it up", words);
            }
            Outcome::Interrupted if !self.rules.is_stopping => {
                self.broken("only the person interrupts", "");
            }
            _ => {}
        }
    }

    /// Whatever else happens, nothing follows.
    fn stays_closed(&self, engine: &mut Engine) {
        let step = self.rules.begun.last().cloned();
        let late = step.map(|step| Happening::Agent(step, AgentEvent::Ended(None)));
        let late =
            late.into_iter().chain([Happening::Time, Happening::Cancelled, Happening::Interrupted]);
        for happening in late {
            let effects = engine.handle(happening, self.now);
            if !effects.is_empty() {
                self.broken("nothing follows the close", format!("{effects:?}"));
            }
        }
        if let Some(wake) = engine.wake() {
            self.broken("a closed run wants nothing", wake);
        }
    }

    pub fn may_fail(&self) -> bool {
        let rules = &self.rules;
        rules.reasons.contains(&Reason::Rejected)
            || rules.reasons.contains(&Reason::Broke)
            || rules.unreadable.values().any(|times| *times >= 2)
            || rules.breaks.values().any(|times| *times >= 3)
            || (self.scenario.asked.mode == Mode::Pipeline && self.last_answer_ends())
    }

    pub fn may_block(&self) -> bool {
        let rules = &self.rules;
        rules.reasons.contains(&Reason::Account)
            || rules.reasons.contains(&Reason::LostWork)
            || rules.pauses.values().any(|times| *times >= 4)
            || rules.is_stuck()
            || self.scenario.asked.task.contains("politely")
            || (self.scenario.asked.mode == Mode::Ultraqa && self.scenario.asked.check.is_none())
            || self.last_answer_ends()
            || self.changed_nothing()
    }

    fn last_answer_ends(&self) -> bool {
        let answers = self.folder.deeds.iter().rev();
        let mut answers = answers.filter(|deed| matches!(deed, Deed::Answered { .. }));
        matches!(answers.next(), Some(Deed::Answered { ends_run: true, .. }))
    }

    /// An autopilot that has nothing to review.
    pub fn changed_nothing(&self) -> bool {
        let nobody_tells = self.scenario.tells_no_files || !self.rules.skipped.is_empty();
        self.scenario.asked.mode == Mode::Autopilot && nobody_tells
    }

    /// No more rounds were begun than the run may have.
    fn is_within_limit(&self) {
        let mode = self.scenario.asked.mode;
        let Some((_, most)) = self.documents.iteration(mode) else { return };
        let begins = |step: &&str| match mode {
            Mode::Autopilot => step.ends_with(".plan.draft"),
            Mode::Ralph => step.starts_with("verifier"),
            Mode::Ralplan => step.starts_with("critic"),
            Mode::Ultraqa => step.starts_with("check"),
            _ => false,
        };
        let rounds: Vec<&str> =
            self.rules.begun.iter().map(|step| step.as_str()).filter(begins).collect();
        if rounds.len() as u64 > most {
            self.broken("a limit is a limit", format!("{most}, and begun were {rounds:?}"));
        }
    }

    fn is_at_limit(&self, words: &str) {
        self.is_written(words);
        if !words.contains("reached") {
            self.broken("a limit ends what has reached it", words);
        }
    }

    fn is_written(&self, words: &str) {
        let error = self.documents.error(self.scenario.asked.mode).unwrap_or_default();
        if error != words && !self.documents.are_cancelled {
            self.broken("an end is written as what it is", format!("{error:?}, not {words:?}"));
        }
    }

    /// The same finding or failure for the third time ended it.
    fn keeps_coming_back(&self) -> bool {
        let error = self.documents.error(self.scenario.asked.mode);
        error.is_some_and(|error| error.contains(" came back "))
    }

    fn is_complete(&self, words: &str) {
        let asked = &self.scenario.asked;
        let deeds = &self.folder.deeds;
        match asked.mode {
            Mode::Ralplan => self.is_agreed(deeds),
            Mode::Ralph => self.is_built(deeds),
            Mode::Autopilot => {
                let last_plan = last(deeds, |deed| is_answer(deed, ResultKind::Plan));
                let (planned, built) = deeds.split_at(last_plan.unwrap_or(0));
                let of_plan = |deed: &Deed| match deed {
                    Deed::Kept => true,
                    Deed::Answered { kind, .. } => {
                        *kind != ResultKind::Work && *kind != ResultKind::Verification
                    }
                    _ => false,
                };
                let agreed: Vec<Deed> =
                    planned.iter().chain(built).filter(|deed| of_plan(deed)).cloned().collect();
                self.is_agreed(&agreed);
                self.is_built(built);
                for lane in [ReviewKind::Code, ReviewKind::ArchitectInCodeReview] {
                    self.is_last_good(deeds, ResultKind::Review(lane), |_| false);
                }
            }
            Mode::CodeReview => {
                let lanes = [ReviewKind::Code, ReviewKind::ArchitectInCodeReview];
                let good = lanes.map(|lane| last_good(deeds, ResultKind::Review(lane), None));
                let is_clean = good == [Some(true); 2];
                if good.contains(&None) {
                    self.broken("a review has two lanes", "one is missing");
                }
                if is_clean == words.starts_with("Not clean") {
                    self.broken("a review says what the lanes said", words);
                }
            }
            Mode::Ultraqa => self.is_checked(deeds),
            _ => self.is_through(deeds),
        }
    }

    /// Architect and critic approved the last plan, and it was kept.
    fn is_agreed(&self, deeds: &[Deed]) {
        let plan = last(deeds, |deed| is_answer(deed, ResultKind::Plan));
        let Some(plan) = plan else { self.broken("a plan was made", "none was") };
        for lane in [ReviewKind::Architect, ReviewKind::Critic] {
            if last_good(&deeds[plan..], ResultKind::Review(lane), None) != Some(true) {
                self.broken("a plan is approved by architect and critic", format!("{lane:?}"));
            }
        }
        if !deeds[plan..].contains(&Deed::Kept) {
            self.broken("a plan is kept", "it is not");
        }
    }

    /// Verified after all work but the tidying, and checked after that.
    fn is_built(&self, deeds: &[Deed]) {
        let roles: &[&str] = match self.scenario.asked.verification {
            VerificationLevel::Light | VerificationLevel::Standard => &["verifier"],
            VerificationLevel::Thorough => &["verifier", "architect"],
        };
        for role in roles {
            let is_tidying = |deed: &Deed| matches!(deed, Deed::Edited { step } if step.as_str().contains("tidy"));
            let edits =
                last(deeds, |deed| matches!(deed, Deed::Edited { .. }) && !is_tidying(deed));
            let good = last_good(deeds, ResultKind::Verification, Some(role));
            let at = last(deeds, |deed| {
                matches!(deed, Deed::Answered { kind, role: own, .. }
                    if *kind == ResultKind::Verification && own == role)
            });
            if good != Some(true) || at < edits {
                self.broken("a change is verified as it is", role);
            }
        }
        if self.scenario.asked.check.is_some() {
            self.is_checked(deeds);
        }
    }

    /// The last check passed, and nothing was changed after it.
    fn is_checked(&self, deeds: &[Deed]) {
        let check = last(deeds, |deed| matches!(deed, Deed::Checked { .. }));
        let edit = last(deeds, |deed| matches!(deed, Deed::Edited { .. }));
        let passed = check.map(|at| deeds[at] == Deed::Checked { passed: true });
        if passed != Some(true) || check < edit {
            self.broken("the check passes for what is there", format!("{check:?} {edit:?}"));
        }
    }

    /// Every stage was done, in order, and none of them failed.
    fn is_through(&self, deeds: &[Deed]) {
        let mut before = None;
        for number in 1..=self.scenario.asked.stages.len() {
            let name = format!("stage{number}");
            let at = last(
                deeds,
                |deed| matches!(deed, Deed::Answered { step, .. } if step.as_str() == name),
            );
            let fails =
                at.is_some_and(|at| matches!(deeds[at], Deed::Answered { ends_run: true, .. }));
            let is_skipped = self.rules.skipped.contains(&name);
            if !is_skipped && (at.is_none() || fails || at < before) {
                self.broken("a pipeline goes through all its stages", name);
            }
            before = at.max(before);
        }
    }

    /// The last answer of a kind is good, and nothing was changed after it.
    fn is_last_good(&self, deeds: &[Deed], kind: ResultKind, excused: impl Fn(&Deed) -> bool) {
        let at = last(deeds, |deed| is_answer(deed, kind));
        let edit = last(deeds, |deed| matches!(deed, Deed::Edited { .. }) && !excused(deed));
        if last_good(deeds, kind, None) != Some(true) || at < edit {
            self.broken("the last review is clean, and of what is there", format!("{kind:?}"));
        }
    }
}

fn last(deeds: &[Deed], fits: impl Fn(&Deed) -> bool) -> Option<usize> {
    deeds.iter().rposition(fits)
}

fn is_answer(deed: &Deed, wanted: ResultKind) -> bool {
    matches!(deed, Deed::Answered { kind, .. } if *kind == wanted)
}

/// Whether the last answer of a kind, and of a role if one is named, was good.
fn last_good(deeds: &[Deed], wanted: ResultKind, of: Option<&str>) -> Option<bool> {
    deeds.iter().rev().find_map(|deed| match deed {
        Deed::Answered { kind, role, is_good, .. }
            if *kind == wanted && of.is_none_or(|of| of == role) =>
        {
            Some(*is_good)
        }
        _ => None,
    })
}
