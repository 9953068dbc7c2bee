//! Questions of a run that only the person can answer: small files in the
//! run's folder, so that any other process can read and answer them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::Ask;
use omx_agents::json::ask_object;
use omx_kernel::Refusal;
use omx_store::runs::{Liveness, RunFolder};
use serde_json::{Value, json};

use crate::progress::in_words;
use crate::story::StepKey;

/// The folder of questions in a run's folder.
const FOLDER: &str = "needs";

/// An open question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its number in this process of the run.
    pub number: u64,
    /// The step whose agent asks.
    pub step: String,
    /// What the agent wants to do, in words.
    pub what: String,
}

/// The open questions of a run, the oldest first. Those of a process that is
/// gone are asked by nobody.
pub fn open(run: &RunFolder) -> Result<Vec<Question>, Refusal> {
    let Liveness::Alive(holder) = run.liveness()? else { return Ok(Vec::new()) };
    if holder.as_ref().is_some_and(|holder| !holder.is_running()) {
        // Somebody has just taken the run and not said who: what is there was
        // asked by the one before.
        return Ok(Vec::new());
    }
    let asks_now = |object: &Value| {
        holder.as_ref().is_none_or(|holder| object["pid"].as_u64() == Some(holder.pid.into()))
    };
    let entries = fs::read_dir(run.path().join(FOLDER)).into_iter().flatten().flatten();
    let mut open: Vec<Question> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok()?;
            let object: Value = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
            if !asks_now(&object) {
                return None;
            }
            let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
            Some(Question { number, step: text("step"), what: text("what") })
        })
        .collect();
    open.sort_by_key(|question| question.number);
    Ok(open)
}

/// Answers a question.
pub fn answer(run: &RunFolder, number: u64, answer: &str) -> io::Result<()> {
    put(&run.path().join(FOLDER), &format!("{number}.answer"), answer)
}

/// Puts a question where the person finds it.
pub(crate) fn ask(run: &Path, number: u64, step: &StepKey, ask: &Ask) -> io::Result<()> {
    let object = json!({
        "number": number,
        "step": step,
        "what": in_words(ask),
        "ask": ask_object(ask),
        "pid": std::process::id(),
    });
    fs::create_dir_all(run.join(FOLDER))?;
    put(&run.join(FOLDER), &format!("{number}.json"), &object.to_string())
}

/// What the person said to a question, if anything yet.
pub(crate) fn answered(run: &Path, number: u64) -> Option<ApprovalDecision> {
    let text = fs::read_to_string(run.join(FOLDER).join(format!("{number}.answer"))).ok()?;
    Some(match text.trim() {
        "yes" => ApprovalDecision::Allow,
        _ => ApprovalDecision::Deny("the person said no".to_owned()),
    })
}

/// A question is over.
pub(crate) fn close(run: &Path, number: u64) {
    for suffix in ["json", "answer"] {
        let _ = fs::remove_file(run.join(FOLDER).join(format!("{number}.{suffix}")));
    }
}

/// Questions of an earlier process died with its agents.
pub(crate) fn clear(run: &Path) {
    let _ = fs::remove_dir_all(run.join(FOLDER));
}

/// Under its name only when it is whole.
fn put(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let beside: PathBuf = folder.join(format!(".{name}.tmp"));
    fs::write(&beside, text)?;
    fs::rename(beside, folder.join(name))
}
