//! P16: a project with a long history. What is live is found among ten thousand runs and
//! as many sessions, and what is listed has to be right before its time counts.

use crate::error::{BenchError, BenchResult, WithContext};
use crate::measure::{RunSample, short};
use crate::report::{ResultRow, RowVerdict};
use crate::stats::{RunSummary, figure};
use crate::systems::{ComparedSystems, active, finished, write};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const SIZE: usize = 10_000;
const LIVE: usize = 3;
/// How many runs a list shows besides the live ones.
const RECENT: usize = 100;
const LIST_LIMIT: f64 = 50.0;
const GC_LIMIT: f64 = 1_000.0;
const HOOK_RATIO: f64 = 1.3;

/// Measures P16.
///
/// # Errors
/// When the project cannot be made.
pub fn rows(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    let project = systems.empty_project("history")?;
    let _held = fill(&project, &ownership_records()?)?;
    require_own(systems, &project)?;
    let empty = systems.empty_project("history-none")?;
    let list = |work: &str, arguments: &[&str], limit: f64, expected: &dyn Fn(&str) -> bool| {
        let run = systems.omx(&project, arguments);
        // The first call makes the index.
        let mut samples: Vec<RunSample> = Vec::new();
        let mut verdict = None;
        for round in 0..=runs {
            let (sample, answer) = systems.probe.run(&run)?;
            if !expected(&answer) {
                verdict = Some(RowVerdict::Missed(format!("wrong answer: {}", short(&answer))));
            }
            if round > 0 {
                samples.push(sample);
            }
        }
        let ours = RunSummary::from_samples(&samples);
        let measured = format!("{} ms at best", figure(ours.best));
        let verdict = verdict.unwrap_or_else(|| RowVerdict::judge(ours.best <= limit, measured));
        Ok::<_, BenchError>(row(work, ours.cell(), format!("≤ {limit} ms"), verdict))
    };
    let newest = SIZE - RECENT;
    let lines = |answer: &str| {
        let shown = (0..SIZE).filter(|number| *number >= newest || is_live(*number));
        let expected = shown.map(|number| {
            let state = if is_live(number) { "running" } else { "complete" };
            format!("{}  ralph        {state}  ", id(number))
        });
        let mut answer = answer.lines();
        answer.next().is_some_and(|line| line.ends_with(" older runs: omx runs --all"))
            && answer.clone().count() == RECENT + LIVE
            && expected.zip(answer).all(|(expected, line)| line.starts_with(&expected))
    };
    let live_ids: Vec<String> = (0..SIZE).filter(|number| is_live(*number)).map(id).collect();
    let live = |answer: &str| {
        let parsed: Value = serde_json::from_str(answer).unwrap_or_default();
        let entries = parsed["entries"].as_array().cloned().unwrap_or_default();
        let sessions = entries.iter().map(|entry| entry["session_id"].as_str());
        sessions.eq(live_ids.iter().map(|id| Some(id.as_str())))
    };
    let named = |answer: &str| {
        let sessions = answer.lines().filter(|line| line.starts_with("  ralph"));
        let sessions = sessions.map(|line| line.split_whitespace().nth(1));
        sessions.eq(live_ids.iter().map(|id| Some(id.as_str())))
    };
    let mut rows = vec![
        list("`runs`", &["runs"], LIST_LIMIT, &lines)?,
        list("`state list-active`", &["state", "list-active", "--json"], LIST_LIMIT, &live)?,
        list("`status`", &["status"], LIST_LIMIT, &named)?,
    ];
    rows.push(hook(systems, &project, &empty, runs)?);
    rows.push(list("`runs gc`", &["runs", "gc"], GC_LIMIT, &|answer| {
        answer.starts_with("Nothing to remove.")
    })?);
    Ok(rows)
}

fn hook(
    systems: &ComparedSystems,
    project: &Path,
    empty: &Path,
    runs: usize,
) -> BenchResult<ResultRow> {
    let (mut long, mut none) = (Vec::new(), Vec::new());
    for _ in 0..runs.max(1) * 4 {
        for (folder, samples) in [(project, &mut long), (empty, &mut none)] {
            let payload = folder.join("payload.json");
            let event = json!({
                "session_id": "bench", "cwd": folder, "hook_event_name": "PreToolUse",
                "model": "m", "tool_name": "Bash", "tool_input": {"command": "true"},
            });
            write(&payload, &event)?;
            samples.push(systems.probe.run(&systems.omx_hook(folder, &payload))?.0);
        }
    }
    let (long, none) = (RunSummary::from_samples(&long), RunSummary::from_samples(&none));
    let ratio = long.wall / none.wall;
    let verdict = RowVerdict::judge(ratio <= HOOK_RATIO, format!("{ratio:.2} ×"));
    let required = format!("≤ {HOOK_RATIO} × that of an empty project ({} ms)", figure(none.wall));
    Ok(row("one hook (PreToolUse)", long.cell(), required, verdict))
}

