//! P1–P3: what hosts call at every step, each as a new process.

use crate::error::{BenchError, BenchResult, WithContext};
use crate::measure::{ProgramCall, RunSample, short};
use crate::report::{ResultRow, RowVerdict};
use crate::stats::{RunSummary, TIMES, figure, median};
use crate::systems::{ComparedSystems, active, write};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The conversation of every payload here.
const TALK: &str = "bench-talk";
const TOOL_CALLS: usize = 20;

/// P1's figures.
const IDLE_CPU: f64 = 60.0;
const IDLE_FLOORS: f64 = 3.0;
/// P2's.
const TURN_PROCESSES: usize = 42;
const TURN_CPU_MS: f64 = 150.0;
/// P3's.
const STOP_RATIO: f64 = 40.0;
const START_RATIO: f64 = 100.0;
const FLOORS: f64 = 3.0;

/// OMC's own table: which scripts run at which event.
const OMC_PROMPT: &[&str] = &["keyword-detector.mjs", "skill-injector.mjs"];
const OMC_BEFORE: &[&str] = &["pre-tool-enforcer.mjs"];
const OMC_AFTER: &[&str] = &[
    "post-tool-verifier.mjs",
    "project-memory-posttool.mjs",
    "post-tool-rules-injector.mjs",
    "post-tool-directory-context-injector.mjs",
];
const OMC_STOP: &[&str] = &[
    "context-guard-stop.mjs",
    "persistent-mode.mjs",
    "workflow-drift-guard.mjs",
    "code-simplifier.mjs",
];

/// A payload in a file, as a host would send it.
fn payload(
    systems: &ComparedSystems,
    project: &Path,
    event: &str,
    more: Value,
) -> BenchResult<PathBuf> {
    let mut value = json!({
        "session_id": TALK, "transcript_path": "/nowhere.jsonl", "cwd": project,
        "hook_event_name": event, "model": "gpt-5.5", "permission_mode": "default",
        "turn_id": "turn-1",
    });
    if let Some(fields) = more.as_object() {
        for (name, field) in fields {
            value[name] = field.clone();
        }
    }
    let name = project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = systems.work.join(format!("{name}-{event}.json"));
    write(&path, &value)?;
    Ok(path)
}

fn tool() -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "tool_use_id": "call-1",
        "tool_response": "ok"})
}

/// Where our ralph of this conversation is.
fn document(project: &Path) -> PathBuf {
    project.join(".omx/state/sessions").join(TALK).join("ralph-state.json")
}

/// Everything below a folder with its time of change: equal means untouched.
fn snapshot(folder: &Path) -> BenchResult<BTreeMap<PathBuf, SystemTime>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries =
            std::fs::read_dir(&folder).context(|| format!("list {}", folder.display()))?;
        for entry in entries.flatten() {
            let data = entry.metadata().context(|| "look at a file")?;
            if data.is_dir() {
                open.push(entry.path());
            }
            found.insert(entry.path(), data.modified().context(|| "a file's time")?);
        }
    }
    Ok(found)
}

/// Runs it and takes the figures, if the answer has what it must.
fn checked(systems: &ComparedSystems, run: &ProgramCall, expected: &str) -> BenchResult<RunSample> {
    let (sample, answer) = systems.probe.run(run)?;
    answer
        .contains(expected)
        .then_some(sample)
        .context(|| format!("{} answered {}", run.words(), short(&answer)))
}

