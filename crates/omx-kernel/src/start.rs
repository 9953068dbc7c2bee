//! The start of a mode by a call in a prompt.
//!
//! A call with a new task starts a new run. A call without a task resumes the run that
//! can be resumed and never starts one. A mode that is already running is left alone.

use crate::cancel::{self, CancelTarget};
use crate::document::{Document, DocumentStatus};
use crate::evidence::FactQuery;
use crate::links;
use crate::mode::Mode;
use crate::outcome::RunEnding;
use crate::presets;
use crate::refusal::Refusal;
use crate::request::{StageRule, WriteRequest};
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
    /// The call has no task, and the last run is complete; nothing changes.
    AlreadyComplete,
    /// The call has no task, and there is no run to resume; nothing changes.
    TaskMissing,
}

impl StartOutcome {
    /// Whether the mode runs because of this call.
    pub const fn begins_work(self) -> bool {
        matches!(self, Self::Started | Self::Resumed)
    }
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
    let is_bare = start.task.is_empty();
    let fresh = if is_bare { StartOutcome::TaskMissing } else { StartOutcome::Started };
    let Some(document) = snapshot.documents.get(&start.mode) else { return fresh };
    let same_task = document.get_str("task_description") == Some(start.task);
    match document.status() {
        DocumentStatus::Active if !snapshot.is_stale(start.mode, now) => {
            StartOutcome::AlreadyRunning
        }
        DocumentStatus::Active if is_bare => StartOutcome::Resumed,
        DocumentStatus::Active => StartOutcome::Started,
        DocumentStatus::Ended(RunEnding::Finished) if is_bare => StartOutcome::AlreadyComplete,
        DocumentStatus::Ended(RunEnding::Finished) => StartOutcome::Started,
        DocumentStatus::Ended(RunEnding::Failed) if !is_bare => StartOutcome::Started,
        DocumentStatus::Ended(_) if !document.can_resume(start.mode) => fresh,
        DocumentStatus::Ended(_) if is_bare || same_task => StartOutcome::Resumed,
        DocumentStatus::Ended(_) => StartOutcome::Started,
    }
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
    if !outcome.begins_work() {
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
    let request = WriteRequest::new(mode, snapshot.scope.session(), fields)?;
    Ok(request.with_stage_rule(StageRule::Separate))
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
    presets::stage_names(&word)
        .or_else(|| presets::stage_names(presets::DEFAULT))
        .unwrap_or_default()
}
