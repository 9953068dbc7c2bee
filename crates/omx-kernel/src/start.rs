//! The start of a mode by a call in a prompt.
//!
//! A call without a task resumes a run that can be resumed; a call with a new task starts
//! a new run. A mode that is already running is left alone.

use crate::cancel::{self, CancelTarget};
use crate::document::{Document, DocumentStatus};
use crate::evidence::FactQuery;
use crate::links;
use crate::mode::{Mode, OnCancel};
use crate::outcome::RunEnding;
use crate::presets;
use crate::refusal::Refusal;
use crate::request::WriteRequest;
use crate::snapshot::Snapshot;
use crate::value::Value;
use crate::write::{self, WriteContext};

/// A call of the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartRequest<'a> {
    /// The mode.
    pub mode: Mode,
    /// Modes to start together with it and link to it.
    pub companions: &'a [Mode],
    /// The task, as the person wrote it.
    pub task: &'a str,
    /// The file that keeps the task, for modes that record it.
    pub context_path: Option<&'a str>,
}

/// What a start does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartOutcome {
    /// It starts a new run.
    Started,
    /// It resumes the earlier run.
    Resumed,
    /// The mode is already running; nothing changes.
    AlreadyRunning,
}

/// What a start changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartPlan {
    /// What the start does.
    pub outcome: StartOutcome,
    /// The documents to write, in this order.
    pub writes: Vec<(Mode, Document)>,
}

/// Predicts what a start does, from the mode's own document alone.
pub fn predict_outcome(
    snapshot: &Snapshot,
    start: &StartRequest<'_>,
    now: crate::Timestamp,
) -> StartOutcome {
    let Some(document) = snapshot.documents.get(&start.mode) else { return StartOutcome::Started };
    let same_task =
        start.task.is_empty() || document.get_str("task_description") == Some(start.task);
    let goes_on = match document.status() {
        DocumentStatus::Active if !snapshot.is_stale(start.mode, now) => {
            return StartOutcome::AlreadyRunning;
        }
        DocumentStatus::Active | DocumentStatus::Ended(RunEnding::Finished | RunEnding::Failed) => {
            false
        }
        DocumentStatus::Ended(RunEnding::Blocked) => true,
        DocumentStatus::Ended(RunEnding::Cancelled) => {
            start.mode.spec().on_cancel != OnCancel::Ends
        }
    };
    if goes_on && same_task { StartOutcome::Resumed } else { StartOutcome::Started }
}

/// Returns what a start needs to know about files.
pub fn required_facts(snapshot: &Snapshot, start: &StartRequest<'_>) -> Result<FactQuery, Refusal> {
    Ok(write::required_facts(snapshot, &request(snapshot, start, StartOutcome::Started)?))
}

/// Plans a start, or refuses it.
pub fn plan_start(
    snapshot: &Snapshot,
    start: &StartRequest<'_>,
    context: WriteContext<'_>,
) -> Result<StartPlan, Refusal> {
    let outcome = predict_outcome(snapshot, start, context.now);
    if outcome == StartOutcome::AlreadyRunning {
        return Ok(StartPlan { outcome, writes: Vec::new() });
    }
    let mut world = snapshot.clone();
    let mut changed: Vec<Mode> = Vec::new();
    if outcome == StartOutcome::Started && snapshot.active(start.mode).is_some() {
        // End the stale run first, as a cancel would.
        let (dialect, now) = (context.dialect, context.now);
        for entry in
            cancel::plan_cancel(snapshot, CancelTarget::Mode(start.mode), dialect, now)?.entries
        {
            changed.push(entry.mode);
            world.documents.insert(entry.mode, entry.document);
        }
    }
    let mut requests = vec![request(&world, start, outcome)?];
    for companion in start.companions {
        requests.push(companion_request(&world, start, *companion)?);
    }
    for request in requests {
        for (mode, document) in write::plan_write(&world, &request, context)?.writes {
            changed.push(mode);
            world.documents.insert(mode, document);
        }
    }
    changed.sort();
    changed.dedup();
    links::dependents_first(&mut changed);
    let writes =
        changed.into_iter().filter_map(|mode| Some((mode, world.documents.remove(&mode)?)));
    Ok(StartPlan { outcome, writes: writes.collect() })
}

fn request(
    snapshot: &Snapshot,
    start: &StartRequest<'_>,
    outcome: StartOutcome,
) -> Result<WriteRequest, Refusal> {
    let mode = start.mode;
    let intent = if outcome == StartOutcome::Resumed { "resume" } else { "start" };
    let yes = || Value::bool(true);
    let mut fields = vec![(intent.to_owned(), yes()), ("active".to_owned(), yes())];
    if outcome == StartOutcome::Started {
        if !start.task.is_empty() {
            fields.push(("task_description".to_owned(), Value::string(start.task)));
        }
        if mode == Mode::Pipeline {
            fields.push(("stages".to_owned(), Value::strings(line(start.task).iter().copied())));
        }
        if let (Mode::Autopilot, Some(path)) = (mode, start.context_path) {
            let kept = Value::record([("context_snapshot_path", Value::string(path))]);
            fields.push(("handoff_artifacts".to_owned(), kept));
        }
    }
    for companion in start.companions {
        if let Some((field, _)) = links::link_fields(mode, *companion) {
            fields.push((field.to_owned(), yes()));
        }
    }
    WriteRequest::new(mode, snapshot.scope.session(), fields)
}

fn companion_request(
    snapshot: &Snapshot,
    start: &StartRequest<'_>,
    companion: Mode,
) -> Result<WriteRequest, Refusal> {
    let yes = || Value::bool(true);
    let mut fields = vec![("active".to_owned(), yes())];
    if snapshot.active(companion).is_none() {
        fields.push(("start".to_owned(), yes()));
        if !start.task.is_empty() {
            fields.push(("task_description".to_owned(), Value::string(start.task)));
        }
    }
    if let Some((_, field)) = links::link_fields(start.mode, companion) {
        fields.push((field.to_owned(), yes()));
    }
    WriteRequest::new(companion, snapshot.scope.session(), fields)
}

/// Returns the stages of the preset that a pipeline's task names with its first word.
fn line(task: &str) -> &'static [&'static str] {
    let word = task.split_whitespace().next().unwrap_or_default();
    let word = word.trim_end_matches([':', ',']).to_ascii_lowercase();
    presets::stage_roles(&word)
        .or_else(|| presets::stage_roles(presets::DEFAULT))
        .unwrap_or_default()
}
