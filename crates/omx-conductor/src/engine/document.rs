//! Writes document changes one at a time, in order. Nothing that a change announces
//! starts before the change is written. A write that fails is retried; a cancel found
//! in the documents ends the run.

use std::collections::VecDeque;

use omx_kernel::request::LimitRule;
use omx_kernel::{Mode, Timestamp};
use omx_runs::progress::Progress;
use serde_json::{Value, json};

use super::{DocumentFailure, Engine, RunEffect, RunOutcome};
use crate::workflow::{DocumentChange, NextAction};

/// The first pause before a retry, and the longest.
const FIRST_PAUSE_MS: u64 = 250;
const LONGEST_PAUSE_MS: u64 = 5_000;
/// How often to retry after a file system error. Waiting for a lock has no limit.
const MOST_FAILURES: u32 = 8;
/// The same for a cancelled run, including waits for the lock: it has to end in time.
const MOST_WHEN_CANCELLED: u32 = 3;
/// How often to report a wait for the lock.
const REPORT_MS: u64 = 60_000;

/// A pending operation on the documents.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DocumentTask {
    FindLeftovers,
    /// End a document that an earlier process left active.
    EndLeftover(DocumentChange),
    Write(DocumentChange),
    /// End the run's document.
    End(DocumentChange),
    /// Cancel whatever is still active.
    Cancel,
}

impl DocumentTask {
    fn effect(&self) -> RunEffect {
        match self {
            Self::FindLeftovers => RunEffect::FindLeftovers,
            Self::EndLeftover(change) | Self::Write(change) | Self::End(change) => {
                RunEffect::WriteDocument(change.clone())
            }
            Self::Cancel => RunEffect::CancelDocuments,
        }
    }
}

/// The pending operations on a run's documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DocumentQueue {
    tasks: VecDeque<DocumentTask>,
    /// Whether the first task is being carried out.
    in_flight: bool,
    retry_at: Option<Timestamp>,
    attempts: u32,
    failures: u32,
    /// When a wait for the lock was last reported.
    reported_at: Option<Timestamp>,
    /// How many of the workflow's changes have been queued.
    queued: usize,
    /// The iteration limit that the run's document has, or will have.
    limit: Option<u64>,
    /// Whether documents left by an earlier process still have to be ended.
    is_opening: bool,
    /// Whether the run's own document is known to be active. If anything but this
    /// process ends it, the run was cancelled.
    is_active: bool,
    /// Whether this process has written the run's document.
    has_begun: bool,
}

impl DocumentQueue {
    pub(super) fn retry_at(&self) -> Option<Timestamp> {
        self.retry_at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Whether the run's document is active, or will be.
    pub(super) fn needs_end(&self) -> bool {
        self.has_begun || !self.tasks.is_empty()
    }

    /// Whether nothing has been written that would have to be ended.
    pub(super) fn is_untouched(&self) -> bool {
        !self.has_begun && !self.is_opening
    }

    pub(super) fn is_opening(&self) -> bool {
        self.is_opening
    }

    pub(super) fn stop_opening(&mut self) {
        self.is_opening = false;
    }

    fn start(&mut self, out: &mut Vec<RunEffect>) {
        if let (false, None, Some(task)) = (self.in_flight, self.retry_at, self.tasks.front()) {
            self.in_flight = true;
            out.push(task.effect());
        }
    }
}

impl Engine {
    /// Whether a cancelled or missing document means that this run was cancelled. A
    /// cancel from before this process opened the run does not count.
    pub fn is_cancellable(&self) -> bool {
        self.documents.is_active
    }

    pub(super) fn find_leftovers(&mut self, out: &mut Vec<RunEffect>) {
        self.documents.is_opening = true;
        self.documents.tasks.push_back(DocumentTask::FindLeftovers);
        self.documents.start(out);
    }

