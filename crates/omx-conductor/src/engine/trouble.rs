//! Trouble: wait, try again, ask the person, or give up; each for what it is.

use omx_agents::agent::Order;
use omx_agents::trouble::{Cause, Trouble};
use omx_kernel::Timestamp;
use serde_json::json;

use super::{After, Doing, Effect, Engine, Known, Outcome, later};
use crate::progress::Progress;
use crate::record::Record;
use crate::story::{StepKey, Work};

/// How long is waited before each further try at a service that fails.
const PAUSES_MS: [u64; 3] = [5_000, 30_000, 120_000];
/// How often an agent that broke is opened again.
const REOPENINGS: u32 = 2;

/// What to do about trouble.
enum Way {
    /// Wait until then; what for.
    Wait(Timestamp, &'static str),
    /// Open the conversation again at once.
    Reopen,
    /// Forget the conversation and begin the step again.
    BeginAgain,
    /// Only the person can help.
    AskPerson,
    /// It makes no sense to go on.
    Fail,
}

impl Engine {
    pub(super) fn trouble(
        &mut self,
        key: &StepKey,
        trouble: Trouble,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        if matches!(active.doing, Doing::Ending(_) | Doing::Resting(_)) {
            return;
        }
        out.push(Effect::Show(Progress::trouble(key, &trouble)));
        let way = way(&trouble.cause, active.tries, active.step.work.clone(), now);
        let after = match way {
            Way::Wait(until, what) => {
                // A limit is no failure; only failures are counted.
                if what != "rate_limit" {
                    active.tries += 1;
                }
                self.note_waiting(key, what, until, out);
                After::Rest(until)
            }
            Way::Reopen => {
                active.tries += 1;
                After::Reopen
            }
            Way::BeginAgain => {
                active.talk = Known::default();
                let why = trouble.to_string();
                out.push(Effect::Record(Record::StepForgotten { step: key.clone(), why }));
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
            Way::Fail => return self.step_failed(key, &trouble.to_string(), out, now),
        };
        if let Some(active) = self.active.get_mut(key) {
            active.doing = Doing::Ending(after);
        }
        out.push(Effect::Order(key.clone(), Order::End));
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

    fn note_waiting(&mut self, key: &StepKey, what: &str, until: Timestamp, out: &mut Vec<Effect>) {
        self.waiting = true;
        out.push(Effect::Record(Record::Waiting {
            step: key.clone(),
            what: what.to_owned(),
            until: Some(until.to_string()),
        }));
        let waiting = json!({"waiting": {"kind": what, "until": until.to_string()}});
        out.push(Effect::Note(self.asked.mode, waiting));
        out.push(Effect::Show(Progress::Waiting {
            what: what.to_owned(),
            until: until.to_string(),
        }));
    }

    pub(super) fn clear_waiting(&mut self, out: &mut Vec<Effect>) {
        if std::mem::take(&mut self.waiting) {
            out.push(Effect::Note(self.asked.mode, json!({"waiting": null})));
        }
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
            .filter(|(_, active)| matches!(active.doing, Doing::Resting(until) if until <= now))
            .map(|(key, _)| key.clone())
            .collect();
        for key in rested {
            self.reopen(&key, out);
        }
    }
}

fn way(cause: &Cause, tries: u32, work: Work, now: Timestamp) -> Way {
    match cause {
        Cause::Limited { until: Some(until), .. } => Way::Wait((*until).max(now), "rate_limit"),
        Cause::Limited { until: None, .. }
        | Cause::NotInstalled
        | Cause::NotLoggedIn { .. }
        | Cause::FolderNotTrusted
        | Cause::UnknownModel { .. } => Way::AskPerson,
        Cause::Network { .. } | Cause::Service { .. } | Cause::CutOff { .. } => {
            let pause = usize::try_from(tries).ok().and_then(|tries| PAUSES_MS.get(tries));
            pause.map_or(Way::AskPerson, |pause| Way::Wait(later(now, *pause), "network"))
        }
        // What it did before is in the folder or nowhere; only work leaves traces there.
        Cause::UnknownConversation { .. } => match work {
            Work::Errand(errand) if errand.wants == omx_agents::results::ResultKind::Work => {
                Way::AskPerson
            }
            _ => Way::BeginAgain,
        },
        Cause::Silent { .. }
        | Cause::Garbage { .. }
        | Cause::LineTooLong { .. }
        | Cause::PipeClosed { .. }
        | Cause::Crashed { .. } => {
            if tries < REOPENINGS {
                Way::Reopen
            } else {
                Way::Fail
            }
        }
        Cause::Rejected { .. }
        | Cause::Protocol { .. }
        | Cause::CannotStart { .. }
        | Cause::Scenario { .. } => Way::Fail,
    }
}
