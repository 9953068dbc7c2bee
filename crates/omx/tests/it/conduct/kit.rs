//! A repository with a run in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use omx_testkit::{CommandOutcome, TestProject, await_condition};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::scenario::{ralph_scenario, run};
use crate::project;

/// Nothing in these tests takes longer.
pub const DEADLINE: Duration = Duration::from_secs(60);

const SCENARIO: &str = include_str!("../../../../../assets/demo/scenario.toml");

/// A ralph whose builder asks for permission and then waits for the answer.
pub fn asking_scenario() -> String {
    ralph_scenario(&(run("echo done > work.txt") + "  { say = \"It said: {{output}}.\" },\n"))
}

/// The scenario of the demo, without its pauses.
pub fn quick_scenario() -> String {
    let lines = SCENARIO.lines().filter(|line| !line.trim_start().starts_with("{ delay_ms"));
    let text: Vec<&str> = lines.collect();
    // A pause that is a whole step becomes the shortest possible.
    let shortest = |text: String, pause: &str| text.replace(pause, "delay_ms = 1");
    ["delay_ms = 300", "delay_ms = 200"].into_iter().fold(text.join("\n"), shortest)
}

/// A git repository with a check, and a scenario beside it.
pub struct Repository {
    pub project: TestProject,
    /// The check command.
    pub check: String,
}

impl Repository {
    /// With the scenario of the demo, without its pauses.
    pub fn new() -> Self {
        Self::playing(&quick_scenario())
    }

    /// With this scenario.
    pub fn playing(scenario: &str) -> Self {
        Self::in_project(project(), scenario)
    }

    /// In this project, with this scenario.
    pub fn in_project(project: TestProject, scenario: &str) -> Self {
        fs::write(project.folder().join("scenario.toml"), scenario).unwrap();
        project.git();
        project.write("check.sh", include_str!("../../../../../assets/demo/check.sh"));
        project.write("README.md", include_str!("../../../../../assets/demo/README.md"));
        for args in [&["add", "-A"][..], &["commit", "-qm", "start"]] {
            let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
            let outcome = project.run_git(&[&identity[..], args].concat());
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
        }
        Self { project, check: "sh check.sh".to_owned() }
    }

    fn scenario(&self) -> String {
        self.project.folder().join("scenario.toml").to_str().unwrap().to_owned()
    }

    /// A mode's command line with the rehearsal agent.
    pub fn command(&self, mode: &str, more: &[&str]) -> Command {
        let scenario = self.scenario();
        let words = [mode, "--agent", "rehearsal", "--scenario", &scenario];
        let words = [&words[..], &["--check", &self.check], more].concat();
        self.project.omx_command(&words)
    }

    /// Runs a mode to its end.
    pub fn run(&self, mode: &str, more: &[&str]) -> CommandOutcome {
        CommandOutcome::from(self.command(mode, more).output().unwrap())
    }

    /// Starts a mode in the background.
    pub fn start(&self, mode: &str, more: &[&str]) -> RunningOmx {
        let mut command = self.command(mode, more);
        RunningOmx(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub fn resume(&self, more: &[&str]) -> CommandOutcome {
        self.project.omx(&[&["runs", "resume"], more].concat())
    }

    /// The folder of the only run, as soon as it exists.
    pub fn run_folder(&self) -> PathBuf {
        let runs = self.project.root().join(".omx/runs");
        let mut found = None;
        await_condition("there is a run", DEADLINE, || {
            let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
            let mut folders = entries.map(|entry| entry.path()).filter(|path| {
                path.is_dir() && !path.file_name().unwrap().to_str().unwrap().starts_with('.')
            });
            found = folders.next();
            found.is_some()
        });
        found.unwrap()
    }

    pub fn id(&self) -> String {
        self.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// The whole lines of the journal.
    pub fn journal(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.run_folder().join("journal.jsonl")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let record = |line: &str| serde_json::from_str::<Value>(line).unwrap()["record"].clone();
        whole.lines().map(record).collect()
    }

    /// Waits until the journal has this many records.
    pub fn await_records(&self, count: usize) {
        let journal = self.run_folder().join("journal.jsonl");
        await_condition("the journal grows", DEADLINE, || {
            let bytes = fs::read(&journal).unwrap_or_default();
            bytes.iter().filter(|byte| **byte == b'\n').count() >= count
        });
    }

    /// The uses that the agents recorded: entry and count.
    pub fn plays(&self) -> BTreeMap<u64, usize> {
        let folder = self.run_folder().join("rehearsal");
        let mut counts = BTreeMap::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_str().unwrap().to_owned();
            if name.starts_with("plays.") && name.ends_with(".json") {
                let book: Value = serde_json::from_slice(&fs::read(entry.path()).unwrap()).unwrap();
                for play in book["plays"].as_array().unwrap() {
                    *counts.entry(play["entry"].as_u64().unwrap()).or_default() += 1;
                }
            }
        }
        counts
    }

    /// Everything in the checkout but omx's own folder and git's.
    pub fn checkout(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = self.project.bytes("");
        files.retain(|path, _| {
            let text = path.to_string_lossy();
            !text.contains("/.omx")
                && !text.contains("/.git/")
                && !text.starts_with(".omx")
                && !text.starts_with(".git/")
                && !text.starts_with(".git")
        });
        files
    }

    /// Processes of this test's agents, by command line.
    pub fn processes(&self) -> BTreeMap<i32, String> {
        let folder = self.project.folder().to_str().unwrap().to_owned();
        let mut found = BTreeMap::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment).into_owned();
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if environment.contains(&folder)
                && environment.contains("OMX_WORKER")
                && !line.is_empty()
            {
                found.insert(pid, line);
            }
        }
        found
    }

    /// Waits until no process of the agents is left.
    pub fn await_nobody(&self) {
        let mut left = BTreeMap::new();
        await_condition("nothing is left running", Duration::from_secs(12), || {
            if !left.is_empty() {
                // Listing all processes is not cheap.
                std::thread::sleep(Duration::from_millis(10));
            }
            left = self.processes();
            left.is_empty()
        });
    }

    /// The only document of a mode.
    pub fn document(&self, mode: &str) -> Value {
        let path = self.project.session(&self.id(), &format!("{mode}-state.json"));
        serde_json::from_str(&self.project.read(path)).unwrap()
    }

    /// Asserts that the run is complete and its branch has the expected content.
    #[track_caller]
    pub fn assert_complete(&self, outcome: &CommandOutcome) {
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        assert_eq!(self.document("autopilot")["run_outcome"], "finish");
        let branch = format!("omx-run/{}", self.id());
        let greet = self.project.run_git(&["show", &format!("{branch}:greet.sh")]).stdout;
        assert!(greet.contains("${1:-world}"), "{greet}");
        let log = self.project.run_git(&["log", "--format=%s", &format!("main..{branch}")]).stdout;
        assert_eq!(log.lines().count(), 3, "{log}");
    }
}

/// A process that ends with the test.
pub struct RunningOmx(pub Child);

impl RunningOmx {
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        let _ = kill_process(pid, signal);
    }

    pub fn code(&mut self) -> Option<i32> {
        self.code_while(|_| {})
    }

    /// Waits for its exit code while repeating an action.
    pub fn code_while(&mut self, mut meanwhile: impl FnMut(&Self)) -> Option<i32> {
        let mut status = None;
        await_condition("the process ends", DEADLINE, || {
            meanwhile(self);
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }
}

impl Drop for RunningOmx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
