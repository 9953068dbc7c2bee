//! Lists the runs of a project.

use std::path::PathBuf;

use omx_kernel::{Refusal, RunId, Value};
use omx_runs::overview::{Overview, overview};
use serde_json::json;

use crate::context::Context;
use crate::report;

/// A request to list runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunListRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
}

/// The runs of a project, oldest first.
#[derive(Debug, Default)]
pub struct RunListReport {
    /// The readable runs.
    pub runs: Vec<Overview>,
    /// Runs that cannot be read, and why.
    pub unreadable: Vec<(RunId, String)>,
}

impl RunListReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        let runs: Vec<_> = self.runs.iter().map(Overview::json).collect();
        let mut object = json!({ "runs": runs });
        if !self.unreadable.is_empty() {
            let unreadable = self.unreadable.iter();
            object["unreadable"] =
                unreadable.map(|(id, why)| json!({"id": id.as_str(), "reason": why})).collect();
        }
        report::from_json(&object)
    }
}

/// Lists the runs of a project. An unreadable run does not hide the others.
pub fn run_list(context: &Context<'_>, request: &RunListRequest) -> Result<RunListReport, Refusal> {
    let store = context.store_for(request.project.as_deref())?;
    let mut report = RunListReport::default();
    for run in store.runs()? {
        match store.run(&run.id)?.map(|folder| overview(&store, &folder)) {
            Some(Ok(overview)) => report.runs.push(overview),
            Some(Err(refusal)) => report.unreadable.push((run.id, refusal.message)),
            None => {}
        }
    }
    Ok(report)
}
