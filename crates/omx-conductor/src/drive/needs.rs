//! What a run asks the person, and what it shows to whoever looks.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::{ApprovalId, ApprovalRequest};
use omx_kernel::Timestamp;
use serde_json::json;

use crate::show;
use omx_agents::json::ask_object;
use omx_runs::StepKey;
use omx_runs::attention;
use omx_runs::attention::AttentionAnswer;
use omx_runs::progress::{EVENTS_FILE, Progress};

/// Open questions of a run.
#[derive(Debug)]
pub(super) struct Needs {
    run: PathBuf,
    next: u64,
    open: BTreeMap<u64, (StepKey, ApprovalId)>,
}

impl Needs {
    pub(super) fn new(run: &Path) -> Self {
        attention::clear(run);
        Self { run: run.to_owned(), next: 1, open: BTreeMap::new() }
    }

    /// Puts a question where the person finds it. If that cannot be done it
    /// stays open, and is shown all the same.
    pub(super) fn ask(&mut self, step: StepKey, approval: ApprovalId, ask: &ApprovalRequest) {
        let number = self.next;
        self.next += 1;
        let what = show::describe_request(ask);
        let _ = attention::ask(&self.run, number, &step, &what, &ask_object(ask));
        self.open.insert(number, (step, approval));
    }

    /// What the person has answered since.
    pub(super) fn answers(&mut self) -> Vec<(StepKey, ApprovalId, ApprovalDecision)> {
        let answered = |number: &u64| {
            let decision = match attention::read_answer(&self.run, *number)? {
                AttentionAnswer::Yes => ApprovalDecision::Allow,
                AttentionAnswer::No => ApprovalDecision::Deny("the person said no".to_owned()),
            };
            Some((*number, decision))
        };
        let answers: Vec<(u64, ApprovalDecision)> = self.open.keys().filter_map(answered).collect();
        let close = |(number, decision)| {
            let (step, approval) = self.close(number)?;
            Some((step, approval, decision))
        };
        answers.into_iter().filter_map(close).collect()
    }

    /// Takes back what a step that is over has asked.
    pub(super) fn forget(&mut self, step: &StepKey) {
        let of_step = |(_, (asker, _)): &(&u64, &(StepKey, ApprovalId))| asker == step;
        let numbers: Vec<u64> =
            self.open.iter().filter(of_step).map(|(number, _)| *number).collect();
        for number in numbers {
            self.close(number);
        }
    }

    fn close(&mut self, number: u64) -> Option<(StepKey, ApprovalId)> {
        attention::close(&self.run, number);
        self.open.remove(&number)
    }

    /// Keeps what is shown. It is for looking at only, so it is not flushed,
    /// and a full disk does not stop a run because of it.
    pub(super) fn log(&self, progress: &Progress, now: Timestamp) {
        let Ok(mut object) = serde_json::to_value(progress) else { return };
        object["at"] = json!(now.to_string());
        let log = self.run.join(EVENTS_FILE);
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(log);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{object}\n").as_bytes());
        }
    }
}
