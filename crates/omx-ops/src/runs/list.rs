//! Lists the runs of a project.

use std::path::PathBuf;

use omx_kernel::{Refusal, RunId, Value};
use omx_runs::listing::{
    ListDetail, ListRange, ListedOverview, RunListQuery, RunListing, UnreadableRun, list_runs,
};
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
    /// Which runs.
    pub range: ListRange,
}

/// The runs of a project, oldest first.
#[derive(Debug)]
pub struct RunListReport {
    /// The readable runs, as JSON.
    pub runs: Vec<(RunId, String)>,
    /// Runs that cannot be read, and why.
    pub unreadable: Vec<UnreadableRun>,
    /// How many older runs are left out.
    pub older: usize,
}

impl RunListReport {
    /// The report for programs. A run that cannot be read is in its place among the
    /// others, with the state `unreadable`.
    pub fn value(self) -> Value {
        let reasons: Vec<_> = self.unreadable.iter().collect();
        let unreadable = reasons.iter().map(|run| {
            let why = run.why.raw();
            let json = json!({"id": run.id, "state": "unreadable", "why": why});
            (run.id.clone(), json.to_string())
        });
        let mut runs = self.runs;
        runs.extend(unreadable);
        runs.sort();
        let runs: Vec<String> = runs.into_iter().map(|(_, json)| json).collect();
        // Never fails: every part is JSON.
        let runs = json::parse(&format!("[{}]", runs.join(",")));
        let unreadable = reasons.iter();
        let unreadable = unreadable.map(|run| json!({"id": run.id, "reason": run.why.raw()}));
        let mut fields = vec![("runs", runs.unwrap_or_else(|_| Value::array(Vec::new())))];
        if self.older > 0 {
            fields.push(("older", report::from_json(&json!(self.older))));
        }
        report::with_lists(fields, [("unreadable", report::from_json(&unreadable.collect()))])
    }
}

/// Lists the runs of a project, for programs. An unreadable run does not hide the others.
pub fn run_list(context: &Context<'_>, request: &RunListRequest) -> Result<RunListReport, Refusal> {
    let json = |run: ListedOverview| {
        let json = run.json.unwrap_or_default();
        let json = match json.strip_prefix('{') {
            Some(rest) if run.is_foreign => format!("{{\"foreign\":true,{rest}"),
            _ => json,
        };
        (run.id, json)
    };
    let listing = run_list_as(context, request, ListDetail::Full, json)?;
    let RunListing { runs, unreadable, older } = listing;
    Ok(RunListReport { runs, unreadable, older })
}

/// Does the same in a form of the caller's, which `show` makes on all processors.
pub fn run_list_as<T: Send>(
    context: &Context<'_>,
    request: &RunListRequest,
    detail: ListDetail,
    show: impl Fn(ListedOverview) -> T + Sync,
) -> Result<RunListing<T>, Refusal> {
    let store = context.store_for(request.project.as_deref())?;
    let (registry, now) = (registry(context), context.now());
    let query = RunListQuery { range: request.range, detail };
    list_runs(&store, registry.as_ref(), now, query, show)
}
