//! The kill campaign: whole runs with the rehearsal agent, in which omx, the agent, its
//! guard or git are killed at random, also while a run is resumed, cancelled, integrated
//! or cleaned up, and while a host is set up. In the end every run is complete, no step
//! was taken twice, nothing is left running, and `runs gc` sees whatever is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::binary::release_binary;
use crate::project::TestProject;
use crate::random::Random;

const SCENARIO: &str = include_str!("../../../assets/demo/scenario.toml");
const CHECK: &str = include_str!("../../../assets/demo/check.sh");
/// The longest a command is let run before something of it is killed.
const LONGEST_MILLIS: usize = 1_500;
/// Nothing takes longer.
const DEADLINE: Duration = Duration::from_secs(120);
/// How often a run is killed at most.
const MOST_KILLS: usize = 4;

const SETUP: [&str; 3] = ["setup", "--host", "claude"];

/// What a campaign went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct KillRunsReport {
    /// Runs that were started.
    pub runs: usize,
    /// Processes that were killed.
    pub killed: usize,
    /// Resumes that it took.
    pub resumes: usize,
}

/// Which process of a run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KillTarget {
    Omx,
    Agent,
    Guard,
    Git,
    OmxAndGuard,
}

const TARGETS: [KillTarget; 5] = [
    KillTarget::Omx,
    KillTarget::Agent,
    KillTarget::Guard,
    KillTarget::Git,
    KillTarget::OmxAndGuard,
];

/// Runs the campaign and reports after every round; a broken rule is a panic that names
/// seed and round.
pub fn kill_runs(rounds: usize, seed: u64, progress: impl Fn(KillRunsReport)) -> KillRunsReport {
    let mut random = Random::new(seed);
    let mut report = KillRunsReport::default();
    for round in 0..rounds {
        let at = format!("seed {seed}, round {round}");
        one_round(&mut random, &at, &mut report);
        progress(report);
    }
    report
}

fn one_round(random: &mut Random, at: &str, report: &mut KillRunsReport) {
    let project = prepared();
    report.runs += 1;
    let scenario = project.folder().join("scenario.toml");
    let words = ["autopilot", "--agent", "rehearsal", "--check", "sh check.sh", "--scenario"];
    let mut command = project.omx_command(&words);
    command.arg(&scenario).arg("greet people by name");
    let mut is_complete = killed(&project, command, random, report) == Some(0);
    let mut kills = 1;
    while !is_complete {
        let runs = project.omx(&["runs", "--json"]).ok();
        let resume = runs["runs"].as_array().is_some_and(|runs| !runs.is_empty());
        let mut command = if resume {
            report.resumes += 1;
            project.omx_command(&["runs", "resume"])
        } else {
            // It was killed before there was a run.
            let mut command = project.omx_command(&words);
            command.arg(&scenario).arg("greet people by name");
            command
        };
        let others = [&["runs", "gc"][..], &["cancel"], &SETUP];
        if random.below(3) == 0 {
            let other = *random.choose(&others);
            let _ = killed(&project, project.omx_command(other), random, report);
        }
        is_complete = if kills < MOST_KILLS {
            killed(&project, command, random, report) == Some(0)
        } else {
            let outcome = command.output().expect("omx runs");
            assert!(outcome.status.success(), "{at}: {outcome:?}\n{}", journal(&project));
            true
        };
        kills += 1;
    }
    check(&project, at);
    let _ = killed(&project, project.omx_command(&["runs", "integrate"]), random, report);
    let integrated = project.omx(&["runs", "integrate"]);
    assert!(project.root().join("greet.sh").exists(), "{at}: {integrated:?}");
    let _ = killed(&project, project.omx_command(&["runs", "gc"]), random, report);
    let _ = killed(&project, project.omx_command(&SETUP), random, report);
    nobody_is_left(&project, at);
    check_setup(&project, at);
}

