//! A plan: what will be done, and the subtasks it is cut into.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::field::{FilePath, Text};
use super::place::Place;
use super::problem::{ResultProblem, shortened};
use super::record::{Field, record};

record! {
    /// A plan with its subtasks.
    pub struct Plan {
        /// The outcome in a few words.
        title: Text as &str,
        /// Goal, approach, main decision and main risk.
        summary: Text as &str,
        /// The whole plan, as Markdown.
        plan_markdown: Text as &str,
        /// How it will be tested, as Markdown.
        test_spec_markdown: Text as &str,
        /// What the plan is cut into. Ids are unique.
        subtasks: Subtasks as &[Subtask],
    }
}

record! {
    /// A part of a plan that one worker does in one go.
    pub struct Subtask {
        /// A short id, unique in the plan.
        id: Text as &str,
        /// What to do, in a few words.
        subject: Text as &str,
        /// What, where, why, and what to look out for.
        description: String as &str,
        /// The role of the worker.
        role: Text as &str,
        /// Files it may change: paths from the project's folder, without "..".
        files: Vec<FilePath> as &[FilePath],
        /// Ids of the subtasks that must be finished before. No circles.
        blocked_by: Vec<Text> as &[Text],
        /// Statements that decide whether it is done.
        acceptance: Vec<Text> as &[Text],
    }
}

/// Subtasks that can be done in some order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Subtasks(Vec<Subtask>);

impl Field for Subtasks {
    type Shown<'a> = &'a [Subtask];

    fn schema() -> Value {
        Vec::<Subtask>::schema()
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        let subtasks = Vec::<Subtask>::read(value, place)?;
        let blockers = blockers(&subtasks, place)?;
        match circle(&blockers) {
            Some(circle) => Err(ResultProblem::Circle { ids: names(&subtasks, &circle) }),
            None => Ok(Self(subtasks)),
        }
    }

    fn shown(&self) -> &[Subtask] {
        &self.0
    }
}

/// For each subtask those it waits for, by their places in the list.
fn blockers(subtasks: &[Subtask], place: &Place<'_>) -> Result<Vec<Vec<usize>>, ResultProblem> {
    let mut places = BTreeMap::new();
    for (at, subtask) in subtasks.iter().enumerate() {
        if let Some(other) = places.insert(subtask.id(), at) {
            let wanted = format!("an id of its own, and subtasks[{other}] has the same");
            let item = Place::Item(place, at);
            let field = Place::Field(&item, "id");
            return Err(ResultProblem::wrong(&field, wanted, &Value::from(subtask.id())));
        }
    }
    let of = |(at, subtask): (usize, &Subtask)| {
        let find = |(index, id): (usize, &Text)| {
            let item = Place::Item(place, at);
            let list = Place::Field(&item, "blocked_by");
            places.get(id.as_str()).copied().ok_or_else(|| {
                let blocker = Place::Item(&list, index);
                ResultProblem::wrong(
                    &blocker,
                    "the id of a subtask of this plan",
                    &Value::from(&**id),
                )
            })
        };
        subtask.blocked_by.iter().enumerate().map(find).collect()
    };
    subtasks.iter().enumerate().map(of).collect()
}

/// A circle among those that wait, if there is one: what is left when
/// everything that can be done has been done, followed until it repeats.
fn circle(blockers: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = blockers.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); blockers.len()];
    for (at, blockers) in blockers.iter().enumerate() {
        for blocker in blockers {
            dependents.get_mut(*blocker)?.push(at);
        }
    }
    let mut ready: Vec<usize> = (0..blockers.len()).filter(|at| waiting[*at] == 0).collect();
    while let Some(done) = ready.pop() {
        for dependent in &dependents[done] {
            waiting[*dependent] -= 1;
            if waiting[*dependent] == 0 {
                ready.push(*dependent);
            }
        }
    }
    let mut at = waiting.iter().position(|count| *count > 0)?;
    let mut seen = vec![None; blockers.len()];
    let mut way = Vec::new();
    loop {
        if let Some(first) = seen[at] {
            return Some(way.split_off(first));
        }
        seen[at] = Some(way.len());
        way.push(at);
        at = *blockers[at].iter().find(|blocker| waiting[**blocker] > 0)?;
    }
}

/// The ids of a circle; of a long one, the first.
fn names(subtasks: &[Subtask], circle: &[usize]) -> String {
    const MOST: usize = 5;
    let ids = circle.iter().take(MOST).filter_map(|at| subtasks.get(*at));
    let ids: Vec<_> = ids.map(|subtask| shortened(subtask.id())).collect();
    let more = if circle.len() > MOST { ", …" } else { "" };
    format!("{}{more}", ids.join(", "))
}
