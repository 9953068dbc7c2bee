//! Steps that omx does itself, and the commit at the end of every step.

use omx_kernel::Timestamp;
use omx_runs::git::StepCommit;
use omx_runs::progress::Progress;
use omx_runs::{Record, StepKey};
use serde_json::Value;

use super::commit::step_edits;
use super::state::{AfterEnd, StepState};
use super::{Engine, Inspection, Job, JobFailure, JobResult, RunEffect, RunOutcome, progress};
use crate::workflow::{StepKind, StepResult};

/// The first pause before a job is retried, and the longest.
const FIRST_PAUSE_MS: u64 = 500;
const LONGEST_PAUSE_MS: u64 = 10_000;

impl Engine {
    /// A job ended. The result of a stopped job is ignored: a check that was stopped
    /// says nothing about the work.
    pub(super) fn job_done(
        &mut self,
        key: &StepKey,
        result: Result<JobResult, JobFailure>,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get(key) else { return };
        match (active.state.clone(), result) {
            (StepState::Ending(AfterEnd::Drop), _) => self.drop_step(key, out, now),
            (StepState::Ending(AfterEnd::Reopen), _) => self.restart_own_job(key, out),
            (
                StepState::Working | StepState::Committing(_) | StepState::Inspecting,
                Err(JobFailure::NotStarted),
            ) => self.drop_step(key, out, now),
            (StepState::Inspecting, Ok(JobResult::Inspected(found))) => {
                self.inspected(key, &found, out, now);
            }
            (
                StepState::Inspecting,
                Err(JobFailure::Busy(why) | JobFailure::Failed(why) | JobFailure::Interrupted(why)),
            ) => {
                let words = format!("{key}: what is done of it cannot be looked up: {why}");
                out.push(RunEffect::Show(Progress::Note(words.into())));
                self.inspected(key, &Inspection::FAILED, out, now);
            }
            (StepState::Working, Ok(JobResult::Checked(check))) => {
                self.commit(key, serde_json::to_value(&check).unwrap_or_default(), out);
            }
            (StepState::Working, Ok(JobResult::PlanKept(kept))) => {
                let result = serde_json::to_value(&kept).unwrap_or_default();
                self.finish(key, result, StepCommit::default(), out, now);
            }
            (StepState::Committing(result), Ok(JobResult::Committed(done))) => {
                self.finish(key, result, done, out, now);
            }
            (StepState::Working, Err(JobFailure::Busy(why))) => {
                self.retry_job(key, None, &why, out, now);
            }
            (StepState::Committing(result), Err(JobFailure::Busy(why))) => {
                self.retry_job(key, Some(result), &why, out, now);
            }
            (StepState::Working | StepState::Committing(_), Err(JobFailure::Failed(error))) => {
                self.step_failed(key, &error, out, now);
            }
            (StepState::Working | StepState::Committing(_), Err(JobFailure::Interrupted(why))) => {
                self.step_interrupted(key, &why, out, now);
            }
            _ => {}
        }
    }

    pub(super) fn drop_step(&mut self, key: &StepKey, out: &mut Vec<RunEffect>, now: Timestamp) {
        if let Some(active) = self.active.remove(key) {
            self.interrupted.insert(key.clone(), active.into_interrupted());
        }
        self.close_if_idle(out, now);
    }

    /// A job was ended from outside. Its step stays unfinished, and a resume reruns it.
    fn step_interrupted(
        &mut self,
        key: &StepKey,
        why: &str,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        self.active.remove(key);
        self.stop(RunOutcome::Failed(format!("{key}: {why}")), out, now);
    }

    /// Retries the job later, without a limit.
    fn retry_job(
        &mut self,
        key: &StepKey,
        result: Option<Value>,
        why: &str,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        if self.stopping.is_some() {
            return self.drop_step(key, out, now);
        }
        let Some(active) = self.active.get_mut(key) else { return };
        let pause = (FIRST_PAUSE_MS << active.busy_jobs.min(8)).min(LONGEST_PAUSE_MS);
        if active.busy_jobs == 0 {
            out.push(RunEffect::Show(Progress::Note(format!("{key} waits: {why}").into())));
        }
        active.busy_jobs += 1;
        active.state = StepState::Retrying(now.plus_millis(pause), result);
    }

    /// Restarts a step after a wait.
    pub(super) fn restart(&mut self, key: &StepKey, out: &mut Vec<RunEffect>) {
        let Some(active) = self.active.get(key) else { return };
        match active.state.clone() {
            StepState::Resting(_) => self.reopen(key, out),
            StepState::Retrying(_, Some(result)) => self.commit(key, result, out),
            StepState::Retrying(_, None) => self.restart_own_job(key, out),
            _ => {}
        }
    }

    fn restart_own_job(&mut self, key: &StepKey, out: &mut Vec<RunEffect>) {
        let Some(active) = self.active.get_mut(key) else { return };
        if matches!(active.step.kind, StepKind::Agent(_)) {
            return self.inspect(key, out);
        }
        active.state = StepState::Working;
        let kind = active.step.kind.clone();
        out.push(RunEffect::StartJob(key.clone(), self.own_job(&kind)));
    }

    /// Commits a step's work before the step counts as finished.
    pub(super) fn commit(&mut self, key: &StepKey, result: Value, out: &mut Vec<RunEffect>) {
        let Some(active) = self.active.get_mut(key) else { return };
        let edits = step_edits(self.spec.mode, &active.step, &result);
        active.state = StepState::Committing(result);
        out.push(RunEffect::StartJob(key.clone(), Job::Commit { edits }));
    }

    /// Finishes a step. The journal records it before anything builds on it.
    fn finish(
        &mut self,
        key: &StepKey,
        result: Value,
        done: StepCommit,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.remove(key) else { return };
        for note in done.notes {
            out.push(RunEffect::Show(Progress::Note(format!("{key}: {note}").into())));
            out.push(RunEffect::Record(Record::Note { step: key.clone(), note }));
        }
        if let Some(commit) = done.commit {
            out.push(RunEffect::Record(Record::Committed { step: key.clone(), commit }));
        }
        let tree = done.tree;
        out.push(RunEffect::Record(Record::Worked { worked_ms: self.worked(now) }));
        out.push(RunEffect::Record(Record::StepFinished {
            step: key.clone(),
            result: result.clone(),
            tree: tree.clone(),
        }));
        out.push(RunEffect::Show(progress::step_finished(&active.step, &result)));
        self.completed.add(key.clone(), StepResult { result, input: active.input, tree });
        self.note_waiting(out);
        self.advance(out, now);
    }

    pub(super) fn set_state(&mut self, key: &StepKey, state: StepState) {
        if let Some(active) = self.active.get_mut(key) {
            active.state = state;
        }
    }
}
