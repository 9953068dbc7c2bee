//! P6: many processes write different fields of one document at once. Speed
//! counts only if nothing is lost.

use crate::error::{BenchError, BenchResult, WithContext};
use crate::mcp::BenchServer;
use crate::measure::{ProgramCall, short};
use crate::report::{ResultRow, RowVerdict};
use crate::stats::{figure, median};
use crate::sys;
use crate::systems::{ComparedSystems, PHASE, SESSION};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

const WRITERS: usize = 32;
const WRITES: usize = 20;
const RATE: f64 = 300.0;

/// The existing systems get a smaller storm: theirs would take minutes.
const THEIR_WRITERS: usize = 8;
const THEIR_WRITES: usize = 2;

/// One storm's outcome.
struct Storm {
    rate: f64,
    cpu: Duration,
    refused: usize,
    kept: usize,
    why: Option<String>,
}

/// Measures P6.
///
/// # Errors
/// When a project cannot be made or OMC's server cannot be run.
pub fn rows(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    // A storm is 640 runs in itself.
    let rounds = (runs / 5).max(1);
    let required = format!("≥ {RATE} writes/s, none lost");
    let mut storms = Vec::new();
    let mut failure = None;
    for round in 0..rounds {
        let project = systems.project(&format!("storm-{round}"))?;
        let write =
            |input: &str| systems.omx(&project, &["state", "write", "--input", input, "--json"]);
        let read = systems.omx(&project, &["state", "read", "--mode", "ralph", "--json"]);
        match processes(systems, WRITERS, WRITES, write, &read) {
            Ok(storm) => storms.push(storm),
            Err(error) => failure = Some(error),
        }
    }
    let total = WRITERS * WRITES;
    let (omx, verdict) = match failure {
        Some(error) => ("–".to_owned(), RowVerdict::Missed(error.to_string())),
        None => judge(&storms, total),
    };
    Ok(vec![ResultRow {
        id: "P6",
        work: format!(
            "{WRITERS} processes × {WRITES} writes of different fields of one document, each write a new process (OMX, OMC: {THEIR_WRITERS} × {THEIR_WRITES})"
        ),
        old_omx: theirs(systems)?,
        old_omc: omc(systems)?,
        omx,
        required,
        verdict,
    }])
}

fn judge(storms: &[Storm], total: usize) -> (String, RowVerdict) {
    let rates: Vec<_> = storms.iter().map(|storm| storm.rate).collect();
    let rate = median(&rates);
    let worst = storms.iter().map(|storm| storm.kept).min().unwrap_or(0);
    let refused: usize = storms.iter().map(|storm| storm.refused).sum();
    let why = storms.iter().find_map(|storm| storm.why.clone());
    let cpu = median(&storms.iter().map(|storm| storm.cpu.as_secs_f64()).collect::<Vec<_>>());
    let mut measured = format!("{} writes/s, {worst} of {total} kept", figure(rate));
    if let Some(why) = why {
        measured = format!("{measured}; {refused} refused: {why}");
    }
    let cell = format!("{} writes/s, CPU {cpu:.2} s, {worst} of {total} fields kept", figure(rate));
    let verdict = RowVerdict::judge(rate >= RATE && worst == total && refused == 0, measured);
    (cell, verdict)
}

/// Every write is a process of its own; `writers` of them run at any time.
fn processes(
    systems: &ComparedSystems,
    writers: usize,
    writes: usize,
    write: impl Fn(&str) -> ProgramCall + Sync,
    read: &ProgramCall,
) -> BenchResult<Storm> {
    let gate = Barrier::new(writers + 1);
    let (elapsed, outcomes) = thread::scope(|scope| {
        let (gate, write) = (&gate, &write);
        let handles: Vec<_> = (0..writers)
            .map(|writer| {
                let log = systems.work.join(format!("storm-{writer}.log"));
                scope.spawn(move || {
                    gate.wait();
                    one_writer(writer, writes, write, &log)
                })
            })
            .collect();
        let start = Instant::now();
        gate.wait();
        let outcomes: Vec<_> = handles
            .into_iter()
            .map(|handle| {
                handle.join().unwrap_or_else(|_| Err(BenchError::new("a writer's thread failed")))
            })
            .collect();
        (start.elapsed(), outcomes)
    });
    let (mut cpu, mut refused, mut why) = (Duration::ZERO, 0, None);
    for outcome in outcomes {
        let (used, failures) = outcome?;
        cpu += used;
        refused += failures.len();
        why = why.or_else(|| failures.into_iter().next());
    }
    let (_, answer) = systems.probe.run(read)?;
    let acknowledged = u32::try_from(writers * writes - refused).unwrap_or(0);
    Ok(Storm {
        rate: f64::from(acknowledged) / elapsed.as_secs_f64(),
        cpu,
        refused,
        kept: kept(&answer, writers, writes)?,
        why,
    })
}

