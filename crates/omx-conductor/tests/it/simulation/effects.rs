//! Carries out single effects, sometimes fails to, and dies before, in the
//! middle of or after one.

use omx_agents::agent::AgentCommand;
use omx_agents::event::ApprovalRequest;
use omx_agents::failure::{Failure, FailureCause};
use omx_conductor::drive::{ControlEvent, ObservedDocument, World, WorldEvent};
use omx_conductor::engine::{DocumentFailure, Job, JobFailure, StepConversation};
use omx_conductor::workflow::DocumentChange;
use omx_kernel::{Mode, RefusalCode, Timestamp};
use omx_runs::progress::Progress;
use omx_runs::{LimitRequestId, Record, StepKey};

use super::world::{ScheduledEvent, SimWorld};

impl World for SimWorld {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn append(&mut self, record: &Record) -> Result<(), String> {
        self.note(|| format!("   record {record:?}"));
        self.check_append(record);
        self.maybe_crash();
        if self.scenario.effect_faults_left > 0
            && self.random.one_in(self.scenario.journal_fails_one_in)
        {
            self.scenario.effect_faults_left -= 1;
            self.seen.insert("journal failed".to_owned());
            self.rules.journal_fails();
            // A record that could not be flushed may be there all the same.
            if self.random.one_in(2) {
                self.apply_record(record);
            }
            return Err("the disk is full".to_owned());
        }
        self.apply_record(record);
        self.maybe_crash();
        Ok(())
    }

    fn active_documents(&mut self) -> Result<Vec<Mode>, DocumentFailure> {
        self.rules.is_opening = false;
        self.maybe_crash();
        // Reading takes no lock.
        self.maybe_break_documents()?;
        self.rules.has_found_documents = true;
        Ok(self.documents.active())
    }

    fn write_document(&mut self, change: &DocumentChange) -> Result<(), DocumentFailure> {
        self.note(|| format!("   write {} {}", change.mode.name(), change.fields));
        if self.rules.knows_cancel {
            self.fail("a cancelled run writes no document", change.mode.name());
        }
        self.maybe_crash();
        // A cancel can come between the look at the documents and the write.
        let was_cancelled = self.documents.are_cancelled;
        if ends_run(change) {
            self.disturb_end();
        }
        self.person_may_cancel();
        if self.documents.are_cancelled && !was_cancelled {
            self.seen.insert("cancel meets a write".to_owned());
        }
        self.maybe_lock();
        self.maybe_fail_document()?;
        let dialect = self.scenario.context.dialect;
        let written = self.documents.write(change, &self.workspace.files, dialect, self.now);
        if let Err(refusal) = written {
            if !self.documents.are_cancelled {
                self.fail("documents take what the run writes", refusal.message);
            }
            self.rules.learns_of_cancel();
            return Err(match refusal.code {
                RefusalCode::RecentlyCancelled => DocumentFailure::Cancelled,
                _ => DocumentFailure::Refused(refusal.message),
            });
        }
        self.rules.is_write_pending = false;
        let is_own = change.mode == self.scenario.spec.mode;
        self.rules.has_begun_document |= is_own && change.fields.get("start").is_some();
        if self.random.one_in(8) {
            self.soon(200, ScheduledEvent::Control(ControlEvent::DocumentsCancelled));
        }
        self.maybe_crash();
        Ok(())
    }

    fn cancel_documents(&mut self) -> Result<(), DocumentFailure> {
        if !self.documents.are_cancelled {
            self.fail("only a cancelled run cancels its documents", "");
        }
        self.maybe_crash();
        self.maybe_fail_document()?;
        self.documents.cancel(self.scenario.context.dialect, self.now);
        self.rules.is_write_pending = false;
        Ok(())
    }

    fn observe_document(&mut self) -> ObservedDocument {
        if self.breaks() {
            // The watcher reports a cancel until the loop has acted on it.
            if self.documents.are_cancelled {
                self.soon(200, ScheduledEvent::Control(ControlEvent::DocumentsCancelled));
            }
            return ObservedDocument::Unreadable;
        }
        let status = self.documents.status(self.scenario.spec.mode);
        if self.documents.are_cancelled && status != ObservedDocument::Other {
            self.rules.learns_of_cancel();
        }
        status
    }

