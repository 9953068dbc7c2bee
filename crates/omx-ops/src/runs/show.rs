//! Shows one run: its current state and its journal.

use omx_kernel::{AbsentFiles, Refusal, RunState, Value};
use omx_runs::overview::{Overview, overview};
use omx_runs::{Record, RunRepository};
use omx_store::Store;
use omx_store::runs::{JournalEntry, RunFolder};
use serde_json::json;

use super::find::open_folder;
use super::ownership::is_own;
use super::select::RunSelector;
use crate::context::Context;
use crate::report;

/// The current state of a run.
#[derive(Debug)]
pub struct RunStatusReport {
    /// The run.
    pub overview: Overview,
    /// Whose it is.
    pub ownership: RunOwnership,
}

/// A run with its journal.
#[derive(Debug)]
pub struct RunReport {
    /// The run.
    pub overview: Overview,
    /// Its records.
    pub entries: Vec<JournalEntry<Record>>,
    /// Whose it is.
    pub ownership: RunOwnership,
    /// Files of its worktree that are not in its branch. Empty while the run is live.
    pub absent: AbsentFiles,
}

/// Whose a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOwnership {
    /// The person started or adopted it.
    Own,
    /// It came from elsewhere.
    Foreign,
}

impl RunStatusReport {
    /// Reads the report of a run.
    pub(super) fn read(
        context: &Context<'_>,
        store: &Store,
        folder: &RunFolder,
    ) -> Result<Self, Refusal> {
        let overview = overview(store, folder)?;
        Ok(Self { overview, ownership: ownership(context, folder)? })
    }

    /// The report for programs.
    pub fn value(&self) -> Value {
        let mut object = self.overview.json();
        mark_foreign(&mut object, self.ownership);
        report::from_json(&object)
    }
}

impl RunReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        let mut object = self.overview.json();
        let journal = self.entries.iter().map(
            |entry| json!({"seq": entry.seq, "at": entry.at.to_string(), "record": entry.record}),
        );
        object["journal"] = journal.collect();
        object["not_in_branch"] = absent_value(&self.absent);
        mark_foreign(&mut object, self.ownership);
        report::from_json(&object)
    }
}

/// Files that are not in a run's branch, for programs.
pub fn absent_value(absent: &AbsentFiles) -> serde_json::Value {
    json!({"files": absent.named, "more": absent.more})
}

fn mark_foreign(object: &mut serde_json::Value, ownership: RunOwnership) {
    if ownership == RunOwnership::Foreign {
        object["foreign"] = true.into();
    }
}

fn ownership(context: &Context<'_>, folder: &RunFolder) -> Result<RunOwnership, Refusal> {
    Ok(if is_own(context, folder)? { RunOwnership::Own } else { RunOwnership::Foreign })
}

/// Reads the current state of a run.
pub fn run_status(context: &Context<'_>, run: &RunSelector) -> Result<RunStatusReport, Refusal> {
    let (store, id) = run.find(context)?;
    RunStatusReport::read(context, &store, &open_folder(&store, &id)?)
}

/// Reads a run with its journal.
pub fn run_show(context: &Context<'_>, run: &RunSelector) -> Result<RunReport, Refusal> {
    let (store, id) = run.find(context)?;
    let folder = open_folder(&store, &id)?;
    let overview = overview(&store, &folder)?;
    let entries = folder.journal()?.read_all()?;
    let ownership = ownership(context, &folder)?;
    // git works only in a folder of the person's own run.
    let absent = match ownership {
        RunOwnership::Own if overview.state != RunState::Running => {
            let environment = context.git_environment(&store);
            let env = context.project_env(&store, &environment);
            let workspace = &overview.spec.workspace;
            let repository = RunRepository::open(&env, &id, &folder, workspace).ok().flatten();
            repository.map(|repository| repository.absent_files()).unwrap_or_default()
        }
        _ => AbsentFiles::default(),
    };
    Ok(RunReport { overview, entries, ownership, absent })
}
