//! The engine's only entry point: events in, effects out.

use omx_agents::agent::ConversationStart;
use omx_kernel::{Refusal, Timestamp};
use omx_runs::{Record, RunSpec, Usage};

use super::inspect::usual_message;
use super::state::{ActiveStep, KnownConversation, StepState};
use super::{Engine, Job, RunEffect, RunEvent, RunOutcome, StepConversation, progress};
use crate::input::input_hash;
use crate::workflow::{AgentStep, JobStep, NextAction, Replay, Step, StepKind, replay};

impl Engine {
    /// Handles an event and returns its effects.
    pub fn handle(&mut self, event: RunEvent, now: Timestamp) -> Vec<RunEffect> {
        let mut out = Vec::new();
        if self.closed && !matches!(event, RunEvent::JournalFailed(_)) {
            return out;
        }
        match event {
            RunEvent::Opened { .. } => self.opened_at = now,
            // These take precedence over an exhausted budget.
            RunEvent::Cancelled | RunEvent::JournalFailed(_) => {}
            // A late event may arrive after the time budget has run out.
            _ => self.enforce_budget(&mut out, now),
        }
        match event {
            RunEvent::Opened { version, changes } => {
                out.push(RunEffect::Record(Record::Opened { version }));
                out.extend(changes.into_iter().map(RunEffect::Record));
                self.find_leftovers(&mut out);
            }
            RunEvent::LeftoversFound(found) => self.leftovers_found(found, &mut out, now),
            RunEvent::DocumentWritten(result) => self.document_written(result, &mut out, now),
            RunEvent::JournalFailed(why) => self.journal_failed(&why, &mut out, now),
            RunEvent::Agent(key, event) => self.agent_event(&key, event, &mut out, now),
            RunEvent::JobDone(key, result) => self.job_done(&key, result, &mut out, now),
            RunEvent::AskFailed(key, approval, why) => {
                self.ask_failed(&key, &approval, &why, &mut out, now);
            }
            RunEvent::Answered(key, approval, decision) => {
                self.person_answered(&key, approval, decision, &mut out);
            }
            RunEvent::LimitsRequested(id, change) => {
                self.limits_requested(id, change, &mut out, now);
            }
            RunEvent::Interrupted => {
                self.is_interrupted = true;
                self.stop(RunOutcome::Interrupted, &mut out, now);
            }
            RunEvent::DiskFull(why) => self.stop(RunOutcome::Blocked(why), &mut out, now),
            RunEvent::Cancelled => self.stop(RunOutcome::Cancelled, &mut out, now),
            RunEvent::Time => {}
        }
        self.keep_time(&mut out, now);
        if self.journal_failed {
            out.retain(|effect| !matches!(effect, RunEffect::Record(_)));
        }
        out
    }

    /// The latest time at which the engine needs a [`RunEvent::Time`].
    pub fn wake(&self) -> Option<Timestamp> {
        if self.closed {
            return None;
        }
        let steps = self.active.values().filter_map(|active| match active.state {
            StepState::Resting(wait) => Some(wait.until),
            StepState::Retrying(until, _) => Some(until),
            StepState::Talking => active.requests.values().filter_map(|it| it.retry_at).min(),
            _ => None,
        });
        steps.chain(self.budget_ends_at()).chain(self.documents.retry_at()).min()
    }

