//! Shows one run: its current state and its journal.

use omx_kernel::{Refusal, Value};
use omx_runs::Record;
use omx_runs::overview::{Overview, overview};
use omx_store::runs::JournalEntry;
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
    /// The report for programs.
    pub fn value(&self) -> Value {
        report::from_json(&self.overview.json())
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
        if self.ownership == RunOwnership::Foreign {
            object["foreign"] = true.into();
        }
        report::from_json(&object)
    }
}

/// Reads the current state of a run.
pub fn run_status(context: &Context<'_>, run: &RunSelector) -> Result<RunStatusReport, Refusal> {
    let (store, id) = run.find(context)?;
    let overview = overview(&store, &open_folder(&store, &id)?)?;
    Ok(RunStatusReport { overview })
}

/// Reads a run with its journal.
pub fn run_show(context: &Context<'_>, run: &RunSelector) -> Result<RunReport, Refusal> {
    let (store, id) = run.find(context)?;
    let folder = open_folder(&store, &id)?;
    let overview = overview(&store, &folder)?;
    let entries = folder.journal()?.read_all()?;
    let ownership =
        if is_own(context, &folder)? { RunOwnership::Own } else { RunOwnership::Foreign };
    Ok(RunReport { overview, entries, ownership })
}
