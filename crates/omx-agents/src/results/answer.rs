//! From an agent's answer to a typed result.

use serde::Serialize;
use serde_json::Value;

use super::kind::ResultKind;
use super::plan::PlanResult;
use super::problem::ResultProblem;
use super::read::{parse_json, read_typed};
use super::review::ReviewResult;
use super::verification::VerificationResult;
use super::work::WorkResult;
use crate::event::TurnAnswer;

/// A valid result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum AgentResult {
    /// A plan.
    Plan(PlanResult),
    /// A review.
    Review(ReviewResult),
    /// A report of work.
    Work(WorkResult),
    /// A verification.
    Verification(VerificationResult),
}

impl AgentResult {
    /// Reads a result from JSON.
    pub fn read(kind: ResultKind, value: Value) -> Result<Self, ResultProblem> {
        Self::read_text(kind, &value.to_string())
    }

    fn read_text(kind: ResultKind, text: &str) -> Result<Self, ResultProblem> {
        let value = parse_json(text)?;
        match kind {
            ResultKind::Plan => {
                let plan: PlanResult = read_typed(text)?;
                plan.check_subtasks()?;
                Ok(Self::Plan(plan))
            }
            ResultKind::Review(kind) => {
                kind.check_words(&value)?;
                read_typed(text).map(Self::Review)
            }
            ResultKind::Work => read_typed(text).map(Self::Work),
            ResultKind::Verification => read_typed(text).map(Self::Verification),
        }
    }
}

/// Reads the result in an answer: the structured result if the program returned
/// one, else the whole text if it is an object, else the JSON block at its end.
pub fn parse(kind: ResultKind, answer: &TurnAnswer) -> Result<AgentResult, ResultProblem> {
    match &answer.structured {
        Some(value) if !value.is_null() => AgentResult::read_text(kind, &value.to_string()),
        _ => AgentResult::read_text(kind, find_json(answer.text.trim())?),
    }
}

/// The part of a text that holds the result.
fn find_json(text: &str) -> Result<&str, ResultProblem> {
    if text.is_empty() {
        return Err(ResultProblem::NoResult { why: "the answer is empty" });
    }
    if text.starts_with('{') && text.ends_with('}') {
        return Ok(text);
    }
    last_block(text)
}

/// The content of the JSON block that ends a text. No line inside JSON can
/// begin with a fence, so the last fence before the closing one opens the block.
fn last_block(text: &str) -> Result<&str, ResultProblem> {
    let not_closed =
        ResultProblem::NoResult { why: "the answer does not end with a closed ```json block" };
    let not_json = ResultProblem::NoResult {
        why: "the block at the end of the answer does not open with ```json",
    };
    let Some((before, last)) = text.rsplit_once('\n') else { return Err(not_closed) };
    let Some(closing) = Fence::parse(last).filter(|fence| fence.info.is_empty()) else {
        return Err(not_closed);
    };
    let mut rest = before;
    loop {
        let (head, line) = match rest.rsplit_once('\n') {
            Some((head, line)) => (Some(head), line),
            None => (None, rest),
        };
        if let Some(opening) = Fence::parse(line) {
            let fits = opening.info.eq_ignore_ascii_case("json") && opening.ticks <= closing.ticks;
            return if fits {
                Ok(before.get(rest.len() + 1..).unwrap_or_default())
            } else {
                Err(not_json)
            };
        }
        rest = head.ok_or(ResultProblem::NoResult {
            why: "the block at the end of the answer is closed but never opened",
        })?;
    }
}

/// A line of three or more backticks, with the word after them.
struct Fence<'a> {
    ticks: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let info = line.trim_start_matches('`');
        let ticks = line.len() - info.len();
        (ticks >= 3).then(|| Self { ticks, info: info.trim() })
    }
}
