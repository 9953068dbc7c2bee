//! The person's answer to an open question of a run.

use omx_kernel::{Refusal, RefusalCode, RunId, Value};
use omx_runs::attention::{self, Attention, AttentionAnswer};
use serde_json::json;

use super::find::open_folder;
use super::select::RunSelector;
use crate::context::Context;
use crate::report;

/// A request to answer a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunAnswerRequest {
    /// The run.
    pub run: RunSelector,
    /// The question's number; defaults to the oldest question.
    pub question: Option<u64>,
    /// The answer.
    pub answer: AttentionAnswer,
}

/// The question that was answered.
#[derive(Debug)]
pub struct RunAnswerReport {
    /// The run.
    pub id: RunId,
    /// The question.
    pub question: Attention,
    /// The answer.
    pub answer: AttentionAnswer,
}

impl RunAnswerReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        report::from_json(&json!({
            "id": self.id.as_str(),
            "question": self.question.number,
            "step": self.question.step,
            "what": self.question.what,
            "answer": self.answer.as_str(),
        }))
    }
}

/// Answers an open question of a run.
pub fn run_answer(
    context: &Context<'_>,
    request: &RunAnswerRequest,
) -> Result<RunAnswerReport, Refusal> {
    let (store, id) = request.run.find_for_person(context, "answer")?;
    let folder = open_folder(&store, &id)?;
    let open = attention::open(&folder)?;
    let question = match request.question {
        Some(number) => open.into_iter().find(|question| question.number == number),
        None => open.into_iter().next(),
    };
    let question = question.ok_or_else(|| {
        Refusal::invalid_input(match request.question {
            Some(number) => format!("run {id} has no open question {number}"),
            None => format!("run {id} has no open question"),
        })
    })?;
    attention::answer(&folder, question.number, request.answer).map_err(|error| {
        Refusal::new(RefusalCode::Io, format!("cannot write the answer: {error}"))
    })?;
    Ok(RunAnswerReport { id, question, answer: request.answer })
}
