//! Closes a run: ends agents and jobs first, then the documents, then the journal.

use omx_agents::agent::AgentCommand;
use omx_kernel::{CloseReason, Timestamp};
use omx_runs::{Record, StepKey};
use serde_json::json;

use super::state::{ActiveStep, AfterEnd, StepState};
use super::{Engine, RunEffect};
use crate::workflow::{NextAction, StepKind, WorkflowEnd};

/// How a process ended its work on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// The workflow completed, with this summary.
    Complete(String),
    /// The workflow failed.
    Failed(String),
    /// The run used up its iterations.
    Limit(String),
    /// The run used up its budget.
    Budget(String),
    /// Only the person can resolve this.
    Blocked(String),
    /// The run was cancelled.
    Cancelled,
    /// The person interrupted the run.
    Interrupted,
}

impl RunOutcome {
    /// The reason as the journal records it.
    pub fn reason(&self) -> CloseReason {
        match self {
            Self::Complete(_) => CloseReason::Complete,
            Self::Failed(_) => CloseReason::Failed,
            Self::Limit(_) => CloseReason::Limit,
            Self::Budget(_) => CloseReason::Budget,
            Self::Blocked(_) => CloseReason::BlockedOnUser,
            Self::Cancelled => CloseReason::Cancelled,
            Self::Interrupted => CloseReason::Interrupted,
        }
    }

    /// The reason or summary; empty if the outcome says everything.
    pub fn words(&self) -> &str {
        match self {
            Self::Complete(words)
            | Self::Failed(words)
            | Self::Limit(words)
            | Self::Budget(words)
            | Self::Blocked(words) => words,
            Self::Cancelled | Self::Interrupted => "",
        }
    }
}

impl From<WorkflowEnd> for RunOutcome {
    fn from(end: WorkflowEnd) -> Self {
        match end {
            WorkflowEnd::Complete(words) => Self::Complete(words),
            WorkflowEnd::Failed(words) => Self::Failed(words),
            WorkflowEnd::Limit(words) => Self::Limit(words),
            WorkflowEnd::Blocked(words) => Self::Blocked(words),
        }
    }
}

impl Engine {
    /// Stops the run. The first reason wins, except that a cancel always does.
    pub(super) fn stop(&mut self, why: RunOutcome, out: &mut Vec<RunEffect>, now: Timestamp) {
        let is_first = self.stopping.is_none();
        if why == RunOutcome::Cancelled {
            if self.stopping != Some(RunOutcome::Cancelled) {
                self.documents.stop_opening();
                self.drop_changes();
                self.stopping = Some(why);
            }
        } else if is_first {
            self.stopping = Some(self.first_reason(why));
        } else if self.is_stopping_at_limit() && matches!(why, RunOutcome::Failed(_)) {
            // A higher limit must not continue a run that has failed meanwhile.
            self.take_back_end();
            self.stopping = Some(why);
        }
        if is_first {
            self.end_active(out);
        }
        self.close_if_idle(out, now);
    }

    /// Whether the run is being stopped at a limit, and would continue with a higher one.
    fn is_stopping_at_limit(&self) -> bool {
        matches!(self.stopping, Some(RunOutcome::Budget(_) | RunOutcome::Limit(_)))
            && !self.ended_by_workflow
    }

    /// If the workflow's last changes are already being written to the documents, the
    /// workflow has ended, whatever else would stop it now.
    fn first_reason(&mut self, why: RunOutcome) -> RunOutcome {
        if self.documents.is_untouched() {
            self.drop_changes();
        }
        match self.next.take() {
            Some(NextAction::End(end)) => {
                self.ended_by_workflow = true;
                RunOutcome::from(end)
            }
            _ => why,
        }
    }

    /// The journal cannot be written. What cannot be recorded must not happen, so the run stops.
    pub(super) fn journal_failed(&mut self, why: &str, out: &mut Vec<RunEffect>, now: Timestamp) {
        if std::mem::replace(&mut self.journal_failed, true) {
            return;
        }
        let is_first = self.stopping.is_none();
        let words = format!("the journal cannot be written: {why}");
        if self.closed {
            // The documents are already in their final state.
            self.closed = false;
        } else {
            self.ended_by_workflow = false;
            self.drop_changes();
            self.skip_in_flight(out);
        }
        if self.stopping != Some(RunOutcome::Cancelled) {
            self.stopping = Some(RunOutcome::Failed(words));
        }
        if is_first {
            self.end_active(out);
        }
        self.close_if_idle(out, now);
    }

    /// Ends agents and checks. Short jobs, such as a commit, run to their end.
    fn end_active(&mut self, out: &mut Vec<RunEffect>) {
        let is_idle = |_: &StepKey, active: &mut ActiveStep| {
            matches!(active.state, StepState::Resting(_) | StepState::Retrying(..))
        };
        for (key, active) in self.active.extract_if(.., is_idle) {
            self.interrupted.insert(key, active.into_interrupted());
        }
        for (key, active) in &mut self.active {
            match &active.state {
                StepState::Opening(_) | StepState::Talking => {
                    active.state = StepState::Ending(AfterEnd::Drop);
                    out.push(RunEffect::Command(key.clone(), AgentCommand::End));
                }
                StepState::Ending(AfterEnd::Rest(wait)) => {
                    active.rest = Some(*wait);
                    active.state = StepState::Ending(AfterEnd::Drop);
                }
                StepState::Ending(AfterEnd::Reopen) => {
                    active.state = StepState::Ending(AfterEnd::Drop);
                }
                StepState::Inspecting => {
                    active.state = StepState::Ending(AfterEnd::Drop);
                    out.push(RunEffect::StopJob(key.clone()));
                }
                StepState::Working if active.step.kind == StepKind::Check => {
                    active.state = StepState::Ending(AfterEnd::Drop);
                    out.push(RunEffect::StopJob(key.clone()));
                }
                StepState::Ending(_)
                | StepState::Working
                | StepState::Committing(_)
                | StepState::Resting(_)
                | StepState::Retrying(..) => {}
            }
        }
    }

    pub(super) fn close_if_idle(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        if self.closed || !self.active.is_empty() || self.documents.is_opening() {
            return;
        }
        let Some(why) = self.stopping.clone() else { return };
        if !std::mem::replace(&mut self.is_closing, true) {
            self.queue_end(&why, out);
        }
        if !self.documents.is_empty() {
            return;
        }
        self.closed = true;
        out.push(RunEffect::Record(Record::Closed {
            outcome: why.reason(),
            why: why.words().to_owned(),
            worked_ms: self.worked(now),
        }));
        out.push(RunEffect::Close(why));
    }

    /// Queues the changes that end the documents, unless the workflow has ended them itself.
    fn queue_end(&mut self, why: &RunOutcome, out: &mut Vec<RunEffect>) {
        if *why == RunOutcome::Cancelled {
            return self.queue_cancel(out);
        }
        self.note_waiting(out);
        if self.ended_by_workflow || !self.documents.needs_end() {
            return;
        }
        let fields = match why {
            RunOutcome::Failed(error) | RunOutcome::Limit(error) => {
                json!({"run_outcome": "failed", "error": error})
            }
            RunOutcome::Blocked(error) | RunOutcome::Budget(error) => {
                json!({"run_outcome": "blocked_on_user", "error": error})
            }
            RunOutcome::Interrupted => {
                json!({"run_outcome": "blocked_on_user", "error": "interrupted"})
            }
            RunOutcome::Complete(_) | RunOutcome::Cancelled => return,
        };
        self.queue_last(fields, out);
    }
}
