//! Lists the live runs of all projects.

use omx_kernel::{Refusal, Value};
use omx_store::runs::{RegisteredRun, RunRegistry};
use serde_json::json;

use crate::context::Context;
use crate::report;

/// The runs that processes drive now, in all projects of this person.
#[derive(Debug)]
pub struct LiveRunsReport {
    /// The runs.
    pub runs: Vec<RegisteredRun>,
}

impl LiveRunsReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        report::from_json(&json!({ "runs": self.runs }))
    }
}

/// Lists the live runs of all projects. Without a registry there are none.
pub fn run_list_live(context: &Context<'_>) -> Result<LiveRunsReport, Refusal> {
    let folder = context.runs.registry_folder(context.dialect);
    let runs = folder.map(|folder| RunRegistry::new(folder).live()).transpose()?;
    Ok(LiveRunsReport { runs: runs.unwrap_or_default() })
}