/// Measures P1.
///
/// # Errors
/// When the existing systems cannot be run.
pub fn idle(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    let project = systems.empty_project("idle")?;
    // In use, with nothing active.
    write(&document(&project), &crate::systems::finished(TALK))?;
    let old = systems.empty_project("idle-old")?;
    let event = payload(systems, &project, "PreToolUse", tool())?;
    let old_event = payload(systems, &old, "PreToolUse", tool())?;
    let before = snapshot(&project)?;
    let (mut empty, mut omx, mut old_omx, mut old_omc) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        old_omx.push(checked(systems, &systems.old_omx_hook(&old, &old_event), "")?);
        let theirs = systems.old_omc_hook(&old, OMC_BEFORE[0], &old_event);
        old_omc.push(checked(systems, &theirs, "")?);
        for _ in 0..TIMES {
            empty.push(systems.probe.run(&systems.floor(None))?.0);
            omx.push(checked(systems, &systems.omx_hook(&project, &event), "{}")?);
        }
    }
    let written = snapshot(&project)? != before;
    let (ours, floor) = (RunSummary::from_samples(&omx), RunSummary::from_samples(&empty));
    let theirs = RunSummary::from_samples(&old_omx);
    let (ratio, floors) = (theirs.cpu / ours.cpu, ours.wall / floor.wall);
    Ok(vec![ResultRow {
        id: "P1",
        work: format!(
            "one hook, nothing active (PreToolUse; an empty program: {} ms)",
            figure(floor.wall)
        ),
        old_omx: theirs.cell(),
        old_omc: RunSummary::from_samples(&old_omc).cell(),
        omx: ours.cell(),
        required: format!(
            "≤ 1/{IDLE_CPU} of OMX's CPU time, ≤ {IDLE_FLOORS} × an empty program, 0 files written"
        ),
        verdict: RowVerdict::judge(
            ratio >= IDLE_CPU && floors <= IDLE_FLOORS && !written,
            format!(
                "CPU 1/{ratio:.0}, {floors:.2} ×, {}",
                if written { "files written" } else { "nothing written" }
            ),
        ),
    }])
}

/// A turn's processes and their CPU time, ms.
fn total_cpu_ms(systems: &ComparedSystems, runs: &[ProgramCall]) -> BenchResult<f64> {
    let mut cpu = 0.0;
    for run in runs {
        cpu += systems.probe.run(run)?.0.cpu;
    }
    Ok(cpu)
}

/// Measures P2.
///
/// # Errors
/// When the existing systems cannot be run.
pub fn turn(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    let project = systems.empty_project("turn")?;
    let old = systems.empty_project("turn-old")?;
    let events = |project: &Path| -> BenchResult<[PathBuf; 4]> {
        Ok([
            payload(systems, project, "UserPromptSubmit", json!({"prompt": "mend the parser"}))?,
            payload(systems, project, "PreToolUse", tool())?,
            payload(systems, project, "PostToolUse", tool())?,
            payload(systems, project, "Stop", json!({"last_assistant_message": "done"}))?,
        ])
    };
    let whole = |[prompt, before, after, stop]: &[PathBuf; 4],
                 hook: &dyn Fn(&Path, &str) -> Vec<ProgramCall>| {
        let mut runs = hook(prompt, "prompt");
        for _ in 0..TOOL_CALLS {
            runs.extend(hook(before, "before"));
            runs.extend(hook(after, "after"));
        }
        runs.extend(hook(stop, "stop"));
        runs
    };
    let (ours, theirs) = (events(&project)?, events(&old)?);
    let omx = whole(&ours, &|event, _| vec![systems.omx_hook(&project, event)]);
    let old_omx = whole(&theirs, &|event, _| vec![systems.old_omx_hook(&old, event)]);
    let old_omc = whole(&theirs, &|event, kind| {
        let scripts = match kind {
            "prompt" => OMC_PROMPT,
            "before" => OMC_BEFORE,
            "after" => OMC_AFTER,
            _ => OMC_STOP,
        };
        scripts.iter().map(|script| systems.old_omc_hook(&old, script, event)).collect()
    });
    let mut cpu = Vec::new();
    for _ in 0..runs.min(5) {
        // The harder case: a mode is active, so tool use is noted and the stop held.
        write(&document(&project), &active(Some(TALK)))?;
        cpu.push(total_cpu_ms(systems, &omx)?);
    }
    let cpu = median(&cpu);
    let (omx_cpu, omc_cpu) = (total_cpu_ms(systems, &old_omx)?, total_cpu_ms(systems, &old_omc)?);
    Ok(vec![ResultRow {
        id: "P2",
        work: format!(
            "a turn with {TOOL_CALLS} tool calls, all hooks (omx with ralph active, the others idle)"
        ),
        old_omx: format!("{} processes, CPU {} ms", old_omx.len(), figure(omx_cpu)),
        old_omc: format!("{} commands, CPU {} ms", old_omc.len(), figure(omc_cpu)),
        omx: format!("{} processes, CPU {} ms", omx.len(), figure(cpu)),
        required: format!("≤ {TURN_PROCESSES} processes, CPU ≤ {TURN_CPU_MS} ms"),
        verdict: RowVerdict::judge(
            omx.len() <= TURN_PROCESSES && cpu <= TURN_CPU_MS,
            format!("{} processes, CPU {} ms", omx.len(), figure(cpu)),
        ),
    }])
}

