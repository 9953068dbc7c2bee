//! P7: the MCP server: how soon it is ready, what it weighs, how fast it
//! answers a client that keeps many calls in flight, and how close its durable
//! writes come to what the disk allows.

use crate::error::{BenchError, BenchResult, WithContext};
use crate::flush::FlushFloor;
use crate::mcp::BenchServer;
use crate::measure::ProgramCall;
use crate::report::{ResultRow, RowVerdict};
use crate::stats::{figure, median};
use crate::systems::{ComparedSystems, PHASE, SESSION};
use std::time::{Duration, Instant};

const READY: f64 = 20.0;
const MEMORY: f64 = 15.0;
const READS: f64 = 10_000.0;
const SHARE: f64 = 0.5;

/// Calls in flight, and how long one slice of them lasts.
const WINDOW: usize = 64;
const SLICE: Duration = Duration::from_millis(400);

/// Everything measured of one server.
#[derive(Default)]
struct ServerFigures {
    ready: Vec<f64>,
    reads: Vec<f64>,
    writes: Vec<f64>,
    refused: u64,
    memory: f64,
}

/// A server to measure and what its tools want to be given.
struct MeasuredServer {
    run: ProgramCall,
    read: fn(u64) -> String,
    /// Absent: its server does not write.
    write: Option<fn(u64) -> String>,
    /// In every right answer to a write.
    written: &'static str,
}

