//! From an agent's answer to a typed result.

use serde::Serialize;
use serde_json::Value;

use super::json;
use super::kind::ResultKind;
use super::place::Place;
use super::plan::Plan;
use super::problem::ResultProblem;
use super::record::Field;
use super::review::Review;
use super::verification::Verification;
use super::work::Work;
use crate::event::TurnAnswer;

/// A result that was read, and so is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum AgentResult {
    /// A plan.
    Plan(Plan),
    /// A review.
    Review(Review),
    /// Work.
    Work(Work),
    /// A verification.
    Verification(Verification),
}

impl AgentResult {
    /// Reads a result that was kept as JSON.
    pub fn read(kind: ResultKind, value: Value) -> Result<Self, ResultProblem> {
        json::check_bounds(&value)?;
        read(kind, value)
    }
}

/// Reads the result in an answer: what the program says fits the schema, else
/// the whole text if it is an object, else the JSON block at its end.
pub fn parse(kind: ResultKind, answer: &TurnAnswer) -> Result<AgentResult, ResultProblem> {
    match &answer.structured {
        Some(value) if !value.is_null() => {
            json::check_bounds(value)?;
            read(kind, value.clone())
        }
        _ => read(kind, json::parsed(json_part(answer.text.trim())?)?),
    }
}

fn read(kind: ResultKind, value: Value) -> Result<AgentResult, ResultProblem> {
    let place = &Place::Whole;
    match kind {
        ResultKind::Plan => Plan::read(value, place).map(AgentResult::Plan),
        ResultKind::Review(kind) => kind.read(value).map(AgentResult::Review),
        ResultKind::Work => Work::read(value, place).map(AgentResult::Work),
        ResultKind::Verification => Verification::read(value, place).map(AgentResult::Verification),
    }
}

/// The part of a text that is meant as the result.
fn json_part(text: &str) -> Result<&str, ResultProblem> {
    if text.is_empty() {
        return Err(ResultProblem::NoResult { why: "the answer is empty" });
    }
    if text.starts_with('{') && text.ends_with('}') {
        return Ok(text);
    }
    last_block(text)
}

/// What stands in the JSON block a text ends with. Inside JSON no line can
/// begin with a fence, so the last one before the end opens the block.
fn last_block(text: &str) -> Result<&str, ResultProblem> {
    let open =
        ResultProblem::NoResult { why: "the answer does not end with a closed ```json block" };
    let other = ResultProblem::NoResult {
        why: "the block at the end of the answer does not open with ```json",
    };
    let Some((before, last)) = text.rsplit_once('\n') else { return Err(open) };
    let Some(closing) = Fence::of(last).filter(|fence| fence.info.is_empty()) else {
        return Err(open);
    };
    let mut rest = before;
    loop {
        let (head, line) = match rest.rsplit_once('\n') {
            Some((head, line)) => (Some(head), line),
            None => (None, rest),
        };
        if let Some(opening) = Fence::of(line) {
            let fits = opening.info.eq_ignore_ascii_case("json") && opening.ticks <= closing.ticks;
            return if fits {
                Ok(before.get(rest.len() + 1..).unwrap_or_default())
            } else {
                Err(other)
            };
        }
        rest = head.ok_or(ResultProblem::NoResult {
            why: "the block at the end of the answer is closed and never opened",
        })?;
    }
}

/// A line of three backticks or more, with the word after them.
struct Fence<'a> {
    ticks: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let info = line.trim_start_matches('`');
        let ticks = line.len() - info.len();
        (ticks >= 3).then(|| Self { ticks, info: info.trim() })
    }
}
