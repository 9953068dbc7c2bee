//! What only the person can decide, and what is shown to whoever looks: files
//! in the run's folder that other processes read and answer.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use omx_agents::agent::Decision;
use omx_agents::event::{ApprovalId, Ask};
use omx_agents::json;
use omx_kernel::Timestamp;
use serde_json::json;

use crate::progress::Progress;
use crate::story::StepKey;

/// Open questions of a run.
#[derive(Debug)]
pub(super) struct Needs {
    folder: PathBuf,
    log: PathBuf,
    next: u64,
    open: BTreeMap<u64, (StepKey, ApprovalId)>,
}

/// The folder of questions in a run's folder.
pub const NEEDS_FOLDER: &str = "needs";
/// The file of what was shown in a run's folder.
pub const EVENTS_FILE: &str = "events.jsonl";

impl Needs {
    pub(super) fn new(run: &Path) -> Self {
        let folder = run.join(NEEDS_FOLDER);
        // Questions of an earlier process died with its agents.
        let _ = fs::remove_dir_all(&folder);
        Self { folder, log: run.join(EVENTS_FILE), next: 1, open: BTreeMap::new() }
    }

    /// Puts a question where the person finds it.
    pub(super) fn ask(&mut self, step: StepKey, approval: ApprovalId, ask: &Ask) {
        let number = self.next;
        self.next += 1;
        let question = json!({"number": number, "step": step, "ask": json::ask_object(ask)});
        let _ = fs::create_dir_all(&self.folder);
        let _ = fs::write(self.folder.join(format!("{number}.json")), question.to_string());
        self.open.insert(number, (step, approval));
    }

    /// What the person has answered since.
    pub(super) fn answers(&mut self) -> Vec<(StepKey, ApprovalId, Decision)> {
        let mut answers = Vec::new();
        let numbers: Vec<u64> = self.open.keys().copied().collect();
        for number in numbers {
            let file = self.folder.join(format!("{number}.answer"));
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let decision = match text.trim() {
                "yes" => Decision::Allow,
                _ => Decision::Deny("the person said no".to_owned()),
            };
            if let Some((step, approval)) = self.close(number) {
                answers.push((step, approval, decision));
            }
        }
        answers
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
        let _ = fs::remove_file(self.folder.join(format!("{number}.json")));
        let _ = fs::remove_file(self.folder.join(format!("{number}.answer")));
        self.open.remove(&number)
    }

    /// Keeps what is shown. It is for looking at only, so it is not flushed,
    /// and a full disk does not stop a run because of it.
    pub(super) fn log(&self, progress: &Progress, now: Timestamp) {
        let Ok(mut object) = serde_json::to_value(progress) else { return };
        object["at"] = json!(now.to_string());
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.log);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{object}\n").as_bytes());
        }
    }
}