/// Measures P7.
///
/// # Errors
/// When the existing systems or the floor cannot be run.
pub fn rows(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    let project = systems.project("server")?;
    let own_read: fn(u64) -> String = |_| r#"{"mode":"ralph"}"#.to_owned();
    let old_omx = MeasuredServer {
        run: systems.old_omx_server(&project),
        read: own_read,
        write: None,
        written: "",
    };
    let old_omc = MeasuredServer {
        run: systems.old_omc_server(&project),
        read: |_| format!(r#"{{"mode":"ralph","session_id":"{SESSION}"}}"#),
        write: Some(|n| {
            format!(
                r#"{{"mode":"ralph","session_id":"{SESSION}","active":true,"iteration":1,"current_phase":"{PHASE}","state":{{"n":{n}}}}}"#
            )
        }),
        written: "Successfully wrote",
    };
    let omx = MeasuredServer {
        run: systems.omx_server(&systems.project("server-omx")?),
        read: own_read,
        write: Some(|n| format!(r#"{{"mode":"ralph","state":{{"n":{n}}}}}"#)),
        written: "revision",
    };
    let mut theirs = [ServerFigures::default(), ServerFigures::default()];
    let mut ours = Ok(ServerFigures::default());
    let mut floor = Vec::new();
    for _ in 0..runs {
        for (figures, subject) in theirs.iter_mut().zip([&old_omx, &old_omc]) {
            round(subject, figures)?;
        }
        ours = ours.and_then(|mut figures| round(&omx, &mut figures).map(|()| figures));
        floor.push(floor_rate(systems)?);
    }
    let [old_omx, old_omc] = theirs;
    Ok(table(&old_omx, &old_omc, ours, median(&floor)))
}

/// A fresh server: start, reads, writes, memory.
fn round(subject: &MeasuredServer, figures: &mut ServerFigures) -> BenchResult<()> {
    let (mut client, ready) = BenchServer::start(&subject.run)?;
    figures.ready.push(ready);
    let slice = client.pump(SLICE, WINDOW, "state_read", subject.read, PHASE)?;
    figures.reads.push(slice.rate);
    figures.refused += slice.refused;
    if let Some(write) = subject.write {
        let before = revision(&mut client, subject)?;
        let slice = client.pump(SLICE, WINDOW, "state_write", write, subject.written)?;
        figures.writes.push(slice.rate);
        figures.refused += slice.refused;
        let after = revision(&mut client, subject)?;
        if let (Some(before), Some(after)) = (before, after)
            && after.saturating_sub(before) != u64::from(slice.right)
        {
            let (kept, right) = (after.saturating_sub(before), slice.right);
            return Err(BenchError::new(format!("{right} writes acknowledged, {kept} made")));
        }
    }
    figures.memory = figures.memory.max(client.peak_memory()?);
    Ok(())
}

/// The document's revision; OMC's documents have none.
fn revision(client: &mut BenchServer, subject: &MeasuredServer) -> BenchResult<Option<u64>> {
    let arguments = serde_json::from_str(&(subject.read)(0)).context(|| "parse the arguments")?;
    let (answer, _) = client.call("state_read", &arguments)?;
    Ok(answer["structuredContent"]["revision"].as_u64())
}

/// Durable replacements a second, in this process.
fn floor_rate(systems: &ComparedSystems) -> BenchResult<f64> {
    let folder = systems.work.join("floor");
    std::fs::create_dir_all(&folder).context(|| "make the floor's folder")?;
    let floor = FlushFloor::open(&folder)?;
    let start = Instant::now();
    let mut count = 0_u32;
    while start.elapsed() < SLICE {
        floor.replace()?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

fn table(
    old_omx: &ServerFigures,
    old_omc: &ServerFigures,
    ours: BenchResult<ServerFigures>,
    floor: f64,
) -> Vec<ResultRow> {
    let ready = |figures: &ServerFigures| format!("{} ms", figure(median(&figures.ready)));
    let memory = |figures: &ServerFigures| format!("{} MiB", figure(figures.memory));
    let reads = |figures: &ServerFigures| format!("{}/s", figure(median(&figures.reads)));
    let writes = |figures: &ServerFigures| format!("{}/s", figure(median(&figures.writes)));
    let mut rows = vec![
        ResultRow {
            work: "MCP: start until `initialize` is answered".to_owned(),
            old_omx: format!("{} (state server, one of six)", ready(old_omx)),
            old_omc: ready(old_omc),
            ..blank(format!("≤ {READY} ms"))
        },
        ResultRow {
            work: "MCP: memory, peak after the reads and writes below".to_owned(),
            old_omx: format!("{} (one of six)", memory(old_omx)),
            old_omc: memory(old_omc),
            ..blank(format!("≤ {MEMORY} MiB"))
        },
        ResultRow {
            work: format!("MCP: `state_read`, native client, {WINDOW} calls in flight"),
            old_omx: reads(old_omx),
            old_omc: reads(old_omc),
            ..blank(format!("≥ {}/s", figure(READS)))
        },
        ResultRow {
            work: format!(
                "MCP: `state_write`, {WINDOW} in flight (floor: {} flushed replacements/s)",
                figure(floor)
            ),
            old_omx: "read-only".to_owned(),
            old_omc: format!("{}, {} refused, not flushed", writes(old_omc), old_omc.refused),
            ..blank(format!("≥ {:.0} % of the floor", SHARE * 100.0))
        },
    ];
    match ours {
        Err(error) => {
            for row in &mut rows {
                row.verdict = RowVerdict::Missed(error.to_string());
            }
        }
        Ok(ours) => {
            let share = median(&ours.writes) / floor;
            let clean = ours.refused == 0;
            let reached = [
                (ready(&ours), median(&ours.ready) <= READY),
                (memory(&ours), ours.memory <= MEMORY),
                (reads(&ours), median(&ours.reads) >= READS && clean),
                (
                    format!("{}, {:.0} % of the floor", writes(&ours), share * 100.0),
                    share >= SHARE && clean,
                ),
            ];
            for (row, (cell, reached)) in rows.iter_mut().zip(reached) {
                let mut measured = cell.clone();
                if !clean {
                    measured = format!("{measured}; {} calls refused", ours.refused);
                }
                row.omx = cell;
                row.verdict = RowVerdict::judge(reached, measured);
            }
        }
    }
    rows
}

fn blank(required: String) -> ResultRow {
    ResultRow {
        id: "P7",
        work: String::new(),
        old_omx: String::new(),
        old_omc: String::new(),
        omx: "–".to_owned(),
        required,
        verdict: RowVerdict::Pending,
    }
}