    /// What the run was asked to do, with what the person has changed since.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Tokens and money used so far, summed over all processes of the run.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    pub(super) fn replay(&mut self) -> Result<Replay, Refusal> {
        replay(&self.spec, &self.context, &self.completed, &mut self.replay_cache)
    }

    /// Replays the workflow, writes the documents and starts the next steps.
    pub(super) fn advance(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        if self.stopping.is_some() {
            return self.close_if_idle(out, now);
        }
        if let Some(words) = self.missing_work.take() {
            return self.stop(RunOutcome::Blocked(words), out, now);
        }
        let replay = match self.replay() {
            Ok(replay) => replay,
            Err(refusal) => return self.workflow_refused(&refusal, out, now),
        };
        self.next = Some(replay.next);
        self.queue_workflow_changes(replay.changes, out, now);
    }

    /// The documents are written, so what they announce may start.
    pub(super) fn act_on_next(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        match self.next.take() {
            None => {}
            Some(_) if self.stopping.is_some() => {}
            Some(NextAction::Begin(steps)) => self.begin_all(steps, out, now),
            Some(NextAction::End(end)) => {
                self.ended_by_workflow = true;
                self.stop(RunOutcome::from(end), out, now);
            }
            Some(NextAction::Diverged { step, .. }) => self.diverged(&step, out, now),
        }
    }

    /// Starts steps that may run concurrently: all of them or none.
    fn begin_all(&mut self, mut steps: Vec<Step>, out: &mut Vec<RunEffect>, now: Timestamp) {
        steps.retain(|step| !self.active.contains_key(&step.key));
        self.enforce_budget(out, now);
        if self.stopping.is_some() {
            return;
        }
        let hash = |step: Step| (input_hash(&self.spec, &self.completed, &step), step);
        let steps: Vec<(String, Step)> = steps.into_iter().map(hash).collect();
        let has_changed = |(input, step): &&(String, Step)| {
            self.interrupted.get(&step.key).is_some_and(|begun| begun.input != *input)
        };
        if let Some((_, step)) = steps.iter().find(has_changed) {
            return self.interrupted_diverged(&step.clone(), out, now);
        }
        for (input, step) in steps {
            self.begin(step, input, out);
        }
    }

    fn begin(&mut self, step: Step, input: String, out: &mut Vec<RunEffect>) {
        let interrupted = self.interrupted.remove(&step.key);
        if interrupted.is_none() {
            let (step, input) = (step.key.clone(), input.clone());
            out.push(RunEffect::Record(Record::StepStarted { step, input, tree: None }));
        }
        out.push(RunEffect::Show(progress::step_began(&step, &self.context)));
        let key = step.key.clone();
        if let StepKind::Agent(_) = &step.kind {
            let mut active = ActiveStep::new(step, input, StepState::Inspecting);
            let interrupted = interrupted.unwrap_or_default();
            active.conversation = interrupted.conversation;
            if let Some(wait) = interrupted.rest {
                active.state = StepState::Resting(wait);
                self.active.insert(key, active);
                return self.note_waiting(out);
            }
            let (message, known) =
                (usual_message(&active.conversation), active.conversation.id.is_some());
            self.active.insert(key.clone(), active);
            return match known {
                true => self.inspect(&key, out),
                false => self.open_for(&key, message, out),
            };
        }
        let job = self.own_job(&step.kind);
        self.active.insert(key.clone(), ActiveStep::new(step, input, StepState::Working));
        out.push(RunEffect::StartJob(key, job));
    }

    /// The job of a step that omx does itself.
    pub(super) fn own_job(&self, kind: &StepKind) -> Job {
        match kind {
            StepKind::Job(JobStep::KeepPlan(plan)) => {
                let plan = self.completed.get(plan).map(|done| done.result.clone());
                Job::KeepPlan { plan: plan.unwrap_or_default() }
            }
            StepKind::Check | StepKind::Agent(_) => {
                Job::Check { command: self.spec.check.clone().unwrap_or_default().into_raw() }
            }
        }
    }

    /// The conversation of an agent step.
    pub(super) fn conversation(
        &self,
        step: &Step,
        agent: &AgentStep,
        known: &KnownConversation,
    ) -> StepConversation {
        let start = match &known.id {
            None => ConversationStart::New,
            Some(id) => ConversationStart::Resume(id.clone()),
        };
        StepConversation {
            start,
            seat: step.seat.clone(),
            access: agent.access(),
            role: agent.role.clone(),
            phase: step.phase.clone(),
            max_micro_usd: self.money_left(),
            schema: agent.wants.schema(),
        }
    }

    /// A rule of the kernel refuses what the workflow writes. That is a bug in omx.
    fn workflow_refused(&mut self, refusal: &Refusal, out: &mut Vec<RunEffect>, now: Timestamp) {
        let words = format!("the workflow cannot continue: {}", refusal.message);
        self.stop(RunOutcome::Failed(words), out, now);
    }

    /// Restarts whatever is due.
    fn keep_time(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        self.enforce_budget(out, now);
        self.retry_documents(out, now);
        if self.stopping.is_some() || self.closed {
            return;
        }
        self.retry_requests(out, now);
        let is_due = |state: &StepState| match state {
            StepState::Resting(wait) => wait.until <= now,
            StepState::Retrying(until, _) => *until <= now,
            _ => false,
        };
        let due = self.active.iter().filter(|(_, active)| is_due(&active.state));
        let due: Vec<_> = due.map(|(key, _)| key.clone()).collect();
        for key in due {
            self.restart(&key, out);
        }
    }
}
