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
    /// Runs of which nobody knows whether they live, because they cannot be read.
    pub unreadable: Vec<RegisteredRun>,
}

impl LiveRunsReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        // The holder is how omx itself recognizes the process.
        let shown = |runs: &[RegisteredRun]| -> Vec<RegisteredRun> {
            runs.iter().map(|run| RegisteredRun { holder: None, ..run.clone() }).collect()
        };
        let mut object = json!({ "runs": shown(&self.runs) });
        if !self.unreadable.is_empty() {
            object["unreadable"] = json!(shown(&self.unreadable));
        }
        report::from_json(&object)
    }
}

/// Lists the live runs of all projects. Without a registry there are none.
pub fn run_list_live(context: &Context<'_>) -> Result<LiveRunsReport, Refusal> {
    let folder = context.runs.registry_folder(context.dialect);
    let Some(registry) = folder.map(RunRegistry::new) else {
        return Ok(LiveRunsReport { runs: Vec::new(), unreadable: Vec::new() });
    };
    Ok(LiveRunsReport { runs: registry.live()?, unreadable: registry.unreadable()? })
}