    /// Ends the documents that a killed process left active. The run's lock
    /// guarantees that no other process uses them. Ending one can end others linked
    /// to it, so look again after each.
    pub(super) fn leftovers_found(
        &mut self,
        found: Result<Vec<Mode>, DocumentFailure>,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let result = found.map(|modes| {
            self.documents.is_active = modes.contains(&self.spec.mode);
            if let Some(mode) = modes.first() {
                let fields = json!({"run_outcome": "blocked_on_user", "error": "resumed"});
                let change = DocumentChange::new(*mode, fields);
                let tasks = [DocumentTask::EndLeftover(change), DocumentTask::FindLeftovers];
                self.documents.tasks.extend(tasks);
            }
        });
        self.document_written(result, out, now);
    }

    /// Queues the new changes of a replayed workflow.
    pub(super) fn queue_workflow_changes(
        &mut self,
        changes: Vec<DocumentChange>,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let known = self.documents.queued;
        if known == 0 {
            self.documents.limit = self.spec.max_iterations;
        }
        self.documents.queued = changes.len().max(known);
        let new = changes.into_iter().skip(known).map(DocumentTask::Write);
        self.documents.tasks.extend(new);
        self.continue_documents(out, now);
    }

    /// Queues a change that is not part of a workflow.
    pub(super) fn queue_note(&mut self, fields: Value, out: &mut Vec<RunEffect>) {
        let change = DocumentChange::new(self.spec.mode, fields);
        self.documents.tasks.push_back(DocumentTask::Write(change));
        self.documents.start(out);
    }

    /// Queues the change that ends the run's document.
    pub(super) fn queue_last(&mut self, fields: Value, out: &mut Vec<RunEffect>) {
        let change = DocumentChange::new(self.spec.mode, fields);
        self.documents.tasks.push_back(DocumentTask::End(change));
        self.documents.start(out);
    }

    /// Takes back the change that ends the run's document. It is not written yet, because
    /// the run would be closed.
    pub(super) fn take_back_end(&mut self) {
        self.documents.tasks.retain(|task| !matches!(task, DocumentTask::End(_)));
        self.documents.attempts = 0;
        self.documents.failures = 0;
        self.is_closing = false;
    }

    /// Gives the run's document the iteration limit in force, if it has another one.
    pub(super) fn update_limit(&mut self, out: &mut Vec<RunEffect>) {
        let limit = self.spec.max_iterations;
        let is_ending = matches!(self.next, Some(NextAction::End(_)));
        if self.documents.queued == 0 || self.documents.limit == limit || is_ending {
            return;
        }
        self.documents.limit = limit;
        let (mode, limit_rule) = (self.spec.mode, LimitRule::MayRaise);
        let change = DocumentChange { mode, limit_rule, fields: json!({"max_iterations": limit}) };
        self.documents.tasks.push_back(DocumentTask::Write(change));
        self.documents.start(out);
    }

    pub(super) fn queue_cancel(&mut self, out: &mut Vec<RunEffect>) {
        self.documents.tasks.push_back(DocumentTask::Cancel);
        self.documents.start(out);
    }

    /// Drops the changes that are not written yet, because the run ends in another
    /// way. Documents that an earlier process left active still have to be ended.
    pub(super) fn drop_changes(&mut self) {
        if !self.documents.is_opening {
            self.documents.tasks.clear();
            self.documents.in_flight = false;
        }
        self.documents.retry_at = None;
        self.next = None;
        self.is_closing = false;
    }

    /// The pending effect was skipped.
    pub(super) fn skip_in_flight(&mut self, out: &mut Vec<RunEffect>) {
        self.documents.in_flight = false;
        self.documents.start(out);
    }

