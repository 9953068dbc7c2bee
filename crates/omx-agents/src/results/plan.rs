//! Plans, and the order of their subtasks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::{ResultProblem, quote};
use super::read::objects;
use super::text::{FilePath, NonBlankText};

/// A plan with its subtasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PlanResult {
    /// The outcome in a few words.
    pub title: NonBlankText,
    /// The goal, the approach, the main decision and the main risk.
    pub summary: NonBlankText,
    /// The whole plan, in Markdown.
    pub plan_markdown: NonBlankText,
    /// How the result will be tested, in Markdown.
    pub test_spec_markdown: NonBlankText,
    /// The parts of the plan. Their ids are unique.
    #[serde(deserialize_with = "objects")]
    pub subtasks: Vec<Subtask>,
}

/// A part of a plan that one worker does in one go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Subtask {
    /// A short id, unique in the plan.
    pub id: NonBlankText,
    /// What to do, in a few words.
    pub subject: NonBlankText,
    /// What to do, where, why, and what to watch out for.
    pub description: String,
    /// The role of the worker.
    pub role: NonBlankText,
    /// The files it may change, relative to the project folder, without "..".
    pub files: Vec<FilePath>,
    /// The ids of subtasks that must be finished first. No cycles.
    pub blocked_by: Vec<NonBlankText>,
    /// Statements that decide whether it is done.
    pub acceptance: Vec<NonBlankText>,
}

impl PlanResult {
    /// Checks that ids are unique and that the subtasks can be done in some order.
    pub(super) fn check_subtasks(&self) -> Result<(), ResultProblem> {
        let blockers = blockers(&self.subtasks)?;
        match find_cycle(&blockers) {
            Some(cycle) => Err(ResultProblem::Cycle { ids: quote_ids(&self.subtasks, &cycle) }),
            None => Ok(()),
        }
    }
}

/// For each subtask the indexes of those that block it.
fn blockers(subtasks: &[Subtask]) -> Result<Vec<Vec<usize>>, ResultProblem> {
    let mut indexes = BTreeMap::new();
    for (index, subtask) in subtasks.iter().enumerate() {
        if let Some(other) = indexes.insert(subtask.id.as_str(), index) {
            let path = format!("subtasks[{index}].id");
            let detail = format!("subtasks[{other}] has the same id {}", quote(&subtask.id));
            return Err(ResultProblem::invalid(&path, &detail));
        }
    }
    let of_subtask = |(index, subtask): (usize, &Subtask)| {
        let find = |(at, id): (usize, &NonBlankText)| {
            indexes.get(id.as_str()).copied().ok_or_else(|| {
                let path = format!("subtasks[{index}].blocked_by[{at}]");
                let detail = format!("no subtask of this plan has the id {}", quote(id));
                ResultProblem::invalid(&path, &detail)
            })
        };
        subtask.blocked_by.iter().enumerate().map(find).collect()
    };
    subtasks.iter().enumerate().map(of_subtask).collect()
}

/// A dependency cycle, if there is one: what is left after every subtask that
/// can be done has been removed, followed until it repeats.
fn find_cycle(blockers: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut open_blockers: Vec<usize> = blockers.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); blockers.len()];
    for (index, blockers) in blockers.iter().enumerate() {
        for blocker in blockers {
            dependents.get_mut(*blocker)?.push(index);
        }
    }
    let mut ready: Vec<usize> = (0..blockers.len()).filter(|at| open_blockers[*at] == 0).collect();
    while let Some(done) = ready.pop() {
        for dependent in &dependents[done] {
            open_blockers[*dependent] -= 1;
            if open_blockers[*dependent] == 0 {
                ready.push(*dependent);
            }
        }
    }
    let mut index = open_blockers.iter().position(|count| *count > 0)?;
    let mut position = vec![None; blockers.len()];
    let mut path = Vec::new();
    loop {
        if let Some(first) = position[index] {
            return Some(path.split_off(first));
        }
        position[index] = Some(path.len());
        path.push(index);
        index = *blockers[index].iter().find(|blocker| open_blockers[**blocker] > 0)?;
    }
}

/// The ids of a cycle; the first five of a long one.
fn quote_ids(subtasks: &[Subtask], cycle: &[usize]) -> String {
    const SHOWN: usize = 5;
    let ids = cycle.iter().take(SHOWN).filter_map(|index| subtasks.get(*index));
    let ids: Vec<_> = ids.map(|subtask| quote(&subtask.id)).collect();
    let more = if cycle.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", ids.join(", "))
}