/// Measures P3.
///
/// # Errors
/// When the existing systems cannot be run.
pub fn deciding(systems: &ComparedSystems, runs: usize) -> BenchResult<Vec<ResultRow>> {
    let project = systems.project("deciding")?;
    let old = systems.project("deciding-old")?;
    let folder = systems.work.join("floor");
    std::fs::create_dir_all(&folder).context(|| "make the floor's folder")?;
    let stop = json!({"stop_hook_active": false, "last_assistant_message": "done"});
    let start = json!({"prompt": "$ralph mend the parser"});
    let mut rows = Vec::new();
    for (work, event, more, expected, ratio) in [
        ("Stop hook with ralph active", "Stop", stop, "\"decision\":\"block\"", STOP_RATIO),
        ("a prompt that starts ralph", "UserPromptSubmit", start, "Ralph started", START_RATIO),
    ] {
        let ours = payload(systems, &project, event, more.clone())?;
        let theirs = payload(systems, &old, event, more)?;
        let (mut omx, mut old_omx, mut floor) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..runs {
            old_omx.push(checked(systems, &systems.old_omx_hook(&old, &theirs), "")?);
            for _ in 0..TIMES {
                floor.push(systems.probe.run(&systems.floor(Some(&folder)))?.0);
                prepare(&project, event)?;
                omx.push(checked(systems, &systems.omx_hook(&project, &ours), expected)?);
            }
        }
        let (omx, old_omx) = (RunSummary::from_samples(&omx), RunSummary::from_samples(&old_omx));
        let reached = old_omx.wall / omx.wall;
        let floors = omx.wall / RunSummary::from_samples(&floor).wall;
        // A start that keeps nothing is no measure for one that does.
        let keeps = event == "Stop" || systems.old_omx_writes;
        rows.push(ResultRow {
            id: "P3",
            work: format!("{work} (written and flushed)"),
            old_omx: if keeps {
                old_omx.cell()
            } else {
                format!("starts nothing without native helper; its answer: {}", old_omx.cell())
            },
            old_omc: "–".to_owned(),
            omx: omx.cell(),
            required: if keeps {
                format!("≤ 1/{ratio} of OMX's wall time")
            } else {
                format!("≤ 1/{ratio} of OMX's wall time, with its helper; without: ≤ {FLOORS} × the floor of start + flush")
            },
            verdict: RowVerdict::judge(
                if keeps { reached >= ratio } else { floors <= FLOORS },
                format!("1/{reached:.0}, {floors:.2} × the floor"),
            ),
        });
    }
    Ok(rows)
}

/// Before a stop ralph is active, with nothing counted; before a start it is not.
fn prepare(project: &Path, event: &str) -> BenchResult<()> {
    let path = document(project);
    let _ = std::fs::remove_file(project.join(".omx/state/.activity").join(format!("{TALK}.json")));
    if event == "Stop" {
        return write(&path, &active(Some(TALK)));
    }
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(BenchError::new(format!("remove {}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}