fn row(work: &str, omx: String, required: String, verdict: RowVerdict) -> ResultRow {
    ResultRow {
        id: "P16",
        work: format!("{work}, {SIZE} runs, {SIZE} sessions, {LIVE} live"),
        old_omx: "–".to_owned(),
        old_omc: "–".to_owned(),
        omx,
        required,
        verdict,
    }
}

/// The id of a run and of its session; they sort by number.
fn id(number: usize) -> String {
    format!("0199a1e3-{:04x}-7000-8000-{number:012x}", number >> 8)
}

fn is_live(number: usize) -> bool {
    number % (SIZE / LIVE) == 1 && number / (SIZE / LIVE) < LIVE
}

/// The folder in the throw-away home in which omx records whose a run is: without such
/// a record, a run counts as foreign.
fn ownership_records() -> BenchResult<PathBuf> {
    let home = std::env::var_os("HOME").context(|| "HOME is not set")?;
    let folder = Path::new(&home).join(".local/state/omx/runs/owned");
    fs::create_dir_all(&folder).context(|| format!("make {}", folder.display()))?;
    Ok(folder)
}

/// Asks omx, which compares the hash in the record too.
fn require_own(systems: &ComparedSystems, project: &Path) -> BenchResult<()> {
    let run = id(SIZE - 1);
    let (_, answer) =
        systems.probe.run(&systems.omx(project, &["runs", "show", &run, "--json"]))?;
    let shown: Value = serde_json::from_str(&answer).unwrap_or_default();
    if shown["id"] == run && shown["foreign"].is_null() {
        Ok(())
    } else {
        Err(BenchError::new(format!("omx does not take run {run} as the person's own")))
    }
}

/// Makes the runs, the records that they are the person's, and the sessions. The
/// returned files hold the locks of the live runs.
fn fill(project: &Path, records: &Path) -> BenchResult<Vec<File>> {
    let mut held = Vec::new();
    for number in 0..SIZE {
        let (id, is_live) = (id(number), is_live(number));
        let folder = project.join(".omx/runs").join(&id);
        fs::create_dir_all(&folder).context(|| format!("make {}", folder.display()))?;
        let spec = json!({
            "format": 2, "mode": "ralph", "task": format!("make part {number} work"),
            "slug": "make-part-work", "started_at": "2026-11-10T10:00:00.000Z",
            "agent": "codex", "model": null, "allow": "commands", "check": "make check",
            "verification": "thorough", "max_iterations": null,
            "budget": {"tokens": null, "micro_usd": null, "seconds": null},
            "workspace": {"kind": "in_place", "path": project}, "stages": [], "scenario": null,
        });
        write(&folder.join("run.json"), &spec)?;
        let hash = Sha256::digest(spec.to_string());
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let at = "2026-11-10T10:00:00.000Z";
        let record = json!({"run": id, "spec": hash, "at": at, "folder": folder});
        write(&records.join(format!("{id}.json")), &record)?;
        let text = journal(if is_live { Ending::None } else { Ending::Complete });
        let path = folder.join("journal.jsonl");
        fs::write(&path, text).context(|| format!("write {}", path.display()))?;
        let path = folder.join("lock");
        let lock = File::create(&path).context(|| format!("make {}", path.display()))?;
        let document = if is_live { active(Some(&id)) } else { finished(&id) };
        let session = project.join(".omx/state/sessions").join(&id);
        write(&session.join("ralph-state.json"), &document)?;
        if is_live {
            // Only the process that the lock names, or omx, drives a run.
            let holder = json!({"pid": std::process::id(), "started": null, "boot": null});
            write(&path, &holder)?;
            lock.lock().context(|| format!("lock {}", path.display()))?;
            held.push(lock);
        }
    }
    // Indexes keep nothing that has just changed.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    Ok(held)
}

enum Ending {
    None,
    Complete,
}

/// A journal of a dozen steps.
fn journal(ending: Ending) -> String {
    let mut records = vec![json!({"kind": "opened", "version": "0.1.0"})];
    for step in 0..12 {
        let name = format!("step{step}");
        records.push(json!({"kind": "step_started", "step": name, "input": "00"}));
        records.push(json!({"kind": "usage", "step": name, "input": 2000, "output": 300}));
        records.push(json!({"kind": "step_finished", "step": name, "result": {"done": true}}));
    }
    if let Ending::Complete = ending {
        let why = "It works.";
        records.push(json!({"kind": "closed", "outcome": "complete", "why": why, "worked_ms": 1}));
    }
    let line = |(index, record): (usize, Value)| {
        let entry = json!({"seq": index + 1, "at": "2026-11-10T11:00:00.000Z", "record": record});
        format!("{entry}\n")
    };
    records.into_iter().enumerate().map(line).collect()
}
