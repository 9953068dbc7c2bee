//! The list of a project's runs. Runs that have ended come from the index where it is
//! still true; all others are read.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use omx_kernel::{ForeignText, Mode, Refusal, RunId, RunState, Timestamp};
use omx_store::runs::{RunFolder, RunIndexFile, RunRegistry, RunStamps, RunTitle};
use omx_store::{FileStamp, Store, map_in_parallel};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::overview::{Overview, overview};
use crate::spec_change::recorded_changes;
use crate::usage::Usage;

/// How many runs a list shows if not all are asked for, besides older ones that may live.
const RECENT: usize = 100;
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
    pub state: RunState,
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
    /// The whole run for programs, as JSON; only with [`ListDetail::Full`].
    #[serde(skip)]
    pub json: Option<String>,
    /// Whether the person neither started nor adopted it as it is.
    #[serde(skip)]
    pub is_foreign: bool,
}

impl ListedOverview {
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

/// The runs of a project, oldest first, in the form that the caller asked for.
#[derive(Debug)]
pub struct RunListing<T> {
    /// The readable runs.
    pub runs: Vec<T>,
    /// The others.
    pub unreadable: Vec<UnreadableRun>,
    /// How many older runs are left out.
    pub older: usize,
}

/// Which runs to list, and in how much detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunListQuery {
    /// Which runs.
    pub range: ListRange,
    /// How much of each.
    pub detail: ListDetail,
}

/// Which runs are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListRange {
    /// The newest, and all that may be live. The cost hardly depends on how many there
    /// have been.
    #[default]
    Recent,
    /// Every run.
    All,
}

/// How much of each run is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListDetail {
    /// Everything, for programs.
    #[default]
    Full,
    /// What a line shows. Long tasks are cut.
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

    fn parse(self, json: &str) -> Option<ListedOverview> {
        let summary: ListedOverview = serde_json::from_str(json).ok()?;
        let json = (self == Self::Full).then(|| json.to_owned());
        Some(ListedOverview { json, ..summary })
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

/// What follows the id in a line of an index. The run follows after a tab, which JSON does
/// not contain. Without a document, that of the run is not compared.
#[derive(Serialize, Deserialize)]
struct LineStamps {
    journal: FileStamp,
    spec: FileStamp,
    document: Option<FileStamp>,
    /// Whether the person had no record of it.
    foreign: bool,
}

/// The person's records of runs. Without them every run counts as the person's.
struct RunOwners<'a> {
    registry: Option<&'a RunRegistry>,
    ids: HashSet<RunId>,
}

impl<'a> RunOwners<'a> {
    fn of_all(registry: Option<&'a RunRegistry>) -> Result<Self, Refusal> {
        let ids = registry.map(RunRegistry::own_ids).transpose()?.unwrap_or_default();
        Ok(Self { registry, ids })
    }

    /// The records of some runs only.
    fn of_some(registry: Option<&'a RunRegistry>, runs: &[IndexedRun<'_>]) -> Self {
        let is_own =
            |run: &&IndexedRun<'_>| registry.is_some_and(|registry| registry.has_record(&run.id));
        let ids = runs.iter().filter(is_own).map(|run| run.id.clone()).collect();
        Self { registry, ids }
    }

    /// Whether there is no record of a run, by its id alone.
    fn lacks(&self, id: &RunId) -> bool {
        self.registry.is_some() && !self.ids.contains(id)
    }

    /// Whether a run is foreign. A run that cannot be compared with its record is not.
    fn is_foreign(&self, folder: &RunFolder) -> bool {
        let Some(registry) = self.registry else { return false };
        self.lacks(folder.id())
            || registry
                .title(folder, &recorded_changes(folder))
                .is_ok_and(|title| title == RunTitle::Foreign)
    }
}

/// A run in its folder, and its line in the index, if it has one.
struct IndexedRun<'a> {
    id: RunId,
    line: Option<&'a str>,
    /// Whether it is listed although it is not live.
    is_in_range: bool,
}

