//! What omx does itself in a step: run the check, keep the plan, look at the
//! folder, and say in the journal that the step is done.

use omx_kernel::Timestamp;
use serde_json::Value;

use super::{After, Doing, Effect, Engine};
use crate::show;
use crate::story::{CheckResult, Finished, KeptPlan, StepKey};
use omx_runs::Record;

impl Engine {
    /// A check came to its end. One that was told to end has nothing to say:
    /// that it did not pass would not be true of the work.
    pub(super) fn checked(
        &mut self,
        key: &StepKey,
        result: Result<CheckResult, String>,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        match (self.active.get(key).map(|active| &active.doing), result) {
            (Some(Doing::Checking), Ok(check)) => {
                self.settle(key, serde_json::to_value(&check).unwrap_or_default(), out);
            }
            (Some(Doing::Checking), Err(error)) => self.step_failed(key, &error, out, now),
            (Some(Doing::Ending(After::Forget)), _) => {
                self.active.remove(key);
                self.close_if_idle(out, now);
            }
            _ => {}
        }
    }

    /// A plan was kept, or could not be.
    pub(super) fn kept(
        &mut self,
        key: &StepKey,
        result: Result<KeptPlan, String>,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        match (self.active.get(key).map(|active| &active.doing), result) {
            (Some(Doing::Keeping), Ok(kept)) => {
                let result = serde_json::to_value(&kept).unwrap_or_default();
                self.finish(key, result, None, out, now);
            }
            (Some(Doing::Keeping), Err(error)) => self.step_failed(key, &error, out, now),
            _ => {}
        }
    }

    /// Lets the folder be looked at before a step counts as done.
    pub(super) fn settle(&mut self, key: &StepKey, result: Value, out: &mut Vec<Effect>) {
        if let Some(active) = self.active.get_mut(key) {
            active.doing = Doing::Settling(result);
            out.push(Effect::Settle(key.clone()));
        }
    }

    /// The folder was looked at, or could not be.
    pub(super) fn settled(
        &mut self,
        key: &StepKey,
        tree: Result<Option<String>, String>,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        let result = match self.active.get(key).map(|active| &active.doing) {
            Some(Doing::Settling(result)) => result.clone(),
            _ => return,
        };
        match tree {
            Ok(tree) => self.finish(key, result, tree, out, now),
            Err(error) => self.step_failed(key, &error, out, now),
        }
    }

    /// A step is done: the journal says so before anything follows from it.
    fn finish(
        &mut self,
        key: &StepKey,
        result: Value,
        tree: Option<String>,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.remove(key) else { return };
        out.push(Effect::Record(Record::Worked { worked_ms: self.worked(now) }));
        out.push(Effect::Record(Record::StepFinished {
            step: key.clone(),
            result: result.clone(),
            tree: tree.clone(),
        }));
        out.push(Effect::Show(show::finished(&active.step, &result)));
        self.past.add(key.clone(), Finished { result, input: active.input, tree });
        self.tell_waiting(out);
        self.advance(out, now);
    }
}
