//! The goal of a write: which phase, which ending, live or not. A request that contradicts
//! itself is refused here.

use crate::document::{Document, stage_phases};
use crate::mode::Mode;
use crate::outcome::{DocumentOutcome, RunEnding, parse_lifecycle};
use crate::phase::{self, PhaseTarget};
use crate::refusal::{Refusal, RefusalCode};
use crate::request::{WriteIntent, WriteRequest};

/// The goal of a write request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WriteGoal {
    /// The request's value of `active`.
    pub active: Option<bool>,
    /// Whether the request wants a live run: by `active`, a start or a resume.
    pub wants_live: bool,
    /// The live phase to enter.
    pub phase: Option<String>,
    /// The ending.
    pub ending: Option<RunEnding>,
    /// The outcome of a live run (`continue` or `progress`).
    pub live_outcome: Option<DocumentOutcome>,
    /// The original spelling of the phase, if it was normalized.
    pub normalized_from: Option<String>,
    /// A pipeline's stages, from the request or the document.
    pub stages: Vec<String>,
}

impl WriteGoal {
    /// Determines the goal of a request for the document `old`.
    pub fn parse(request: &WriteRequest, old: Option<&Document>) -> Result<Self, Refusal> {
        let mode = request.mode;
        let stages = parse_stages(request, old)?;
        let active = request.get("active").and_then(|value| value.as_bool());
        let mut goal = Self {
            active,
            wants_live: active == Some(true) || request.intent != WriteIntent::Change,
            phase: None,
            ending: None,
            live_outcome: None,
            normalized_from: None,
            stages,
        };
        if let Some(word) = request.get_str("current_phase") {
            let read = phase::parse_phase(mode, word, &goal.stages)?;
            goal.normalized_from = read.normalized_from;
            match read.target {
                PhaseTarget::Live(phase) => goal.phase = Some(phase),
                PhaseTarget::End(ending) => goal.set_ending(ending)?,
            }
        }
        if let Some(word) = request.get_str("run_outcome") {
            match DocumentOutcome::parse(word)? {
                DocumentOutcome::Ended(ending) => goal.set_ending(ending)?,
                live => goal.live_outcome = Some(live),
            }
        }
        if let Some(word) = request.get_str("lifecycle_outcome") {
            goal.set_ending(parse_lifecycle(word)?)?;
        }
        goal.check(mode, request, old)?;
        Ok(goal)
    }

    fn set_ending(&mut self, ending: RunEnding) -> Result<(), Refusal> {
        match self.ending {
            Some(other) if other != ending => Err(contradiction(format!(
                "a run cannot end both as {} and as {}",
                other.lifecycle_outcome(),
                ending.lifecycle_outcome()
            ))),
            _ => {
                self.ending = Some(ending);
                Ok(())
            }
        }
    }

    fn check(
        &mut self,
        mode: Mode,
        request: &WriteRequest,
        old: Option<&Document>,
    ) -> Result<(), Refusal> {
        if self.active == Some(false) && request.intent != WriteIntent::Change {
            return Err(contradiction("active false cannot be combined with start or resume"));
        }
        if let Some(ending) = self.ending {
            if self.wants_live {
                return Err(contradiction(format!(
                    "a live run cannot have the outcome {:?}; set active to false, or omit it",
                    ending.lifecycle_outcome()
                )));
            }
            if self.live_outcome.is_some() {
                return Err(contradiction(format!(
                    "one write cannot both continue the run and end it as {}",
                    ending.lifecycle_outcome()
                )));
            }
            if ending == RunEnding::Finished && self.phase.is_some() {
                return Err(contradiction("a finished run has no live phase"));
            }
        } else if self.active == Some(false) {
            if self.live_outcome.is_some() {
                return Err(contradiction(
                    "active false needs a final run_outcome: finish, failed, blocked_on_user or cancelled",
                ));
            }
            let changes_phase = old.is_some_and(|document| {
                document.is_active()
                    && self.phase.as_deref().is_some_and(|phase| document.phase() != Some(phase))
            });
            if changes_phase {
                return Err(contradiction(format!(
                    "active false ends {}; the same write cannot also enter a live phase",
                    mode.name()
                )));
            }
            // Without another outcome, `active: false` cancels the run.
            if old.is_none_or(Document::is_active) {
                self.ending = Some(RunEnding::Cancelled);
            }
        } else if self.stays_live(old) && request.get_str("completed_at").is_some() {
            return Err(contradiction("a live run has no completed_at"));
        }
        let sets_waiting = request.get("waiting").is_some_and(|value| !value.is_null());
        if sets_waiting && !self.stays_live(old) {
            return Err(contradiction("only a live run can have the field waiting"));
        }
        Ok(())
    }

    fn stays_live(&self, old: Option<&Document>) -> bool {
        self.wants_live
            || (self.ending.is_none()
                && self.active.is_none()
                && old.is_some_and(Document::is_active))
    }
}

fn parse_stages(request: &WriteRequest, old: Option<&Document>) -> Result<Vec<String>, Refusal> {
    if request.mode != Mode::Pipeline {
        return Ok(Vec::new());
    }
    match request.get("stages").filter(|value| !value.is_null()) {
        Some(value) => stage_phases(value).ok_or_else(|| {
            Refusal::invalid_input("stages must be an array of names, or of objects with a name")
        }),
        None => Ok(old
            .filter(|document| match request.intent {
                WriteIntent::Start => false,
                WriteIntent::Resume => true,
                // Active again without a resume is a new run, which inherits nothing.
                WriteIntent::Change => document.is_active() || !wants_active(request),
            })
            .map(Document::stages)
            .unwrap_or_default()),
    }
}

fn wants_active(request: &WriteRequest) -> bool {
    request.get("active").and_then(|value| value.as_bool()) == Some(true)
}

pub(crate) fn contradiction(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalCode::Contradiction, message)
}
