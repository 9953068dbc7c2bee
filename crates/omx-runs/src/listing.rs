//! The list of a project's runs. Runs that have ended come from the index where it is
//! still true; all others are read.

use std::borrow::Cow;
use std::time::Duration;

use omx_kernel::{ForeignText, Refusal, RunId, Timestamp};
use omx_store::runs::{RunIndexFile, RunStamps};
use omx_store::{FileStamp, Store};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::overview::{Overview, overview};
use crate::usage::Usage;

/// How many entries must be new before the index is written again. Reading a few runs
/// takes less time than writing thousands.
const WORTHWHILE: usize = 16;
/// How much of a task a line can show.
const MAX_TASK_CHARS: usize = 200;

/// A run as lists show it.
#[derive(Debug, Deserialize)]
pub struct ListedOverview {
    /// The run.
    pub id: RunId,
    /// The mode, by name.
    pub mode: ForeignText,
    /// What it was asked to do.
    pub task: ForeignText,
    /// As in [`Overview::state`].
    pub state: ForeignText,
    /// The current phase.
    pub phase: Option<ForeignText>,
    /// What it waits for.
    pub waiting: Option<ForeignText>,
    /// When it started.
    pub started_at: ForeignText,
    /// The time of the last record.
    pub last_at: Option<ForeignText>,
    /// What it has used so far.
    #[serde(rename = "spent")]
    pub usage: Usage,
    /// Its open questions.
    questions: Vec<serde::de::IgnoredAny>,
    /// The whole run for programs, as JSON.
    #[serde(skip)]
    pub json: String,
}

impl ListedOverview {
    fn parse(json: &str) -> Option<Self> {
        let summary: Self = serde_json::from_str(json).ok()?;
        Some(Self { json: json.to_owned(), ..summary })
    }

    /// Whether it needs the person.
    pub fn needs_person(&self) -> bool {
        !self.questions.is_empty()
    }

    /// The time of the last record.
    pub fn last(&self) -> Option<Timestamp> {
        self.last_at.as_ref().and_then(|last| Timestamp::parse(last.raw()))
    }
}

/// A run that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRun {
    /// The run.
    pub id: RunId,
    /// Why.
    pub why: ForeignText,
}

/// The runs of a project, oldest first.
#[derive(Debug, Default)]
pub struct RunListing {
    /// The readable runs.
    pub runs: Vec<ListedOverview>,
    /// The others.
    pub unreadable: Vec<UnreadableRun>,
}

/// How much of each run is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListDetail {
    /// Everything, for programs.
    #[default]
    Full,
    /// What a line shows: [`ListedOverview::json`] lacks the rest, and long tasks are cut.
    Summary,
}

impl ListDetail {
    /// Each has an index of its own: lists for people read a fraction of the other.
    fn index(self) -> RunIndexFile {
        match self {
            Self::Full => RunIndexFile::Full,
            Self::Summary => RunIndexFile::Summary,
        }
    }

    fn json(self, seen: &Overview) -> String {
        let mut object = seen.json();
        if self == Self::Summary {
            if let Some(fields) = object.as_object_mut() {
                let is_shown = |name: &str| {
                    !["why", "agent", "steps", "spent_by", "folder", "ground"].contains(&name)
                };
                fields.retain(|name, _| is_shown(name));
            }
            let task: String = seen.spec.task.raw().chars().take(MAX_TASK_CHARS).collect();
            object["task"] = json!(task);
        }
        object.to_string()
    }
}

/// A line of an index. Without a document, that of the run is not compared.
#[derive(Serialize, Deserialize)]
struct IndexLine<'a> {
    id: RunId,
    journal: FileStamp,
    document: Option<FileStamp>,
    #[serde(borrow)]
    run: &'a RawValue,
}

/// Lists the runs of a project. An unreadable run is listed as such and hides no other.
pub fn list_runs(store: &Store, now: Timestamp, detail: ListDetail) -> Result<RunListing, Refusal> {
    let mut listing = RunListing::default();
    let ids = store.run_ids()?;
    let Some(stamps) = store.run_stamps()? else { return Ok(listing) };
    // Paths in it are true only where the project was when it was made.
    let header = json!({"format": 1, "root": store.root()}).to_string();
    let is_long = ids.len() >= WORTHWHILE;
    let text = if is_long { store.read_run_index(detail.index()) } else { String::new() };
    let known = text.strip_prefix(&header).unwrap_or_default();
    // Both are sorted by id. A line that is not where it belongs is passed over.
    let mut known = known
        .lines()
        .filter_map(|line| Some((line, serde_json::from_str::<IndexLine<'_>>(line).ok()?)))
        .peekable();
    let mut lines: Vec<Cow<'_, str>> = vec![Cow::Borrowed(&header)];
    let mut new = 0;
    for id in ids {
        while known.next_if(|(_, entry)| entry.id < id).is_some() {}
        let entry = known.next_if(|(_, entry)| entry.id == id);
        if let Some((line, summary)) =
            entry.and_then(|(line, entry)| Some((line, unchanged(&stamps, &entry)?)))
        {
            lines.push(Cow::Borrowed(line));
            listing.runs.push(summary);
            continue;
        }
        // Take the stamp before reading: a change in between makes it stale.
        let journal = stamps.journal(&id);
        match read(store, &id) {
            Ok(None) => {}
            Ok(Some(seen)) => {
                let json = detail.json(&seen);
                if let Some(line) = index_line(&stamps, &seen, journal, &json, now) {
                    lines.push(Cow::Owned(line));
                    new += 1;
                }
                listing.runs.extend(ListedOverview::parse(&json));
            }
            Err(refusal) => {
                listing.unreadable.push(UnreadableRun { id, why: refusal.message.into() });
            }
        }
    }
    if new >= WORTHWHILE {
        lines.push(Cow::Borrowed(""));
        // Another process may hold the lock, or the disk may be full; it is only an index.
        if let Ok(locked) = store.lock(Duration::ZERO, "index") {
            let _ = locked.write_run_index(detail.index(), &lines.join("\n"));
        }
    }
    Ok(listing)
}

fn read(store: &Store, id: &RunId) -> Result<Option<Overview>, Refusal> {
    match store.run(id)? {
        Some(folder) => overview(store, &folder).map(Some),
        None => Ok(None),
    }
}

fn unchanged(stamps: &RunStamps, entry: &IndexLine<'_>) -> Option<ListedOverview> {
    if stamps.journal(&entry.id) != Some(entry.journal) {
        return None;
    }
    let summary = ListedOverview::parse(entry.run.get())?;
    let name = || format!("{}-state.json", summary.mode.raw());
    let is_same = entry.document.is_none() || stamps.document(&entry.id, &name()) == entry.document;
    is_same.then_some(summary)
}

/// The line of a run that has ended, once its files have been quiet for a while. A run
/// that may go on shows the phase of its document, which is then compared too.
fn index_line(
    stamps: &RunStamps,
    seen: &Overview,
    journal: Option<FileStamp>,
    json: &str,
    now: Timestamp,
) -> Option<String> {
    let journal = journal.filter(|stamp| seen.state != "running" && stamp.is_quiet(now))?;
    let document = match seen.is_resumable() {
        true => Some(stamps.document(&seen.id, &seen.spec.mode.file_name())?),
        false => None,
    };
    if document.is_some_and(|stamp| !stamp.is_quiet(now)) {
        return None;
    }
    let run = serde_json::from_str(json).ok()?;
    serde_json::to_string(&IndexLine { id: seen.id.clone(), journal, document, run }).ok()
}