    pub(super) fn document_written(
        &mut self,
        result: Result<(), DocumentFailure>,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        if !std::mem::take(&mut self.documents.in_flight) {
            return;
        }
        match result {
            Ok(()) => self.task_done(out, now),
            Err(DocumentFailure::Cancelled) => {
                self.stop(RunOutcome::Cancelled, out, now);
            }
            Err(DocumentFailure::Busy(why)) if self.stopping != Some(RunOutcome::Cancelled) => {
                self.report_busy(&why, out, now);
                self.pause_documents(now);
            }
            // A cancelled run does not wait for a lock: whatever holds it, the run ends.
            // The cancel itself is remembered outside the documents.
            Err(
                DocumentFailure::Busy(why)
                | DocumentFailure::Failed(why)
                | DocumentFailure::DiskFull(why),
            ) if self.documents.failures < self.most_failures() => {
                self.documents.failures += 1;
                if self.documents.failures == 1 {
                    let words = format!("a document cannot be written: {why}; trying again");
                    out.push(RunEffect::Show(Progress::Note(words.into())));
                }
                self.pause_documents(now);
            }
            Err(
                DocumentFailure::Busy(why)
                | DocumentFailure::Failed(why)
                | DocumentFailure::Refused(why),
            ) => {
                let words = format!("the run's documents cannot be written: {why}");
                self.give_up_task(RunOutcome::Failed(words), out, now);
            }
            Err(DocumentFailure::DiskFull(why)) => {
                let words = format!("the disk is full: {why}; make room and resume the run");
                self.give_up_task(RunOutcome::Blocked(words), out, now);
            }
        }
    }

    fn most_failures(&self) -> u32 {
        if self.stopping == Some(RunOutcome::Cancelled) {
            MOST_WHEN_CANCELLED
        } else {
            MOST_FAILURES
        }
    }

    fn task_done(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        match self.documents.tasks.pop_front() {
            Some(DocumentTask::EndLeftover(change)) if change.mode == self.spec.mode => {
                self.documents.is_active = false;
            }
            Some(DocumentTask::Write(_) | DocumentTask::End(_)) => {
                self.documents.has_begun = true;
                self.documents.is_active = true;
            }
            _ => {}
        }
        self.documents.attempts = 0;
        self.documents.failures = 0;
        if self.documents.reported_at.take().is_some() {
            let words = "the project's lock is free again".to_owned();
            out.push(RunEffect::Show(Progress::Note(words.into())));
        }
        self.continue_documents(out, now);
    }

    /// A change cannot be written at all, so the run ends in this way and reports why.
    fn give_up_task(&mut self, end: RunOutcome, out: &mut Vec<RunEffect>, now: Timestamp) {
        self.documents.tasks.pop_front();
        self.documents.failures = 0;
        match (&mut self.stopping, end) {
            (None, end) => {
                self.drop_changes();
                self.stop(end, out, now);
            }
            // The document does not show the failure, but the journal and the outcome do.
            (Some(RunOutcome::Failed(reason)), end) => {
                if !reason.contains(end.words()) {
                    *reason = format!("{reason}; {}", end.words());
                }
            }
            (Some(RunOutcome::Cancelled), _)
            | (Some(RunOutcome::Blocked(_)), RunOutcome::Blocked(_)) => {}
            (Some(other), end) => *other = end,
        }
        self.continue_documents(out, now);
    }

    fn pause_documents(&mut self, now: Timestamp) {
        let pause = FIRST_PAUSE_MS << self.documents.attempts.min(8);
        self.documents.attempts += 1;
        self.documents.retry_at = Some(now.plus_millis(pause.min(LONGEST_PAUSE_MS)));
    }

    fn report_busy(&mut self, why: &str, out: &mut Vec<RunEffect>, now: Timestamp) {
        let is_due = |at: Timestamp| at.plus_millis(REPORT_MS) <= now;
        if self.documents.reported_at.is_none_or(is_due) {
            self.documents.reported_at = Some(now);
            let words = format!("waiting for the project's lock: {why}");
            out.push(RunEffect::Show(Progress::Note(words.into())));
        }
    }

    pub(super) fn retry_documents(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        if self.documents.retry_at.is_some_and(|at| at <= now) {
            self.documents.retry_at = None;
            self.documents.start(out);
        }
    }

    /// Writes the next change, or starts what the written documents announce.
    pub(super) fn continue_documents(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        self.documents.start(out);
        if !self.documents.is_empty() {
            return;
        }
        if std::mem::take(&mut self.documents.is_opening) {
            self.advance(out, now);
        } else {
            self.act_on_next(out, now);
        }
        self.close_if_idle(out, now);
    }
}
