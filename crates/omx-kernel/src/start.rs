//! A mode that the person starts by a word in a conversation.
//!
//! The word alone goes on with what can be gone on with; a word with a task
//! begins anew. What runs already is left running.

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

/// What the person asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartRequest<'a> {
    /// The mode.
    pub mode: Mode,
    /// Modes that are started with it, linked to it.
    pub companions: &'a [Mode],
    /// What it is to do, in the person's words.
    pub task: &'a str,
    /// Where the person's words are kept, for modes that want to know.
    pub context_path: Option<&'a str>,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartOutcome {
    /// A new run.
    Started,
    /// The run that had stopped goes on.
    Resumed,
    /// It runs already; nothing changes.
    AlreadyRunning,
}

/// What a start changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartPlan {
    /// What comes of it.
    pub outcome: StartOutcome,
    /// Documents, in the order in which they must reach the disk.
    pub writes: Vec<(Mode, Document)>,
}

/// What comes of this call, before anything else is looked at.
pub fn predict_outcome(
    snapshot: &Snapshot,
    wanted: &StartRequest<'_>,
    now: crate::Timestamp,
) -> StartOutcome {
    let Some(document) = snapshot.documents.get(&wanted.mode) else { return StartOutcome::Started };
    let same_task =
        wanted.task.is_empty() || document.get_str("task_description") == Some(wanted.task);
    let goes_on = match document.status() {
        DocumentStatus::Active if !snapshot.is_stale(wanted.mode, now) => {
            return StartOutcome::AlreadyRunning;
        }
        DocumentStatus::Active | DocumentStatus::Ended(RunEnding::Finished | RunEnding::Failed) => {
            false
        }
        DocumentStatus::Ended(RunEnding::Blocked) => true,
        DocumentStatus::Ended(RunEnding::Cancelled) => {
            wanted.mode.spec().on_cancel != OnCancel::Ends
        }
    };
    if goes_on && same_task { StartOutcome::Resumed } else { StartOutcome::Started }
}

/// What a start wants to know of the world outside.
pub fn required_facts(
    snapshot: &Snapshot,
    wanted: &StartRequest<'_>,
) -> Result<FactQuery, Refusal> {
    Ok(write::required_facts(snapshot, &request(snapshot, wanted, StartOutcome::Started)?))
}

/// Decides a start.
pub fn plan_start(
    snapshot: &Snapshot,
    wanted: &StartRequest<'_>,
    circumstances: WriteContext<'_>,
) -> Result<StartPlan, Refusal> {
    let how = predict_outcome(snapshot, wanted, circumstances.now);
    if how == StartOutcome::AlreadyRunning {
        return Ok(StartPlan { outcome: how, writes: Vec::new() });
    }
    let mut world = snapshot.clone();
    let mut changed: Vec<Mode> = Vec::new();
    if how == StartOutcome::Started && snapshot.active(wanted.mode).is_some() {
        // A stale run makes room for the new one, as a cancel would.
        let (dialect, now) = (circumstances.dialect, circumstances.now);
        for entry in
            cancel::plan_cancel(snapshot, CancelTarget::Mode(wanted.mode), dialect, now)?.entries
        {
            changed.push(entry.mode);
            world.documents.insert(entry.mode, entry.document);
        }
    }
    let mut requests = vec![request(&world, wanted, how)?];
    for companion in wanted.companions {
        requests.push(companion_request(&world, wanted, *companion)?);
    }
    for request in requests {
        for (mode, document) in write::plan_write(&world, &request, circumstances)?.writes {
            changed.push(mode);
            world.documents.insert(mode, document);
        }
    }
    changed.sort();
    changed.dedup();
    links::dependents_first(&mut changed);
    let writes =
        changed.into_iter().filter_map(|mode| Some((mode, world.documents.remove(&mode)?)));
    Ok(StartPlan { outcome: how, writes: writes.collect() })
}

fn request(
    snapshot: &Snapshot,
    wanted: &StartRequest<'_>,
    how: StartOutcome,
) -> Result<WriteRequest, Refusal> {
    let mode = wanted.mode;
    let intent = if how == StartOutcome::Resumed { "resume" } else { "start" };
    let yes = || Value::bool(true);
    let mut fields = vec![(intent.to_owned(), yes()), ("active".to_owned(), yes())];
    if how == StartOutcome::Started {
        if !wanted.task.is_empty() {
            fields.push(("task_description".to_owned(), Value::string(wanted.task)));
        }
        if mode == Mode::Pipeline {
            fields.push(("stages".to_owned(), Value::strings(line(wanted.task).iter().copied())));
        }
        if let (Mode::Autopilot, Some(path)) = (mode, wanted.context_path) {
            let kept = Value::record([("context_snapshot_path", Value::string(path))]);
            fields.push(("handoff_artifacts".to_owned(), kept));
        }
    }
    for companion in wanted.companions {
        if let Some((field, _)) = links::link_fields(mode, *companion) {
            fields.push((field.to_owned(), yes()));
        }
    }
    WriteRequest::new(mode, snapshot.scope.session(), fields)
}

fn companion_request(
    snapshot: &Snapshot,
    wanted: &StartRequest<'_>,
    companion: Mode,
) -> Result<WriteRequest, Refusal> {
    let yes = || Value::bool(true);
    let mut fields = vec![("active".to_owned(), yes())];
    if snapshot.active(companion).is_none() {
        fields.push(("start".to_owned(), yes()));
        if !wanted.task.is_empty() {
            fields.push(("task_description".to_owned(), Value::string(wanted.task)));
        }
    }
    if let Some((_, field)) = links::link_fields(wanted.mode, companion) {
        fields.push((field.to_owned(), yes()));
    }
    WriteRequest::new(companion, snapshot.scope.session(), fields)
}

/// The line of roles a pipeline's task asks for with its first word.
fn line(task: &str) -> &'static [&'static str] {
    let word = task.split_whitespace().next().unwrap_or_default();
    let word = word.trim_end_matches([':', ',']).to_ascii_lowercase();
    presets::stage_roles(&word)
        .or_else(|| presets::stage_roles(presets::DEFAULT))
        .unwrap_or_default()
}
