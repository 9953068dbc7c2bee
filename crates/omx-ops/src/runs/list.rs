//! Lists the runs of a project.

use std::path::PathBuf;

use omx_kernel::{Refusal, Value};
use omx_runs::listing::{ListDetail, ListedOverview, RunListing, UnreadableRun, list_runs};
use omx_store::json;
use serde_json::json;

use super::ownership::registry;
use crate::context::Context;
use crate::report;

/// A request to list runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunListRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// How much of each run is wanted.
    pub detail: ListDetail,
}

/// The runs of a project, oldest first.
#[derive(Debug, Default)]
pub struct RunListReport {
    /// The readable runs.
    pub runs: Vec<ListedOverview>,
    /// Runs that cannot be read, and why.
    pub unreadable: Vec<UnreadableRun>,
}

impl RunListReport {
    /// The report for programs. A run that cannot be read is in its place among the
    /// others, with the state `unreadable`.
    pub fn value(&self) -> Value {
        let json = |run: &ListedOverview| match run.json.strip_prefix('{') {
            Some(rest) if run.is_foreign => format!("{{\"foreign\":true,{rest}"),
            _ => run.json.clone(),
        };
        let readable = self.runs.iter().map(|run| (&run.id, json(run)));
        let unreadable = self.unreadable.iter().map(|run| {
            let why = run.why.raw();
            (&run.id, json!({"id": run.id, "state": "unreadable", "why": why}).to_string())
        });
        let mut runs: Vec<_> = readable.chain(unreadable).collect();
        runs.sort();
        let runs: Vec<String> = runs.into_iter().map(|(_, json)| json).collect();
        // Never fails: every part is JSON.
        let runs = json::parse(&format!("[{}]", runs.join(",")));
        let unreadable = self.unreadable.iter();
        let unreadable = unreadable.map(|run| json!({"id": run.id, "reason": run.why.raw()}));
        report::with_lists(
            vec![("runs", runs.unwrap_or_else(|_| Value::array(Vec::new())))],
            [("unreadable", report::from_json(&unreadable.collect()))],
        )
    }
}

/// Lists the runs of a project. An unreadable run does not hide the others.
pub fn run_list(context: &Context<'_>, request: &RunListRequest) -> Result<RunListReport, Refusal> {
    let store = context.store_for(request.project.as_deref())?;
    let registry = registry(context);
    let RunListing { runs, unreadable } =
        list_runs(&store, registry.as_ref(), context.now(), request.detail)?;
    Ok(RunListReport { runs, unreadable })
}
