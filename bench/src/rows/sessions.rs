//! P11: finding the few active sessions among many. The answer has to be
//! right before its time counts.

use crate::error::{BenchError, BenchResult, WithContext};
use crate::mcp::BenchServer;
use crate::measure::{RunSample, short};
use crate::report::{ResultRow, RowVerdict};
use crate::stats::{RunSummary, figure, median};
use crate::systems::{ComparedSystems, active, active_omc, finished, write};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

const SIZES: [usize; 3] = [10, 1000, 10_000];
const ACTIVE: usize = 5;
const LIMIT: f64 = 300.0;

/// OMC takes seconds to minutes a call with many sessions; after this long, ms,
/// no further call is made, and with fewer than the full runs it is spared the
/// largest size altogether.
const THEIR_TIME: f64 = 15_000.0;
const FULL_RUNS: usize = 15;

/// Measures P11, one row a size.
///
/// # Errors
/// When the projects cannot be made or the existing systems cannot be run.
pub fn rows(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    SIZES.iter().map(|&size| row(systems, size, runs)).collect()
}

fn row(systems: &ComparedSystems, size: usize, runs: usize) -> BenchResult<ResultRow> {
    let ours = systems.empty_project(&format!("sessions-{size}"))?;
    let theirs = systems.empty_project(&format!("sessions-{size}-omx"))?;
    let claude = systems.empty_project(&format!("sessions-{size}-omc"))?;
    let living = fill(&ours.join(".omx/state/sessions"), size, false)?;
    fill(&theirs.join(".omx/state/sessions"), size, false)?;
    fill(&claude.join(".omc/state/sessions"), size, true)?;
    let largest = SIZES.iter().max() == Some(&size);
    let old_omc = if largest && runs < FULL_RUNS {
        "no command; MCP call only in a full run".to_owned()
    } else {
        omc(systems, &claude, &living, runs)
            .unwrap_or_else(|error| format!("no command; MCP call: {error}"))
    };
    let (mut old_omx, mut omx) = (Vec::new(), Vec::new());
    let mut seen_omx = 0;
    let mut failure = None;
    for _ in 0..runs {
        let run = systems.old_omx(&theirs, &["state", "list-active", "--json"]);
        let (sample, answer) = systems.probe.run(&run)?;
        old_omx.push(sample);
        seen_omx = mentioned(&answer, &living);
        if failure.is_none() {
            match list(systems, &ours, &living) {
                Ok(sample) => omx.push(sample),
                Err(error) => failure = Some(error),
            }
        }
    }
    let (cell, verdict) = match failure {
        Some(error) => ("–".to_owned(), RowVerdict::Missed(error.to_string())),
        None => judge(&RunSummary::from_samples(&omx), largest),
    };
    Ok(ResultRow {
        id: "P11",
        work: format!("`state list-active`, {size} sessions, {ACTIVE} active"),
        old_omx: format!(
            "{} ms, finds {seen_omx} of {ACTIVE}",
            figure(RunSummary::from_samples(&old_omx).wall)
        ),
        old_omc,
        omx: cell,
        required: if largest {
            format!("right answer, ≤ {LIMIT} ms")
        } else {
            "right answer".to_owned()
        },
        verdict,
    })
}

fn judge(ours: &RunSummary, limited: bool) -> (String, RowVerdict) {
    let verdict = RowVerdict::judge(
        !limited || ours.wall <= LIMIT,
        format!("right, {} ms", figure(ours.wall)),
    );
    (ours.cell(), verdict)
}

/// OMC's answer over its server: the median, and how many it found.
fn omc(
    systems: &ComparedSystems,
    project: &Path,
    living: &BTreeSet<String>,
    runs: usize,
) -> BenchResult<String> {
    let (mut server, _) = BenchServer::start(&systems.old_omc_server(project))?;
    let (mut times, mut seen) = (Vec::new(), 0);
    while times.len() < runs && times.iter().sum::<f64>() < THEIR_TIME {
        let (answer, took) = server.call("state_list_active", &json!({"all": true}))?;
        times.push(took);
        seen = mentioned(&answer.to_string(), living);
    }
    Ok(format!(
        "no command; MCP call {} ms (calls: {}), finds {seen} of {ACTIVE}",
        figure(median(&times)),
        times.len()
    ))
}

/// One document a session, the active ones spread evenly; gives their names.
fn fill(sessions: &Path, size: usize, omc: bool) -> BenchResult<BTreeSet<String>> {
    let mut living = BTreeSet::new();
    for number in 0..size {
        let session = format!("session-{number:05}");
        let lives = number % (size / ACTIVE) == 1;
        let mut document = match (lives, omc) {
            (_, true) => active_omc(&session),
            (true, false) => active(Some(&session)),
            (false, false) => finished(&session),
        };
        if omc {
            document["active"] = json!(lives);
        }
        write(&sessions.join(&session).join("ralph-state.json"), &document)?;
        if lives {
            living.insert(session);
        }
    }
    Ok(living)
}

fn list(
    systems: &ComparedSystems,
    project: &Path,
    living: &BTreeSet<String>,
) -> BenchResult<RunSample> {
    let run = systems.omx(project, &["state", "list-active", "--json"]);
    let (sample, answer) = systems.probe.run(&run)?;
    let parsed: Value = serde_json::from_str(&answer)
        .context(|| format!("parse list-active's answer {}", short(&answer)))?;
    let entries = parsed["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let found: BTreeSet<String> = entries
        .iter()
        .filter_map(|entry| entry["session_id"].as_str())
        .map(str::to_owned)
        .collect();
    let right = found == *living
        && entries.len() == living.len()
        && parsed["active_modes"] == json!(["ralph"]);
    if right {
        Ok(sample)
    } else {
        Err(BenchError::new(format!("wrong answer: {}", short(&answer))))
    }
}

fn mentioned(answer: &str, living: &BTreeSet<String>) -> usize {
    living.iter().filter(|session| answer.contains(session.as_str())).count()
}
