//! Letting go of a run: agents first, then the documents, then the journal.

use omx_agents::agent::AgentCommand;
use omx_kernel::Timestamp;
use serde_json::json;

use super::{After, Doing, Effect, End, Engine};
use omx_runs::Record;

/// How a process lets go of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is done.
    Complete(String),
    /// It did not get there.
    Failed(String),
    /// It used up its iterations.
    Limit(String),
    /// It used up its budget.
    Budget(String),
    /// Only the person can go on.
    Blocked(String),
    /// It was cancelled.
    Cancelled,
    /// The person stopped it here.
    Interrupted,
}

impl Outcome {
    /// The word for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Complete(_) => "complete",
            Self::Failed(_) => "failed",
            Self::Limit(_) => "limit",
            Self::Budget(_) => "budget",
            Self::Blocked(_) => "blocked_on_user",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// In words, where there are any.
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

impl From<End> for Outcome {
    fn from(end: End) -> Self {
        match end {
            End::Complete(words) => Self::Complete(words),
            End::Failed(words) => Self::Failed(words),
            End::Limit(words) => Self::Limit(words),
            End::Blocked(words) => Self::Blocked(words),
        }
    }
}

impl Engine {
    /// Stops for this reason. The first reason counts, but a cancel always does.
    pub(super) fn stop(&mut self, why: Outcome, out: &mut Vec<Effect>, now: Timestamp) {
        match self.stopping {
            Some(_) if why == Outcome::Cancelled => self.stopping = Some(why),
            Some(_) => {}
            None => {
                self.stopping = Some(why);
                self.let_go(out);
            }
        }
        self.close_if_idle(out, now);
    }

    /// Ends what runs. What is about to be finished is finished.
    fn let_go(&mut self, out: &mut Vec<Effect>) {
        self.active.retain(|_, active| !matches!(active.doing, Doing::Resting(_)));
        for (key, active) in &mut self.active {
            match &active.doing {
                Doing::Opening(_) | Doing::Talking => {
                    active.doing = Doing::Ending(After::Forget);
                    out.push(Effect::Order(key.clone(), AgentCommand::End));
                }
                Doing::Ending(After::Rest(_) | After::Reopen) => {
                    active.doing = Doing::Ending(After::Forget);
                }
                Doing::Checking => {
                    active.doing = Doing::Ending(After::Forget);
                    out.push(Effect::StopCheck(key.clone()));
                }
                Doing::Ending(_) | Doing::Resting(_) | Doing::Keeping | Doing::Settling(_) => {}
            }
        }
    }

    pub(super) fn close_if_idle(&mut self, out: &mut Vec<Effect>, now: Timestamp) {
        if self.closed || !self.active.is_empty() {
            return;
        }
        let Some(why) = self.stopping.clone() else { return };
        self.closed = true;
        let mode = self.asked.mode;
        // The story writes its own ends; these are the others.
        let note = match &why {
            _ if self.ended_by_story => None,
            Outcome::Failed(error) => Some(json!({"run_outcome": "failed", "error": error})),
            Outcome::Blocked(error) | Outcome::Budget(error) => {
                Some(json!({"run_outcome": "blocked_on_user", "error": error}))
            }
            Outcome::Interrupted => {
                Some(json!({"run_outcome": "blocked_on_user", "error": "interrupted"}))
            }
            Outcome::Complete(_) | Outcome::Limit(_) | Outcome::Cancelled => None,
        };
        self.tell_waiting(out);
        out.extend(note.map(|fields| Effect::Note(mode, fields)));
        out.push(Effect::Record(Record::Closed {
            outcome: why.as_str().to_owned(),
            why: why.words().to_owned(),
            worked_ms: self.worked(now),
        }));
        out.push(Effect::Close(why));
    }
}