    fn open_agent(&mut self, step: &StepKey, spec: &StepConversation) -> Result<(), Failure> {
        self.note(|| format!("   open {step} {:?}", spec.start));
        self.check_open(step, spec);
        self.maybe_crash();
        if self.breaks() {
            self.seen.insert("agent not opened".to_owned());
            self.rules.something_broke();
            let detail = "no memory".to_owned();
            return Err(Failure::new(spec.seat.agent, FailureCause::CannotStart { detail }));
        }
        self.open(step.clone(), spec);
        self.maybe_crash();
        Ok(())
    }

    fn command(&mut self, step: &StepKey, command: AgentCommand) {
        self.note(|| format!("   command {step} {}", shortened(&format!("{command:?}"))));
        self.check_command(step, &command);
        self.maybe_crash();
        // An agent that is gone ignores it.
        if let Some(number) = self.agent_of(step) {
            match command {
                AgentCommand::Send(message) => self.send(number, &message),
                AgentCommand::Answer(approval, decision) => {
                    self.answer_approval(number, &approval, &decision);
                }
                AgentCommand::End => self.end(number),
                AgentCommand::Steer(_) | AgentCommand::Interrupt => {}
            }
        }
        self.maybe_crash();
    }

    fn release_agent(&mut self, step: &StepKey) {
        if self.agent_of(step).is_some() {
            self.fail("only an agent that has ended is dropped", step);
        }
    }

    fn start_job(&mut self, step: &StepKey, job: Job) -> Result<(), JobFailure> {
        self.note(|| format!("   start {step} {}", shortened(&format!("{job:?}"))));
        self.check_job(step, &job);
        self.maybe_crash();
        if self.breaks() {
            self.seen.insert("job not started".to_owned());
            self.rules.something_broke();
            return Err(JobFailure::Failed("no thread".to_owned()));
        }
        let takes = match job {
            Job::Check { .. } => 300_000,
            Job::KeepPlan { .. } => 1_000,
            Job::Commit { .. } => 2_000,
            Job::Inspect { .. } => 1_000,
        };
        self.maybe_lock();
        self.jobs.insert(step.clone(), job);
        self.soon(takes, ScheduledEvent::Job(step.clone()));
        self.maybe_crash();
        Ok(())
    }

    fn stop_job(&mut self, step: &StepKey) {
        self.maybe_crash();
        self.soon(5_000, ScheduledEvent::JobStopped(step.clone()));
    }

    fn release_job(&mut self, step: &StepKey) {
        if self.jobs.contains_key(step) {
            self.fail("only a job that has ended is dropped", step);
        }
    }

    fn request_approval(
        &mut self,
        number: u64,
        step: &StepKey,
        ask: &ApprovalRequest,
    ) -> Result<(), String> {
        self.note(|| format!("   ask {number} {step} {ask:?}"));
        self.nothing_begins_late("the person is asked");
        self.maybe_crash();
        if self.breaks() {
            self.seen.insert("question not stored".to_owned());
            return Err("the disk is full".to_owned());
        }
        self.questions.insert(number, step.clone());
        let answer = ControlEvent::Answered(number, self.decision());
        // Sometimes twice: two people, or one who is impatient.
        if self.random.one_in(4) {
            self.soon(7_200_000, ScheduledEvent::Control(answer.clone()));
        }
        // Somebody who watches answers before the loop is done asking.
        if self.random.one_in(8) {
            self.arrived.push(answer);
        } else {
            self.soon(3_600_000, ScheduledEvent::Control(answer));
        }
        Ok(())
    }

    fn close_question(&mut self, number: u64) {
        self.questions.remove(&number);
    }

    fn close_limit_request(&mut self, id: &LimitRequestId) {
        self.note(|| format!("   close {id:?}"));
        let Some((change, _)) = self.limit_requests.remove(id) else { return };
        self.check_limits_recorded(change);
        self.maybe_crash();
    }