/// A setup that was killed can be repeated, and what it wrote can be removed.
fn check_setup(project: &TestProject, at: &str) {
    for words in [&SETUP[..], &["uninstall"]] {
        let outcome = project.omx(words);
        assert_eq!(outcome.code, Some(0), "{at}: {words:?}: {outcome:?}");
    }
    let entries = fs::read_dir(project.home()).expect("a home").flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    let left = names.iter().any(|name| name.to_string_lossy().starts_with(".claude"));
    assert!(!left, "{at}: uninstall left something in {names:?}");
}

/// A repository with a check, and a scenario beside it.
fn prepared() -> TestProject {
    let project = TestProject::in_memory(release_binary());
    let pauses = |line: &&str| !line.trim_start().starts_with("{ delay_ms");
    let scenario: Vec<&str> = SCENARIO.lines().filter(pauses).collect();
    fs::write(project.folder().join("scenario.toml"), scenario.join("\n")).expect("a scenario");
    project.git();
    project.write("check.sh", CHECK);
    project.run_git(&["add", "-A"]);
    project.run_git(&["commit", "-qm", "start"]);
    project
}

/// Runs a command and kills one of its processes at random; its exit code.
fn killed(
    project: &TestProject,
    mut command: Command,
    random: &mut Random,
    report: &mut KillRunsReport,
) -> Option<i32> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("omx starts");
    std::thread::sleep(Duration::from_millis(random.below(LONGEST_MILLIS) as u64));
    let target = *random.choose(&TARGETS);
    let processes = processes(project);
    let of = |word: &str| -> Vec<i32> {
        let fits = |(_, line): &(&i32, &String)| line.contains(word);
        processes.iter().filter(fits).map(|(pid, _)| *pid).collect()
    };
    let own = vec![i32::try_from(child.id()).expect("a pid")];
    let victims = match target {
        KillTarget::Omx => own,
        KillTarget::Agent => of(" rehearsal-agent "),
        KillTarget::Guard => of(" guard "),
        KillTarget::Git => of("git "),
        KillTarget::OmxAndGuard => [of(" guard "), own].concat(),
    };
    // The agent's own process, not the guard whose arguments name it.
    let guards = of(" guard ");
    for pid in victims {
        if target == KillTarget::Agent && guards.contains(&pid) {
            continue;
        }
        report.killed += 1;
        let _ = kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL);
    }
    wait(&mut child)
}

fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        assert!(start.elapsed() < DEADLINE, "a command did not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes of a project: those with its folder in their environment.
fn processes(project: &TestProject) -> BTreeMap<i32, String> {
    let folder = project.folder().display().to_string();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if !line.is_empty() && String::from_utf8_lossy(&environment).contains(&folder) {
            found.insert(pid, line);
        }
    }
    found
}

fn nobody_is_left(project: &TestProject, at: &str) {
    let start = Instant::now();
    loop {
        let left = processes(project);
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(12), "{at}: left running: {left:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn journal(project: &TestProject) -> String {
    let runs = fs::read_dir(project.root().join(".omx/runs")).into_iter().flatten().flatten();
    let texts = runs.map(|run| fs::read_to_string(run.path().join("journal.jsonl")));
    texts.flatten().collect()
}

/// One complete run, each step once, and no worktree or branch that is not the run's.
fn check(project: &TestProject, at: &str) {
    nobody_is_left(project, at);
    let runs = project.omx(&["runs", "--json"]).ok();
    let runs = runs["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1, "{at}: {runs:#?}");
    assert_eq!(runs[0]["state"], "complete", "{at}: {runs:#?}");
    let mut finished = Vec::new();
    for line in journal(project).lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{at}: {e}"));
        if entry["record"]["kind"] == "step_finished" {
            finished.push(entry["record"]["step"].to_string());
        }
    }
    let count = finished.len();
    finished.sort();
    finished.dedup();
    assert_eq!(finished.len(), count, "{at}: a step finished twice");
    let branches = project.run_git(&["branch", "--list", "omx-run/*"]).stdout;
    assert_eq!(branches.lines().count(), 1, "{at}: {branches}");
    let worktrees = project.run_git(&["worktree", "list"]).stdout;
    assert_eq!(worktrees.lines().count(), 2, "{at}: {worktrees}");
}