/// The CPU its processes used, and what the failed ones said.
fn one_writer(
    writer: usize,
    writes: usize,
    write: &impl Fn(&str) -> ProgramCall,
    log: &Path,
) -> BenchResult<(Duration, Vec<String>)> {
    let (mut cpu, mut failures) = (Duration::ZERO, Vec::new());
    for turn in 0..writes {
        let input = json!({"mode": "ralph", "state": {field(writer, turn): 1}}).to_string();
        let output = File::create(log).context(|| "create a writer's log")?;
        let errors = output.try_clone().context(|| "share a writer's log")?;
        let child = write(&input)
            .command()
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .context(|| "start a writer")?;
        let usage = sys::wait(child.id()).context(|| "wait for a writer")?;
        cpu += usage.cpu;
        if usage.status != 0 {
            failures.push(short(&std::fs::read_to_string(log).unwrap_or_default()));
        }
    }
    Ok((cpu, failures))
}

fn field(writer: usize, turn: usize) -> String {
    format!("f_{writer}_{turn}")
}

fn kept(document: &str, writers: usize, writes: usize) -> BenchResult<usize> {
    let document: Value = serde_json::from_str(document)
        .context(|| format!("parse the document {}", short(document)))?;
    Ok((0..writers)
        .flat_map(|writer| (0..writes).map(move |turn| field(writer, turn)))
        .filter(|name| document[name] == json!(1))
        .count())
}

fn theirs(systems: &ComparedSystems) -> BenchResult<String> {
    if !systems.old_omx_writes {
        return Ok("cannot write without its native helper".to_owned());
    }
    let project = systems.project("storm-omx")?;
    let write =
        |input: &str| systems.old_omx(&project, &["state", "write", "--input", input, "--json"]);
    let read = systems.old_omx(&project, &["state", "read", "--mode", "ralph", "--json"]);
    let storm = processes(systems, THEIR_WRITERS, THEIR_WRITES, write, &read)?;
    Ok(format!(
        "{} writes/s, {} of {} fields kept",
        figure(storm.rate),
        storm.kept,
        THEIR_WRITERS * THEIR_WRITES
    ))
}

/// OMC writes only through its server: one server a writer.
fn omc(systems: &ComparedSystems) -> BenchResult<String> {
    let project = systems.project("storm-omc")?;
    let mut servers = (0..THEIR_WRITERS)
        .map(|_| BenchServer::start(&systems.old_omc_server(&project)).map(|(server, _)| server))
        .collect::<BenchResult<Vec<_>>>()?;
    let start = Instant::now();
    let acknowledged: u32 = thread::scope(|scope| {
        let handles: Vec<_> = servers
            .iter_mut()
            .enumerate()
            .map(|(writer, server)| scope.spawn(move || omc_writer(writer, server)))
            .collect();
        handles.into_iter().map(|handle| handle.join().unwrap_or(0)).sum()
    });
    let rate = f64::from(acknowledged) / start.elapsed().as_secs_f64();
    let path = project.join(".omc/state/sessions").join(SESSION);
    let document =
        std::fs::read_to_string(path.join("ralph-state.json")).context(|| "read OMC's document")?;
    Ok(format!(
        "{} writes/s, {acknowledged} acknowledged, {} of {} fields kept",
        figure(rate),
        kept(&document, THEIR_WRITERS, THEIR_WRITES)?,
        THEIR_WRITERS * THEIR_WRITES
    ))
}

fn omc_writer(writer: usize, server: &mut BenchServer) -> u32 {
    let answers = (0..THEIR_WRITES).map(|turn| {
        let input = json!({"mode": "ralph", "session_id": SESSION, "active": true,
            "iteration": 1, "current_phase": PHASE, "state": {field(writer, turn): 1}});
        server.call("state_write", &input)
    });
    u32::try_from(answers.flatten().count()).unwrap_or(0)
}