    fn show(&mut self, progress: &Progress) {
        if let Progress::Note(words) = progress
            && words.raw().contains("waiting for the project's lock")
        {
            self.seen.insert("waited for the lock".to_owned());
        }
    }

    fn control(&mut self) -> Option<ControlEvent> {
        self.person_acts();
        let event = (!self.arrived.is_empty()).then(|| self.arrived.remove(0))?;
        self.note(|| format!("-> {event:?}"));
        self.check_control(&event);
        Some(event)
    }

    fn wait(&mut self, until: Option<Timestamp>) -> Option<WorldEvent> {
        self.check_idle(until);
        let event = self.next_event(until);
        if let Some(event) = &event {
            self.note(|| format!("-> {}", shortened(&format!("{event:?}"))));
            self.check_event(event);
        }
        event
    }
}

impl SimWorld {
    fn apply_record(&mut self, record: &Record) {
        if self.rules.is_opening {
            return match record {
                Record::Opened { .. } => self.journal.open(),
                change => {
                    self.is_changed(change);
                    self.journal.append(change, 0);
                }
            };
        }
        match record {
            Record::StepDiscarded { step, .. } => self.is_discarded(step),
            Record::StepFinished { step, .. } => self.is_kept(step),
            _ => {}
        }
        let worked = self.worked_ms();
        self.journal.append(record, worked);
    }

    /// Whether an effect fails now.
    fn breaks(&mut self) -> bool {
        let breaks = self.scenario.effect_faults_left > 0
            && self.random.one_in(self.scenario.effect_fault_one_in);
        self.scenario.effect_faults_left -= u32::from(breaks);
        breaks
    }

    pub fn is_locked(&self) -> bool {
        self.now < self.lock_free_at
    }

    /// The last change is where a shell most easily goes wrong: the lock is held or the
    /// person cancels just then.
    fn disturb_end(&mut self) {
        if !self.is_locked() && self.scenario.locks_left > 0 && self.random.one_in(3) {
            self.hold_lock();
        }
        if self.scenario.cancels_at_end {
            self.scenario.cancel_after = Some(0);
        }
    }

    /// Another process may take the project's lock, for seconds or minutes.
    fn maybe_lock(&mut self) {
        let is_due = self.scenario.locks_left > 0 && !self.is_locked();
        if is_due && self.random.one_in(self.scenario.lock_one_in) {
            self.hold_lock();
        }
    }

    fn hold_lock(&mut self) {
        self.scenario.locks_left -= 1;
        let seconds = *self.random.choose(&[1, 4, 20, 90, 600]);
        self.lock_free_at = Timestamp::from_millis(self.now.millis() + seconds * 1000);
        self.note(|| format!("!! the lock is held for {seconds} s"));
    }

    fn maybe_fail_document(&mut self) -> Result<(), DocumentFailure> {
        self.rules.is_write_pending = true;
        if self.is_locked() {
            return Err(DocumentFailure::Busy("process 7 holds it".to_owned()));
        }
        self.maybe_break_documents()
    }

    fn maybe_break_documents(&mut self) -> Result<(), DocumentFailure> {
        self.rules.is_write_pending = true;
        if self.failing_writes == 0 && self.breaks() {
            self.seen.insert("document failed".to_owned());
            self.failing_writes = 1 + self.random.below(4) as u32;
            if self.random.one_in(10) {
                // The disk stays full for as long as this process lives.
                self.failing_writes = u32::MAX;
                self.rules.documents_break();
            }
        }
        if self.failing_writes > 0 {
            self.failing_writes -= 1;
            self.rules.document_fails();
            let why = "no room".to_owned();
            let is_full = self.random.one_in(2);
            return Err(match is_full {
                true => DocumentFailure::DiskFull(why),
                false => DocumentFailure::Failed(why),
            });
        }
        self.rules.failures_in_row = 0;
        Ok(())
    }
}

/// Whether a change says how the run ended.
pub fn ends_run(change: &DocumentChange) -> bool {
    let has = |name: &str| change.fields.get(name).is_some_and(|value| !value.is_null());
    has("run_outcome") || change.fields["current_phase"] == "complete"
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
