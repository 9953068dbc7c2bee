//! P4: the commands people and hooks call most, each as a new process.

use crate::error::{BenchError, BenchResult, WithContext};
use crate::mcp::BenchServer;
use crate::measure::{ProgramCall, RunSample, short};
use crate::report::{ResultRow, RowVerdict};
use crate::stats::{RunSummary, TIMES, figure, median};
use crate::systems::{ComparedSystems, PHASE, SESSION};
use serde_json::{Value, json};
use std::path::Path;

const RATIO: f64 = 100.0;
const MEMORY: f64 = 12.0;

/// A tool of OMC's server and what it is given.
type OmcTool = (&'static str, fn() -> Value);

/// One reading command.
struct ReadCommand {
    name: &'static str,
    omx: &'static [&'static str],
    old_omx: &'static [&'static str],
    /// OMC has no such commands; the tool its server offers instead.
    old_omc: Option<OmcTool>,
    /// What the answer must contain.
    expected: &'static str,
    /// Not in every omx: where it has no such command, the row is pending.
    optional: bool,
}

const WORKS: &[ReadCommand] = &[
    ReadCommand {
        name: "`state read`",
        omx: &["state", "read", "--mode", "ralph", "--json"],
        old_omx: &["state", "read", "--mode", "ralph", "--json"],
        old_omc: Some(("state_read", || json!({"mode": "ralph", "session_id": SESSION}))),
        expected: PHASE,
        optional: false,
    },
    ReadCommand {
        name: "`state list-active`",
        omx: &["state", "list-active", "--json"],
        old_omx: &["state", "list-active", "--json"],
        old_omc: Some(("state_list_active", || json!({}))),
        expected: "ralph",
        optional: false,
    },
    ReadCommand {
        name: "`status`",
        omx: &["status", "--json"],
        old_omx: &["status"],
        old_omc: Some(("state_get_status", || json!({}))),
        expected: "ralph",
        optional: false,
    },
    ReadCommand {
        name: "`hud`",
        omx: &["hud", "--json"],
        old_omx: &["hud", "--json"],
        old_omc: None,
        expected: "",
        optional: true,
    },
];

/// Measures all of P4.
///
/// # Errors
/// When the existing systems cannot be run.
pub fn rows(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    let (ours, theirs) = (systems.project("reads")?, systems.project("reads-old")?);
    WORKS.iter().map(|work| row(systems, &ours, &theirs, work, runs)).collect()
}

fn row(
    systems: &ComparedSystems,
    project: &Path,
    old_project: &Path,
    work: &ReadCommand,
    runs: usize,
) -> BenchResult<ResultRow> {
    let ours = systems.omx(project, work.omx);
    let theirs = systems.old_omx(old_project, work.old_omx);
    let pending = work.optional && !known(systems, project, work);
    let mut server = match work.old_omc {
        Some(_) => Some(BenchServer::start(&systems.old_omc_server(old_project))?.0),
        None => None,
    };
    let (mut old_omx, mut old_omc, mut omx) = (Vec::new(), Vec::new(), Vec::new());
    let mut failure = None;
    for _ in 0..runs {
        old_omx.push(checked(systems, &theirs, work.expected)?);
        if let (Some(server), Some((tool, arguments))) = (&mut server, work.old_omc) {
            let (answer, took) = server.call(tool, &arguments())?;
            if !answer.to_string().contains(work.expected) {
                return Err(BenchError::new(format!("OMC's {tool} answered {answer}")));
            }
            old_omc.push(took);
        }
        for _ in 0..TIMES {
            if failure.is_none() && !pending {
                match checked(systems, &ours, work.expected) {
                    Ok(sample) => omx.push(sample),
                    Err(error) => failure = Some(error),
                }
            }
        }
    }
    let theirs = RunSummary::from_samples(&old_omx);
    let (cell, verdict) = match failure {
        None if pending => ("–".to_owned(), RowVerdict::Pending),
        Some(error) => ("–".to_owned(), RowVerdict::Missed(error.to_string())),
        None => judge(&theirs, &RunSummary::from_samples(&omx)),
    };
    Ok(ResultRow {
        id: "P4",
        work: work.name.to_owned(),
        old_omx: theirs.cell(),
        old_omc: if old_omc.is_empty() {
            "–".to_owned()
        } else {
            format!("no command; MCP call {} ms", figure(median(&old_omc)))
        },
        omx: cell,
        required: format!("≤ 1/{RATIO} of OMX's wall time, ≤ {MEMORY} MiB"),
        verdict,
    })
}

fn judge(theirs: &RunSummary, ours: &RunSummary) -> (String, RowVerdict) {
    let ratio = theirs.wall / ours.wall;
    let verdict = RowVerdict::judge(
        ratio >= RATIO && ours.rss <= MEMORY,
        format!("1/{ratio:.0}, CPU 1/{:.0}", theirs.cpu / ours.cpu),
    );
    (ours.cell(), verdict)
}

/// Whether omx has the command at all.
fn known(systems: &ComparedSystems, project: &Path, work: &ReadCommand) -> bool {
    let command = work.omx.first().copied().unwrap_or_default();
    systems.probe.run(&systems.omx(project, &[command, "--help"])).is_ok()
}

/// One run whose answer contains what it must.
fn checked(systems: &ComparedSystems, run: &ProgramCall, expected: &str) -> BenchResult<RunSample> {
    let (sample, answer) = systems.probe.run(run)?;
    answer
        .contains(expected)
        .then_some(sample)
        .context(|| format!("{} answered {}", run.words(), short(&answer)))
}
