//! An undisturbed run to compare with, and the same run killed at some moment.
//!
//! The moments are exact: a tracer stops omx as it flushes a certain record,
//! so that not an instruction of it runs between the record and the kill.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use omx_testkit::TestProject;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::kit::{Repository, RunningOmx, quick_scenario};

/// The number of concurrent runs.
pub const AT_A_TIME: usize = 2;
/// How often the run edits files, and how often it is checked.
const WORKS: usize = 3;
const CHECKS: usize = 5;
const STEPS: usize = 30;

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KilledProcess {
    Omx,
    Agent,
    Both,
}

impl KilledProcess {
    pub const ALL: [Self; 3] = [Self::Omx, Self::Agent, Self::Both];
}

/// A moment just after a record is written.
#[derive(Clone, Copy, Debug)]
pub struct RecordMoment {
    /// The number of records at that moment.
    pub records: usize,
    /// The number of the process's flush.
    flush: usize,
}

/// An undisturbed run.
pub struct UndisturbedRun {
    pub moments: Vec<RecordMoment>,
    plays: BTreeMap<u64, usize>,
    /// How many agents were killed so far.
    killed: AtomicUsize,
}

impl UndisturbedRun {
    /// Plays it, and finds where its records are flushed.
    pub fn play() -> Self {
        let repository = noting();
        let trace = repository.project.folder().join("trace");
        let mut command = traced(&repository, &["-y", "-o", trace.to_str().unwrap()]);
        let outcome = command.output().unwrap().into();
        repository.assert_complete(&outcome);
        assert_eq!(effects(&repository), (WORKS, CHECKS));
        let trace = fs::read_to_string(trace).unwrap();
        let flushes = trace.lines().filter(|line| line.starts_with("fdatasync("));
        let of_journal = flushes.zip(1..).filter(|(line, _)| line.contains("journal.jsonl>"));
        let moments: Vec<RecordMoment> = of_journal
            .zip(1..)
            .map(|((_, flush), records)| RecordMoment { records, flush })
            .collect();
        assert_eq!(moments.len(), repository.journal().len());
        Self { moments, plays: repository.plays(), killed: AtomicUsize::new(0) }
    }

    /// Kills at this moment, then resumes to the end.
    pub fn killed_at(&self, moment: &RecordMoment, victim: KilledProcess) {
        let what = format!("killed {victim:?} after {} records", moment.records);
        let repository = noting();
        let mut running = stopped_at(&repository, moment);
        if victim != KilledProcess::Omx {
            let agents = agents(&repository);
            self.killed.fetch_add(agents.len(), Ordering::Relaxed);
            for pid in agents {
                let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
        }
        let before = repository.journal();
        assert_eq!(before.len(), moment.records, "{what}: it was stopped somewhere else");
        let code = if victim == KilledProcess::Agent {
            // Repeatedly: the first signal may arrive before the stop.
            running.code_while(|running| running.signal(Signal::CONT))
        } else {
            running.signal(Signal::KILL);
            running.code()
        };
        repository.await_nobody();
        if victim == KilledProcess::Agent {
            assert_eq!(code, Some(0), "{what}");
        } else {
            assert_eq!(code, None, "{what}");
            assert_eq!(repository.journal().len(), before.len(), "{what}");
            let outcome = repository.resume(&[]);
            repository.assert_complete(&outcome);
        }
        let again = victim != KilledProcess::Agent && checked_and_not_finished(&before);
        assert_eq!(effects(&repository), (WORKS, CHECKS + usize::from(again)), "{what}");
        self.compare(&repository, &what);
    }

    /// Asserts that a run did what the undisturbed one did, and no step twice.
    pub fn compare(&self, repository: &Repository, what: &str) {
        assert_eq!(repository.plays(), self.plays, "{what}");
        let records = repository.journal();
        let steps_of = |kind: &str| {
            let of_kind = records.iter().filter(|record| record["kind"] == kind);
            let mut steps: Vec<String> = of_kind.map(|record| record["step"].to_string()).collect();
            let count = steps.len();
            steps.sort();
            steps.dedup();
            assert_eq!(steps.len(), count, "{what}: more than one {kind} of a step");
            count
        };
        assert_eq!(steps_of("step_finished"), STEPS, "{what}");
        // One conversation each, which was resumed.
        steps_of("conversation");
        let plans = fs::read_dir(repository.project.root().join(".omx/plans")).unwrap().count();
        assert_eq!(plans, 2, "{what}");
    }

    /// Asserts that the kills hit any agents.
    pub fn assert_agents_died(&self, least: usize) {
        let killed = self.killed.load(Ordering::Relaxed);
        assert!(killed >= least, "only {killed} agents were killed");
    }
}

/// A run that is stopped at this moment until it is continued.
pub fn stopped_at(repository: &Repository, moment: &RecordMoment) -> RunningOmx {
    let inject = format!("inject=fdatasync:signal=STOP:when={}", moment.flush);
    let mut command = traced(repository, &["-e", &inject, "-o", "/dev/null"]);
    let running = RunningOmx(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    repository.await_records(moment.records);
    running
}

/// A repository in memory whose agents and check record their work.
pub fn noting() -> Repository {
    let project = TestProject::in_memory(env!("CARGO_BIN_EXE_omx"));
    let note = |what: &str| format!("echo {what} >> '{}'", notes(&project).display());
    let mut scenario = quick_scenario();
    for usage in ["input = 4200", "input = 3100", "input = 2500"] {
        let usage = format!("{{ usage = {{ {usage}");
        assert_eq!(scenario.matches(&usage).count(), 1);
        let worked = format!("{{ run = {{ command = \"{}\" }} }},\n  {usage}", note("work"));
        scenario = scenario.replace(&usage, &worked);
    }
    let check = format!("{}; sh check.sh", note("check"));
    let mut repository = Repository::in_project(project, &scenario);
    repository.check = check;
    repository
}

fn notes(project: &TestProject) -> PathBuf {
    project.folder().join("notes")
}

/// How often files were edited, and how often they were checked.
fn effects(repository: &Repository) -> (usize, usize) {
    let notes = fs::read_to_string(notes(&repository.project)).unwrap_or_default();
    let count = |what: &str| notes.lines().filter(|line| *line == what).count();
    (count("work"), count("check"))
}

/// The run under a tracer of its first thread, which writes the journal.
fn traced(repository: &Repository, options: &[&str]) -> Command {
    let run = repository.command("autopilot", &["greet people by name"]);
    let mut command = repository.project.command("strace");
    // The tracer detaches from the start: the started process is omx itself.
    command.args(["-D", "-e", "trace=fdatasync"]).args(options);
    command.arg(run.get_program()).args(run.get_args());
    command
}

fn agents(repository: &Repository) -> Vec<i32> {
    let is_agent = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        words.get(1) == Some(&"rehearsal-agent")
    };
    let processes = repository.processes();
    processes.into_iter().filter(|(_, line)| is_agent(line)).map(|(pid, _)| pid).collect()
}

/// Whether a check had finished without a record: it is repeated.
fn checked_and_not_finished(records: &[Value]) -> bool {
    let last = |kind: &str| records.iter().rfind(|record| record["kind"] == kind);
    let open = last("step_started").and_then(|record| record["step"].as_str());
    records.last().is_some_and(|record| record["kind"] == "worked")
        && open.is_some_and(|step| step.contains("check"))
}
