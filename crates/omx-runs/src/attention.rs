//! Open questions of a run that only the person can answer: small files in the
//! run's folder, so that any process can read and answer them.

use omx_kernel::{ForeignText, Refusal};
use omx_store::StoreError;
use omx_store::runs::{Liveness, RunFolder};
use serde_json::{Value, json};

use crate::step_key::StepKey;

/// The folder of open questions in a run's folder.
const FOLDER: &str = "needs";
/// The maximum size of a question or an answer.
const MAX_BYTES: usize = 1024 * 1024;

/// An open question for the person.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Its number within the process that drives the run.
    pub number: u64,
    /// The step whose agent asks.
    pub step: ForeignText,
    /// What the agent wants to do, for people.
    pub what: ForeignText,
}

/// The person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionAnswer {
    /// The agent may do it.
    Yes,
    /// It may not.
    No,
}

impl AttentionAnswer {
    /// The answer as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
        }
    }

    /// Parses an answer.
    pub fn parse(word: &str) -> Result<Self, Refusal> {
        match word {
            "yes" => Ok(Self::Yes),
            "no" => Ok(Self::No),
            other => {
                Err(Refusal::invalid_input(format!("{other:?} is not an answer; say yes or no")))
            }
        }
    }
}

/// Reads the open questions of a run, oldest first. Skips the questions of a process
/// that has exited, because nobody waits for their answers.
pub fn open(run: &RunFolder) -> Result<Vec<Attention>, Refusal> {
    let Liveness::Alive(holder) = run.liveness()? else { return Ok(Vec::new()) };
    if holder.as_ref().is_some_and(|holder| !holder.is_running()) {
        // A process has just taken the lock and not recorded its id yet, so these
        // questions belong to the previous process.
        return Ok(Vec::new());
    }
    let is_current = |object: &Value| {
        holder.as_ref().is_none_or(|holder| object["pid"].as_u64() == Some(holder.pid.into()))
    };
    let mut open: Vec<Attention> = run
        .file_names(FOLDER)
        .unwrap_or_default()
        .iter()
        .filter_map(|name| {
            let number = name.strip_suffix(".json")?.parse().ok()?;
            let bytes = run.read_file(FOLDER, name, MAX_BYTES).ok()??;
            let object: Value = serde_json::from_slice(&bytes).ok()?;
            if !is_current(&object) {
                return None;
            }
            let text = |name: &str| ForeignText::from(object[name].as_str().unwrap_or_default());
            Some(Attention { number, step: text("step"), what: text("what") })
        })
        .collect();
    open.sort_by_key(|attention| attention.number);
    Ok(open)
}

/// Answers a question.
pub fn answer(run: &RunFolder, number: u64, answer: AttentionAnswer) -> Result<(), StoreError> {
    run.write_file(FOLDER, &format!("{number}.answer"), answer.as_str())
}

/// Raises a question. `what` is for people, `request` is what the agent sent.
pub fn open_question(
    run: &RunFolder,
    number: u64,
    step: &StepKey,
    what: &str,
    request: &Value,
) -> Result<(), StoreError> {
    let object = json!({
        "number": number,
        "step": step,
        "what": what,
        "ask": request,
        "pid": std::process::id(),
    });
    run.write_file(FOLDER, &format!("{number}.json"), &object.to_string())
}

/// Reads the person's answer to a question, if there is one yet. Anything but `yes`
/// counts as no.
pub fn read_answer(run: &RunFolder, number: u64) -> Option<AttentionAnswer> {
    let bytes = run.read_file(FOLDER, &format!("{number}.answer"), MAX_BYTES).ok()??;
    let text = String::from_utf8_lossy(&bytes);
    Some(AttentionAnswer::parse(text.trim()).unwrap_or(AttentionAnswer::No))
}

/// Returns the numbers of the answered questions, in no particular order.
pub fn answered_numbers(run: &RunFolder) -> Vec<u64> {
    let names = run.file_names(FOLDER).unwrap_or_default();
    names.iter().filter_map(|name| name.strip_suffix(".answer")?.parse().ok()).collect()
}

/// Removes a question and its answer.
pub fn close(run: &RunFolder, number: u64) {
    for suffix in ["json", "answer"] {
        let _ = run.remove_file(FOLDER, &format!("{number}.{suffix}"));
    }
}

/// Removes the questions of an earlier process, which died with its agents.
pub fn clear(run: &RunFolder) {
    let _ = run.remove_folder(FOLDER);
}
