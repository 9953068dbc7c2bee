//! Trouble: wait, try again, ask the person, or give up; each for what it is.

use omx_agents::agent::AgentCommand;
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::results::ResultKind;
use omx_kernel::Timestamp;
use serde_json::json;

use super::resume::{rerun, skip};
use super::{Active, After, Doing, Effect, Engine, Known, Outcome, Wait, later};
use crate::show;
use crate::story::{StepKey, Work};
use omx_runs::Record;
use omx_runs::progress::Progress;

/// How long is waited before each further try at a service that fails.
const PAUSES_MS: [u64; 3] = [5_000, 30_000, 120_000];
/// The shortest wait for a limit.
const SHORTEST_PAUSE_MS: u64 = 5_000;
/// The word for a wait that is nobody's failure.
const RATE_LIMIT: &str = "rate_limit";
/// How often an agent that broke is opened again.
const REOPENINGS: u32 = 2;

/// What to do about trouble.
enum Way {
    /// Wait.
    Wait(Wait),
    /// Open the conversation again at once.
    Reopen,
    /// Forget the conversation and begin the step again.
    BeginAgain,
    /// Only the person can help.
    AskPerson,
    /// Only the person can say whether the step is done.
    AskDecision,
    /// It makes no sense to go on.
    Fail,
}

impl Engine {
    pub(super) fn trouble(
        &mut self,
        key: &StepKey,
        trouble: Failure,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        if matches!(active.doing, Doing::Ending(_) | Doing::Resting(_)) {
            return;
        }
        out.push(Effect::Show(show::trouble(key, &trouble)));
        let way = way(&trouble.cause, active, now);
        let after = match way {
            Way::Wait(wait) => {
                // A limit is no failure; only failures are counted.
                if wait.what != RATE_LIMIT {
                    active.pauses += 1;
                }
                After::Rest(wait)
            }
            Way::Reopen => {
                active.reopenings += 1;
                After::Reopen
            }
            Way::BeginAgain => {
                active.talk = Known::default();
                out.push(Effect::Show(Progress::Note(format!("{key} is begun again"))));
                let why = trouble.to_string();
                out.push(Effect::Record(Record::StepDiscarded { step: key.clone(), why }));
                let (step, input) = (key.clone(), active.input.clone());
                out.push(Effect::Record(Record::StepStarted { step, input, tree: None }));
                After::Reopen
            }
            Way::AskPerson => {
                let words = match trouble.remedy() {
                    Some(remedy) => format!("{trouble}; {remedy}"),
                    None => trouble.to_string(),
                };
                return self.stop(Outcome::Blocked(words), out, now);
            }
            Way::AskDecision => {
                let words = format!(
                    "{trouble}; what {key} did in it is not known. Look at the folder, then decide \
                     with {} or {}",
                    rerun(key),
                    skip(key)
                );
                return self.stop(Outcome::Blocked(words), out, now);
            }
            Way::Fail => return self.step_failed(key, &trouble.to_string(), out, now),
        };
        if let Some(active) = self.active.get_mut(key) {
            active.doing = Doing::Ending(after.clone());
        }
        if let After::Rest(wait) = after {
            self.note_waiting(key, wait, out);
        }
        out.push(Effect::Order(key.clone(), AgentCommand::End));
    }

    /// A step came to nothing, and the run with it; a resume tries it again.
    pub(super) fn step_failed(
        &mut self,
        key: &StepKey,
        error: &str,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        out.push(Effect::Record(Record::StepFailed { step: key.clone(), error: error.to_owned() }));
        if let Some(active) = self.active.get(key)
            && matches!(active.doing, Doing::Settling(_) | Doing::Keeping | Doing::Checking)
        {
            self.active.remove(key);
        }
        self.stop(Outcome::Failed(error.to_owned()), out, now);
    }

    fn note_waiting(&mut self, key: &StepKey, wait: Wait, out: &mut Vec<Effect>) {
        let (what, until) = (wait.what.to_owned(), wait.until.to_string());
        out.push(Effect::Record(Record::Waiting {
            step: key.clone(),
            what: what.clone(),
            until: Some(until.clone()),
        }));
        self.tell_waiting(out);
        out.push(Effect::Show(Progress::Waiting { what, until }));
    }

    /// The run's document says that it waits as long as any of its steps does,
    /// and names the wait that is over first.
    pub(super) fn tell_waiting(&mut self, out: &mut Vec<Effect>) {
        let waits = self.active.values().filter_map(|active| match active.doing {
            Doing::Resting(wait) | Doing::Ending(After::Rest(wait)) => Some(wait),
            _ => None,
        });
        let first = waits.min_by_key(|wait| wait.until);
        if self.waiting == first || self.stopping == Some(Outcome::Cancelled) {
            return;
        }
        self.waiting = first;
        let waiting = first.map(|wait| json!({"kind": wait.what, "until": wait.until.to_string()}));
        out.push(Effect::Note(self.asked.mode, json!({"waiting": waiting})));
    }

    /// What is due by the clock.
    pub(super) fn keep_time(&mut self, out: &mut Vec<Effect>, now: Timestamp) {
        self.mind_the_budget(out, now);
        if self.stopping.is_some() || self.closed {
            return;
        }
        let rested: Vec<StepKey> = self
            .active
            .iter()
            .filter(|(_, active)| matches!(active.doing, Doing::Resting(wait) if wait.until <= now))
            .map(|(key, _)| key.clone())
            .collect();
        for key in rested {
            self.reopen(&key, out);
        }
    }
}

fn way(cause: &FailureCause, active: &Active, now: Timestamp) -> Way {
    match cause {
        // Some vendors name a moment that is over; they are not asked without end.
        FailureCause::RateLimited { until: Some(until), .. } => {
            let until = (*until).max(later(now, SHORTEST_PAUSE_MS));
            Way::Wait(Wait { until, what: RATE_LIMIT })
        }
        FailureCause::RateLimited { until: None, .. }
        | FailureCause::NotInstalled
        | FailureCause::NotLoggedIn { .. }
        | FailureCause::FolderNotTrusted
        | FailureCause::UnknownModel { .. }
        // What is left may still change the folder.
        | FailureCause::ProcessesLeft { .. } => Way::AskPerson,
        FailureCause::Network { .. } | FailureCause::Service { .. } | FailureCause::CutOff { .. } => {
            let before = usize::try_from(active.pauses).ok();
            let pause = before.and_then(|before| PAUSES_MS.get(before));
            pause.map_or(Way::AskPerson, |pause| {
                Way::Wait(Wait { until: later(now, *pause), what: "network" })
            })
        }
        // What it did before is in the folder or nowhere; only work leaves traces
        // there. Programs keep no conversation in which nothing was said.
        FailureCause::UnknownConversation { .. } => match &active.step.work {
            Work::Errand(errand) if errand.wants == ResultKind::Work && active.talk.has_heard => {
                Way::AskDecision
            }
            _ => Way::BeginAgain,
        },
        FailureCause::Silent { .. }
        | FailureCause::Garbage { .. }
        | FailureCause::LineTooLong { .. }
        | FailureCause::PipeClosed { .. }
        | FailureCause::Crashed { .. } => {
            if active.reopenings < REOPENINGS {
                Way::Reopen
            } else {
                Way::Fail
            }
        }
        FailureCause::Rejected { .. }
        | FailureCause::Protocol { .. }
        | FailureCause::CannotStart { .. }
        | FailureCause::Scenario { .. } => Way::Fail,
    }
}
