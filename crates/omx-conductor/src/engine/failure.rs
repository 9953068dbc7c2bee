//! Handles failures of agents by cause: wait, retry, ask the person, or give up.

use omx_agents::agent::AgentCommand;
use omx_agents::failure::{Failure, FailureCause};
use omx_kernel::Timestamp;
use omx_runs::progress::Progress;
use omx_runs::{Record, RunLimits, StepKey};
use serde_json::json;

use super::state::{ActiveStep, AfterEnd, StepState, Wait};
use super::{Engine, RunEffect, RunOutcome, progress};

/// How often to reopen a broken agent.
const REOPENINGS: u32 = 2;

/// The response to a failure.
enum Response {
    Wait(Wait),
    /// Reopen the conversation at once.
    Reopen,
    /// The conversation is lost: look at what is left of the step.
    Inspect,
    /// Only the person can resolve this.
    AskPerson,
    /// A retry makes no sense.
    Fail,
}

impl Engine {
    pub(super) fn agent_failed(
        &mut self,
        key: &StepKey,
        failure: Failure,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        if !matches!(active.state, StepState::Opening(_) | StepState::Talking) {
            return;
        }
        out.push(RunEffect::Show(progress::failure(key, &failure)));
        let after = match response(&failure.cause, active, self.spec.limits, now) {
            Response::Wait(wait) => AfterEnd::Rest(wait),
            Response::Reopen => {
                active.reopenings += 1;
                AfterEnd::Reopen
            }
            Response::Inspect => {
                active.lost = Some(failure.to_string());
                AfterEnd::Reopen
            }
            Response::AskPerson => {
                let words = match failure.remedy() {
                    Some(remedy) => format!("{failure}; {remedy}"),
                    None => failure.to_string(),
                };
                return self.stop(RunOutcome::Blocked(words), out, now);
            }
            Response::Fail => return self.step_failed(key, &failure.to_string(), out, now),
        };
        active.state = StepState::Ending(after.clone());
        if let AfterEnd::Rest(wait) = after {
            self.record_waiting(key, wait, out);
        }
        out.push(RunEffect::Command(key.clone(), AgentCommand::End));
    }

    /// A step failed, and the run with it. A resume retries the step.
    pub(super) fn step_failed(
        &mut self,
        key: &StepKey,
        error: &str,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let (step, words) = (key.clone(), error.to_owned());
        out.push(RunEffect::Record(Record::StepFailed { step, error: words }));
        if let Some(active) = self.active.get(key)
            && matches!(active.state, StepState::Working | StepState::Committing(_))
        {
            self.active.remove(key);
        }
        self.stop(RunOutcome::Failed(error.to_owned()), out, now);
    }

    fn record_waiting(&mut self, key: &StepKey, wait: Wait, out: &mut Vec<RunEffect>) {
        let (what, until) = (wait.what.to_owned(), wait.until.to_string());
        out.push(RunEffect::Record(Record::Waiting {
            step: key.clone(),
            what: what.clone(),
            until: Some(until.clone()),
        }));
        self.note_waiting(out);
        out.push(RunEffect::Show(Progress::Waiting { what: what.into(), until: until.into() }));
    }

    /// Keeps the run's document up to date about waiting. While any step waits, the
    /// document names the wait that ends first.
    pub(super) fn note_waiting(&mut self, out: &mut Vec<RunEffect>) {
        let waits = self.active.values().filter_map(|active| match active.state {
            StepState::Resting(wait) | StepState::Ending(AfterEnd::Rest(wait)) => Some(wait),
            _ => None,
        });
        let first = waits.min_by_key(|wait| wait.until);
        if self.waiting == first || self.stopping == Some(RunOutcome::Cancelled) {
            return;
        }
        self.waiting = first;
        let waiting = first.map(|wait| json!({"kind": wait.what, "until": wait.until.to_string()}));
        self.queue_note(json!({"waiting": waiting}), out);
    }
}

fn response(
    cause: &FailureCause,
    active: &mut ActiveStep,
    limits: RunLimits,
    now: Timestamp,
) -> Response {
    let patience_ms = limits.patience_s.saturating_mul(1000);
    let mut wait = |reset: Option<Timestamp>, what: &'static str| {
        let until = active.failures.next_retry(reset, patience_ms, now);
        until.map_or(Response::AskPerson, |until| Response::Wait(Wait { until, what }))
    };
    match cause {
        FailureCause::RateLimited { until, .. } => wait(*until, "rate_limit"),
        FailureCause::OutOfCredit { .. }
        | FailureCause::NotInstalled
        | FailureCause::NotLoggedIn { .. }
        | FailureCause::FolderNotTrusted
        | FailureCause::UnknownModel { .. }
        // The remaining processes may still change the workspace.
        | FailureCause::ProcessesLeft { .. } => Response::AskPerson,
        FailureCause::Network { .. }
        | FailureCause::Service { .. }
        | FailureCause::CutOff { .. } => wait(None, "network"),
        // Programs do not store a conversation without messages, so before delivery
        // this failure is expected.
        FailureCause::UnknownConversation { .. } => Response::Inspect,
        FailureCause::Silent { .. }
        | FailureCause::Garbage { .. }
        | FailureCause::LineTooLong { .. }
        | FailureCause::PipeClosed { .. }
        | FailureCause::Crashed { .. } => {
            if active.reopenings < REOPENINGS {
                Response::Reopen
            } else {
                Response::Fail
            }
        }
        FailureCause::Rejected { .. }
        | FailureCause::Protocol { .. }
        | FailureCause::CannotStart { .. }
        | FailureCause::Scenario { .. } => Response::Fail,
    }
}