/// Lists the runs of a project. An unreadable run is listed as such and hides no other.
/// The registry says which are the person's; without one, all are. `show` converts each
/// run, on all processors, so that thousands of runs need not be kept in memory.
pub fn list_runs<T: Send>(
    store: &Store,
    registry: Option<&RunRegistry>,
    now: Timestamp,
    query: RunListQuery,
    show: impl Fn(ListedOverview) -> T + Sync,
) -> Result<RunListing<T>, Refusal> {
    let RunListQuery { range, detail } = query;
    let mut listing = RunListing { runs: Vec::new(), unreadable: Vec::new(), older: 0 };
    let ids = store.run_ids()?;
    let Some(stamps) = store.run_stamps()? else { return Ok(listing) };
    // Paths in it are true only where the project was when it was made.
    let header = json!({"format": 4, "root": store.root()}).to_string();
    let is_long = ids.len() >= WORTHWHILE;
    let text = if is_long { store.read_run_index(detail.index()) } else { String::new() };
    let index = text.strip_prefix(&header).unwrap_or_default();
    let (hidden, shown) = split(pair(ids, index), range, || live_ids(store, registry))?;
    let owners = match hidden.is_empty() {
        // The records can be many: they are those of all projects.
        true => RunOwners::of_all(registry)?,
        false => RunOwners::of_some(registry, &shown),
    };
    let known = map_in_parallel(&shown, |run| unchanged(&stamps, &owners, detail, run).map(&show));
    listing.older = hidden.len();
    let mut lines: Vec<(Cow<'_, RunId>, Cow<'_, str>)> = Vec::with_capacity(shown.len());
    for run in &hidden {
        lines.extend(run.line.map(|line| (Cow::Borrowed(&run.id), Cow::Borrowed(line))));
    }
    let mut new = 0;
    for (IndexedRun { id, line, is_in_range }, known) in shown.iter().zip(known) {
        if let (Some(line), Some(known)) = (line, known) {
            lines.push((Cow::Borrowed(id), Cow::Borrowed(*line)));
            listing.runs.push(known);
            continue;
        }
        // Take the stamps before reading: a change in between makes them stale.
        let before = stamps.journal(id).zip(stamps.spec(id));
        match read(store, &owners, id) {
            Ok(None) => {}
            Ok(Some((seen, is_foreign))) => {
                let json = detail.json(&seen);
                if let Some(line) = index_line(&stamps, &seen, before, is_foreign, &json, now) {
                    lines.push((Cow::Borrowed(id), Cow::Owned(line)));
                    new += 1;
                }
                if !is_in_range && seen.state != RunState::Running {
                    listing.older += 1;
                    continue;
                }
                let parsed = detail.parse(&json);
                let run = parsed.map(|run| show(ListedOverview { is_foreign, ..run }));
                listing.runs.extend(run);
            }
            Err(refusal) => {
                let (id, why) = (id.clone(), refusal.message.into());
                listing.unreadable.push(UnreadableRun { id, why });
            }
        }
    }
    if new >= WORTHWHILE {
        lines.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut text = header;
        for (id, line) in &lines {
            text.extend(["\n", id.as_str(), "\t", line]);
        }
        text.push('\n');
        // Another process may hold the lock, or the disk may be full; it is only an index.
        if let Ok(locked) = store.lock(Duration::ZERO, "index") {
            let _ = locked.write_run_index(detail.index(), &text);
        }
    }
    Ok(listing)
}

/// Gives each run its line of the index. Both are sorted by id. A line that is not where it
/// belongs is passed over.
fn pair(ids: Vec<RunId>, index: &str) -> Vec<IndexedRun<'_>> {
    let mut lines = index.lines().filter_map(|line| line.split_once('\t')).peekable();
    let pair = |id: RunId| {
        while lines.next_if(|(known, _)| *known < id.as_str()).is_some() {}
        let line = lines.next_if(|(known, _)| *known == id.as_str()).map(|(_, line)| line);
        IndexedRun { id, line, is_in_range: true }
    };
    ids.into_iter().map(pair).collect()
}

