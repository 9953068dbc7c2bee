//! A mode that the person starts by a word in a conversation.
//!
//! The word alone goes on with what can be gone on with; a word with a task
//! begins anew. What runs already is left running.

use crate::cancel::{self, Target};
use crate::document::{Document, Life};
use crate::evidence::Questions;
use crate::links;
use crate::mode::{Mode, OnCancel};
use crate::outcome::Ending;
use crate::presets;
use crate::refusal::Refusal;
use crate::request::WriteRequest;
use crate::snapshot::Snapshot;
use crate::value::Value;
use crate::write::{self, Circumstances};

/// What the person asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<'a> {
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
pub enum How {
    /// A new run.
    Begun,
    /// The run that had stopped goes on.
    Resumed,
    /// It runs already; nothing changes.
    Running,
}

/// What a start changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartPlan {
    /// What comes of it.
    pub how: How,
    /// Documents, in the order in which they must reach the disk.
    pub writes: Vec<(Mode, Document)>,
}

/// What comes of this call, before anything else is looked at.
pub fn how(snapshot: &Snapshot, wanted: &Wanted<'_>, now: crate::Timestamp) -> How {
    let Some(document) = snapshot.documents.get(&wanted.mode) else { return How::Begun };
    let same_task =
        wanted.task.is_empty() || document.text("task_description") == Some(wanted.task);
    let goes_on = match document.life() {
        Life::Active if !snapshot.is_stale(wanted.mode, now) => return How::Running,
        Life::Active | Life::Ended(Ending::Finished | Ending::Failed) => false,
        Life::Ended(Ending::Blocked) => true,
        Life::Ended(Ending::Cancelled) => wanted.mode.row().on_cancel != OnCancel::Ends,
    };
    if goes_on && same_task { How::Resumed } else { How::Begun }
}

/// What a start wants to know of the world outside.
pub fn questions(snapshot: &Snapshot, wanted: &Wanted<'_>) -> Result<Questions, Refusal> {
    Ok(write::questions(snapshot, &request(snapshot, wanted, How::Begun)?))
}

/// Decides a start.
pub fn start(
    snapshot: &Snapshot,
    wanted: &Wanted<'_>,
    circumstances: Circumstances<'_>,
) -> Result<StartPlan, Refusal> {
    let how = how(snapshot, wanted, circumstances.now);
    if how == How::Running {
        return Ok(StartPlan { how, writes: Vec::new() });
    }
    let mut world = snapshot.clone();
    let mut changed: Vec<Mode> = Vec::new();
    if how == How::Begun && snapshot.active(wanted.mode).is_some() {
        // A stale run makes room for the new one, as a cancel would.
        let (dialect, now) = (circumstances.dialect, circumstances.now);
        for entry in cancel::plan(snapshot, Target::Mode(wanted.mode), dialect, now)?.entries {
            changed.push(entry.mode);
            world.documents.insert(entry.mode, entry.document);
        }
    }
    let mut requests = vec![request(&world, wanted, how)?];
    for companion in wanted.companions {
        requests.push(companion_request(&world, wanted, *companion)?);
    }
    for request in requests {
        for (mode, document) in write::write(&world, &request, circumstances)?.writes {
            changed.push(mode);
            world.documents.insert(mode, document);
        }
    }
    changed.sort();
    changed.dedup();
    links::dependents_first(&mut changed);
    let writes =
        changed.into_iter().filter_map(|mode| Some((mode, world.documents.remove(&mode)?)));
    Ok(StartPlan { how, writes: writes.collect() })
}

fn request(snapshot: &Snapshot, wanted: &Wanted<'_>, how: How) -> Result<WriteRequest, Refusal> {
    let mode = wanted.mode;
    let intent = if how == How::Resumed { "resume" } else { "start" };
    let yes = || Value::bool(true);
    let mut fields = vec![(intent.to_owned(), yes()), ("active".to_owned(), yes())];
    if how == How::Begun {
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
        if let Some((field, _)) = links::fields(mode, *companion) {
            fields.push((field.to_owned(), yes()));
        }
    }
    WriteRequest::new(mode, snapshot.scope.session(), fields)
}

fn companion_request(
    snapshot: &Snapshot,
    wanted: &Wanted<'_>,
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
    if let Some((_, field)) = links::fields(wanted.mode, companion) {
        fields.push((field.to_owned(), yes()));
    }
    WriteRequest::new(companion, snapshot.scope.session(), fields)
}

/// The line of roles a pipeline's task asks for with its first word.
fn line(task: &str) -> &'static [&'static str] {
    let word = task.split_whitespace().next().unwrap_or_default();
    let word = word.trim_end_matches([':', ',']).to_ascii_lowercase();
    presets::roles(&word).or_else(|| presets::roles(presets::DEFAULT)).unwrap_or_default()
}
