//! The journal in memory: lines of text, of which those survive a crash that
//! were flushed; and what they say, for the rules to look at.

use std::collections::{BTreeMap, BTreeSet};

use omx_kernel::CloseReason;
use omx_runs::{LimitChange, Record, StepKey, Usage};

/// The journal.
#[derive(Default)]
pub struct SimJournal {
    lines: Vec<String>,
    /// Steps that are begun and not finished.
    pub begun: BTreeSet<StepKey>,
    pub finished: BTreeSet<StepKey>,
    /// The conversation of a step that is begun.
    pub conversations: BTreeMap<StepKey, String>,
    /// How often a step was given up and begun anew.
    pub tries: BTreeMap<StepKey, u32>,
    pub usage: Usage,
    /// What processes worked that are gone, as far as the journal can tell.
    pub worked_ms: u64,
    /// What this one did, up to its last step.
    worked_now_ms: u64,
    pub closed: Option<CloseReason>,
    /// Limits that were changed since the run was begun.
    pub limits: LimitChange,
    /// The workspace before the step in progress, as far as the journal can tell.
    pub tree: Option<String>,
}

impl SimJournal {
    /// The journal of a run that begins in a workspace with this content.
    pub fn new(tree: String) -> Self {
        Self { tree: Some(tree), ..Self::default() }
    }

    /// A process opens the run.
    pub fn open(&mut self) {
        self.worked_ms += std::mem::take(&mut self.worked_now_ms);
        self.append(&Record::Opened { version: "1".to_owned() }, 0);
    }

    /// Appends and flushes, so many milliseconds after the process began.
    pub fn append(&mut self, record: &Record, worked_ms: u64) {
        self.lines.push(serde_json::to_string(record).unwrap());
        self.closed = None;
        match record.clone() {
            Record::StepStarted { step, tree, .. } => {
                self.begun.insert(step);
                self.tree = tree.or(self.tree.take());
            }
            Record::Conversation { step, id, .. } => {
                self.conversations.insert(step, id);
            }
            Record::StepFinished { step, tree, .. } => {
                self.tree = tree.or(self.tree.take());
                self.begun.remove(&step);
                self.conversations.remove(&step);
                self.finished.insert(step);
                self.worked_now_ms = worked_ms;
            }
            Record::StepDiscarded { step, .. } => {
                self.begun.remove(&step);
                self.conversations.remove(&step);
                self.finished.remove(&step);
                self.tree = None;
                *self.tries.entry(step).or_default() += 1;
            }
            Record::Usage { usage, .. } => self.usage.add(usage),
            Record::LimitRaised { max_iterations } => {
                self.limits.max_iterations = Some(max_iterations);
            }
            Record::BudgetRaised { budget } => {
                self.limits.budget = self.limits.budget.changed_by(budget);
            }
            Record::Worked { .. } => self.worked_now_ms = worked_ms,
            Record::Closed { outcome, .. } => {
                self.closed = Some(outcome);
                self.worked_now_ms = worked_ms;
            }
            _ => {}
        }
    }

    /// Which try of a step this is.
    pub fn tries(&self, step: &StepKey) -> u32 {
        self.tries.get(step).copied().unwrap_or_default()
    }

    /// As a process that opens the run reads it.
    pub fn read(&self) -> Vec<Record> {
        self.lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