/// Separates the runs to leave out from those to list. A run that was live when the index
/// was written is not in the index, so only indexed runs are left out.
fn split<'a>(
    mut runs: Vec<IndexedRun<'a>>,
    range: ListRange,
    live: impl FnOnce() -> Result<HashSet<RunId>, Refusal>,
) -> Result<(Vec<IndexedRun<'a>>, Vec<IndexedRun<'a>>), Refusal> {
    let recent = match range {
        ListRange::All => 0,
        ListRange::Recent => runs.len().saturating_sub(RECENT),
    };
    if recent == 0 {
        return Ok((Vec::new(), runs));
    }
    let live = live()?;
    runs.iter_mut().take(recent).for_each(|run| run.is_in_range = false);
    let is_hidden =
        |run: &IndexedRun<'_>| !run.is_in_range && run.line.is_some() && !live.contains(&run.id);
    Ok(runs.into_iter().partition(is_hidden))
}

/// The runs of this project that processes drive now.
fn live_ids(store: &Store, registry: Option<&RunRegistry>) -> Result<HashSet<RunId>, Refusal> {
    let live = registry.map(RunRegistry::live).transpose()?.unwrap_or_default();
    let own = live.into_iter().filter(|entry| entry.root == store.root());
    Ok(own.map(|entry| entry.run).collect())
}

/// Reads a run, and whether it is foreign.
fn read(
    store: &Store,
    owners: &RunOwners<'_>,
    id: &RunId,
) -> Result<Option<(Overview, bool)>, Refusal> {
    let Some(folder) = store.run(id)? else { return Ok(None) };
    Ok(Some((overview(store, &folder)?, owners.is_foreign(&folder))))
}

/// The run that a line describes, if neither its files nor its record changed since.
fn unchanged(
    stamps: &RunStamps,
    owners: &RunOwners<'_>,
    detail: ListDetail,
    indexed: &IndexedRun<'_>,
) -> Option<ListedOverview> {
    let (files, run) = indexed.line?.split_once('\t')?;
    let files: LineStamps = serde_json::from_str(files).ok()?;
    let run = ListedOverview { is_foreign: files.foreign, ..detail.parse(run)? };
    if run.id != indexed.id
        || stamps.journal(&run.id) != Some(files.journal)
        || stamps.spec(&run.id) != Some(files.spec)
        || owners.lacks(&run.id) != files.foreign
    {
        return None;
    }
    if files.document.is_some() {
        let document = Mode::parse(run.mode.raw()).ok()?.file_name();
        if stamps.document(&run.id, &document) != files.document {
            return None;
        }
    }
    Some(run)
}

/// The line of a run that has ended, once its files have been quiet for a while. A run
/// that may go on shows the phase of its document, which is then compared too.
fn index_line(
    stamps: &RunStamps,
    seen: &Overview,
    before: Option<(FileStamp, FileStamp)>,
    foreign: bool,
    json: &str,
    now: Timestamp,
) -> Option<String> {
    let is_quiet = |stamp: &FileStamp| seen.state != RunState::Running && stamp.is_quiet(now);
    let (journal, spec) = before.filter(|(journal, spec)| is_quiet(journal) && is_quiet(spec))?;
    let document = match seen.state.is_resumable() {
        true => Some(stamps.document(&seen.id, &seen.spec.mode.file_name())?),
        false => None,
    };
    if document.is_some_and(|stamp| !stamp.is_quiet(now)) {
        return None;
    }
    let files = LineStamps { journal, spec, document, foreign };
    Some(format!("{}\t{json}", serde_json::to_string(&files).ok()?))
}
