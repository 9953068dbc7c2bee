//! P5: one durable write as a new process, beside the floor: a program that
//! starts and replaces a file durably, and does nothing else.

use crate::error::{BenchError, BenchResult, WithContext};
use crate::mcp::BenchServer;
use crate::measure::{ProgramCall, RunSample, short};
use crate::report::{ResultRow, RowVerdict};
use crate::stats::{RunSummary, TIMES, figure, median};
use crate::systems::{ComparedSystems, PHASE, SESSION};
use serde_json::{Value, json};
use std::path::Path;

const RATIO: f64 = 100.0;
const FLOORS: f64 = 3.0;

/// Measures P5.
///
/// # Errors
/// When the existing systems or the floor cannot be run.
pub fn rows(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    let (project, old_project) = (systems.project("writes")?, systems.project("writes-old")?);
    let folder = systems.work.join("floor");
    std::fs::create_dir_all(&folder).context(|| "make the floor's folder")?;
    let (mut server, _) = BenchServer::start(&systems.old_omc_server(&old_project))?;
    let (mut empty, mut floor) = (Vec::new(), Vec::new());
    let (mut old_omx, mut old_omc, mut omx) = (Vec::new(), Vec::new(), Vec::new());
    let mut failure = None;
    for turn in 0..runs {
        old_omx.push(theirs(systems, &old_project, turn)?);
        old_omc.push(server.call("state_write", &omc_input(turn))?.1);
        // Side by side, so that a disturbance meets the floor and omx alike.
        for _ in 0..TIMES {
            empty.push(systems.probe.run(&systems.floor(None))?.0);
            floor.push(systems.probe.run(&systems.floor(Some(&folder)))?.0);
            if failure.is_none() {
                match ours(systems, &project, turn) {
                    Ok(sample) => omx.push(sample),
                    Err(error) => failure = Some(error),
                }
            }
        }
    }
    if failure.is_none() {
        failure = read_back(systems, &project, runs - 1).err();
    }
    let (old_omx, floor) = (RunSummary::from_samples(&old_omx), RunSummary::from_samples(&floor));
    let (cell, verdict) = match failure {
        Some(error) => ("–".to_owned(), RowVerdict::Missed(error.to_string())),
        None => judge(&old_omx, &floor, &RunSummary::from_samples(&omx)),
    };
    Ok(vec![ResultRow {
        id: "P5",
        work: format!(
            "`state write`, flushed (floor: start {} ms, start + flush {} ms)",
            figure(RunSummary::from_samples(&empty).wall),
            figure(floor.wall)
        ),
        old_omx: if systems.old_omx_writes {
            old_omx.cell()
        } else {
            format!("no write without native helper; its `state read`: {}", old_omx.cell())
        },
        old_omc: format!("no command; MCP call {} ms, not flushed", figure(median(&old_omc))),
        omx: cell,
        required: format!("≤ 1/{RATIO} of OMX's wall time, ≤ {FLOORS} × the floor"),
        verdict,
    }])
}

fn judge(theirs: &RunSummary, floor: &RunSummary, ours: &RunSummary) -> (String, RowVerdict) {
    let ratio = theirs.wall / ours.wall;
    let floors = ours.wall / floor.wall;
    let verdict = RowVerdict::judge(
        ratio >= RATIO && floors <= FLOORS,
        format!("1/{ratio:.0}, {floors:.2} × the floor"),
    );
    (ours.cell(), verdict)
}

fn input(turn: usize) -> String {
    json!({"mode": "ralph", "state": {"n": turn}}).to_string()
}

/// OMC's tool replaces the document, so everything is given each time.
fn omc_input(turn: usize) -> Value {
    json!({"mode": "ralph", "session_id": SESSION, "active": true, "iteration": 1,
        "current_phase": PHASE, "state": {"n": turn}})
}

fn ours(systems: &ComparedSystems, project: &Path, turn: usize) -> BenchResult<RunSample> {
    let input = input(turn);
    let run = systems.omx(project, &["state", "write", "--input", &input, "--json"]);
    succeeded(systems, &run)
}

/// OMX's write, or its read as the conservative stand-in (a write of its takes
/// longer than a read, so the ratio can only be understated).
fn theirs(systems: &ComparedSystems, project: &Path, turn: usize) -> BenchResult<RunSample> {
    if systems.old_omx_writes {
        let input = input(turn);
        let arguments = ["state", "write", "--input", &input, "--json"];
        succeeded(systems, &systems.old_omx(project, &arguments))
    } else {
        let arguments = ["state", "read", "--mode", "ralph", "--json"];
        Ok(systems.probe.run(&systems.old_omx(project, &arguments))?.0)
    }
}

fn succeeded(systems: &ComparedSystems, run: &ProgramCall) -> BenchResult<RunSample> {
    let (sample, answer) = systems.probe.run(run)?;
    answer
        .contains("\"success\":true")
        .then_some(sample)
        .context(|| format!("{} answered {}", run.words(), short(&answer)))
}

fn read_back(systems: &ComparedSystems, project: &Path, last: usize) -> BenchResult<()> {
    let run = systems.omx(project, &["state", "read", "--mode", "ralph", "--json"]);
    let (_, answer) = systems.probe.run(&run)?;
    let document: Value = serde_json::from_str(&answer).context(|| "parse the document")?;
    if document["n"] == json!(last) {
        Ok(())
    } else {
        Err(BenchError::new(format!("the last write is not there: {}", short(&answer))))
    }
}
