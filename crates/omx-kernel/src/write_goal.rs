//! What a write asks for, once its words are understood: which phase, which
//! end, live or not. Requests that ask for two things at once stop here.

use crate::document::{Document, stage_phases};
use crate::mode::Mode;
use crate::outcome::{RunEnding, RunOutcome, parse_lifecycle};
use crate::phase::{self, PhaseTarget};
use crate::refusal::{Refusal, RefusalCode};
use crate::request::{WriteIntent, WriteRequest};

/// The meaning of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WriteGoal {
    /// The request says `active`.
    pub active: Option<bool>,
    /// It wants the run to be live: by `active`, a start or a resume.
    pub wants_live: bool,
    /// A live phase to go to.
    pub phase: Option<String>,
    /// An end to go to.
    pub ending: Option<RunEnding>,
    /// A live outcome (`continue` or `progress`).
    pub live_outcome: Option<RunOutcome>,
    /// The phase word as it was written, where it was another spelling.
    pub normalized_from: Option<String>,
    /// The pipeline's stages, from the request or the document.
    pub stages: Vec<String>,
}

impl WriteGoal {
    /// Understands the request, given the document it is for.
    pub fn parse(request: &WriteRequest, old: Option<&Document>) -> Result<Self, Refusal> {
        let mode = request.mode;
        let stages = stages(request, old)?;
        let active = request.get("active").and_then(|value| value.as_bool());
        let mut asked = Self {
            active,
            wants_live: active == Some(true) || request.intent != WriteIntent::Change,
            phase: None,
            ending: None,
            live_outcome: None,
            normalized_from: None,
            stages,
        };
        if let Some(word) = request.get_str("current_phase") {
            let read = phase::parse_phase(mode, word, &asked.stages)?;
            asked.normalized_from = read.normalized_from;
            match read.target {
                PhaseTarget::Live(phase) => asked.phase = Some(phase),
                PhaseTarget::End(ending) => asked.end_as(ending)?,
            }
        }
        if let Some(word) = request.get_str("run_outcome") {
            match RunOutcome::parse(word)? {
                RunOutcome::Ended(ending) => asked.end_as(ending)?,
                live => asked.live_outcome = Some(live),
            }
        }
        if let Some(word) = request.get_str("lifecycle_outcome") {
            asked.end_as(parse_lifecycle(word)?)?;
        }
        asked.check(mode, request, old)?;
        Ok(asked)
    }

    fn end_as(&mut self, ending: RunEnding) -> Result<(), Refusal> {
        match self.ending {
            Some(other) if other != ending => Err(contradiction(format!(
                "a run cannot end as {} and as {} at once",
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
            return Err(contradiction("active false cannot go with start or resume"));
        }
        if let Some(ending) = self.ending {
            if self.wants_live {
                return Err(contradiction(format!(
                    "a live run cannot have the end {:?}; give active false, or leave it out",
                    ending.lifecycle_outcome()
                )));
            }
            if self.live_outcome.is_some() {
                return Err(contradiction(format!(
                    "a run cannot go on and end as {} at once",
                    ending.lifecycle_outcome()
                )));
            }
            if ending == RunEnding::Finished && self.phase.is_some() {
                return Err(contradiction("a finished run has no live phase"));
            }
        } else if self.active == Some(false) {
            if self.live_outcome.is_some() {
                return Err(contradiction(
                    "active false cannot go with an outcome that goes on; end it with run_outcome finish, failed, blocked_on_user or cancelled",
                ));
            }
            let moves = old.is_some_and(|document| {
                document.is_active()
                    && self.phase.as_deref().is_some_and(|phase| document.phase() != Some(phase))
            });
            if moves {
                return Err(contradiction(format!(
                    "active false ends {}; it cannot enter a live phase in the same write",
                    mode.name()
                )));
            }
            // Nothing else said: the run was stopped.
            if old.is_none_or(Document::is_active) {
                self.ending = Some(RunEnding::Cancelled);
            }
        } else if self.stays_live(old) && request.get_str("completed_at").is_some() {
            return Err(contradiction("a live run has no completed_at"));
        }
        let waits = request.get("waiting").is_some_and(|value| !value.is_null());
        if waits && !self.stays_live(old) {
            return Err(contradiction("only a live run waits"));
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

fn stages(request: &WriteRequest, old: Option<&Document>) -> Result<Vec<String>, Refusal> {
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
                // Active again without a resume is a new run, which carries nothing over.
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
