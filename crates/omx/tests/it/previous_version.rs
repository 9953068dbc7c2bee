//! Runs and state written by version 0.1.0 continue under this version.
//!
//! `fixtures/version-0.1.0` holds the files as that version left them when it
//! was killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::Value;

use crate::project;

/// A project as the previous version left it.
struct Inherited {
    project: TestProject,
    id: String,
}

impl Inherited {
    fn new(name: &str) -> Self {
        let fixture = fixture(name);
        let project = project();
        let scenario = project.folder().join("scenario.toml");
        if fixture.join("scenario.toml").exists() {
            fs::copy(fixture.join("scenario.toml"), &scenario).unwrap();
            project.git();
            import(&project, &fixture.join("repository.fast-export"));
        }
        let replacements = [
            ("@ROOT@", project.root().to_str().unwrap().to_owned()),
            ("@SCENARIO@", scenario.to_str().unwrap().to_owned()),
            ("@NOW@", jiff::Timestamp::now().to_string()),
        ];
        copy(&fixture.join("tree"), &project.root().join(".omx"), &replacements);
        let id = fs::read_to_string(fixture.join("id")).unwrap_or_default().trim().to_owned();
        // Runs of earlier versions have no record, so the person adopts them.
        if !id.is_empty() {
            let adopted = project.omx(&["runs", "adopt", &id, "--yes"]);
            assert_eq!(adopted.code, Some(0), "{adopted:?}");
        }
        Self { project, id }
    }

    fn resume(&self) -> CommandOutcome {
        self.project.omx(&["runs", "resume", &self.id])
    }

    fn journal(&self) -> Vec<Value> {
        let path = self.project.root().join(".omx/runs").join(&self.id).join("journal.jsonl");
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The steps that the journal reports as finished, in order.
    fn finished(&self) -> Vec<String> {
        let records = self.journal();
        let finished = records.iter().filter(|line| line["record"]["kind"] == "step_finished");
        finished.map(|line| line["record"]["step"].as_str().unwrap().to_owned()).collect()
    }

    fn document(&self, mode: &str) -> Value {
        let path = self.project.session(&self.id, &format!("{mode}-state.json"));
        serde_json::from_str(&self.project.read(path)).unwrap()
    }

    fn git(&self, args: &[&str]) -> String {
        let outcome = self.project.run_git(args);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.stdout
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-0.1.0").join(name)
}

/// Rebuilds a repository with the commit ids it had.
fn import(project: &TestProject, stream: &Path) {
    let status = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(project.root())
        .stdin(Stdio::from(fs::File::open(stream).unwrap()))
        .status()
        .unwrap();
    assert!(status.success());
    let outcome = project.run_git(&["reset", "-q", "--hard", "main"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

fn copy(from: &Path, to: &Path, replacements: &[(&str, String)]) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target, replacements);
        } else {
            let text = fs::read_to_string(entry.path()).unwrap();
            let replace = |text: String, (from, to): &(&str, String)| text.replace(from, to);
            fs::write(target, replacements.iter().fold(text, replace)).unwrap();
        }
    }
}

/// Resumes a run of the previous version and asserts that it ends as it would
/// have ended there, without repeating a finished step.
#[track_caller]
fn assert_resumes(name: &str, mode: &str) {
    let inherited = Inherited::new(name);
    let before = inherited.finished();
    let outcome = inherited.resume();
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let after = inherited.finished();
    assert_eq!(after[..before.len()], before[..], "finished steps are not repeated");
    assert!(before.len() < after.len(), "the run was not finished before");
    let mut unique = after.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), after.len(), "each step is finished once: {after:?}");
    assert_eq!(inherited.document(mode)["run_outcome"], "finish");
    let branch = format!("omx-run/{}", inherited.id);
    let greet = inherited.git(&["show", &format!("{branch}:greet.sh")]);
    assert!(greet.contains("Hello"), "{greet}");
    let integrated = inherited.project.omx(&["runs", "integrate", &inherited.id]);
    assert_eq!(integrated.code, Some(0), "{integrated:?}");
    assert!(inherited.project.root().join("greet.sh").exists());
}

#[test]
fn an_autopilot_killed_while_planning_is_finished() {
    assert_resumes("autopilot-plan", "autopilot");
}

#[test]
fn an_autopilot_killed_before_its_check_is_finished() {
    assert_resumes("autopilot-check", "autopilot");
}

#[test]
fn an_autopilot_killed_while_two_reviewers_work_is_finished() {
    assert_resumes("autopilot-review", "autopilot");
}

#[test]
fn a_ralph_killed_before_its_fix_is_finished() {
    assert_resumes("ralph-fix", "ralph");
}

#[test]
fn a_completed_run_is_listed_shown_and_integrated() {
    let inherited = Inherited::new("autopilot-complete");
    let listed = inherited.project.omx(&["runs", "list", "--json"]);
    assert!(listed.stdout.contains(&inherited.id), "{listed:?}");
    let report = inherited.project.omx(&["runs", "show", &inherited.id, "--json"]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert!(report.stdout.contains("c2.review.code"), "{}", report.stdout);
    let integrated = inherited.project.omx(&["runs", "integrate", &inherited.id]);
    assert_eq!(integrated.code, Some(0), "{integrated:?}");
    assert!(inherited.project.root().join("greet.sh").exists());
}

#[test]
fn mode_state_is_read_continued_and_cancelled() {
    let inherited = Inherited::new("state");
    let project = &inherited.project;
    let listed = project.omx(&["state", "list-active", "--json"]).stdout;
    for mode in ["ralph", "autopilot", "ultrawork"] {
        assert!(listed.contains(mode), "{listed}");
    }
    assert!(!listed.contains("ultraqa"), "cancelled before: {listed}");
    let write = r#"{"mode":"ralph","session_id":"s-one","current_phase":"verifying"}"#;
    let written = project.omx(&["state", "write", "--input", write]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let document = project.read(project.session("s-one", "ralph-state.json"));
    assert!(document.contains("\"my_own_field\": 1.10"), "{document}");
    assert!(document.contains("\"revision\": 4"), "{document}");
    let stop = r#"{"session_id":"s-one","hook_event_name":"Stop","stop_hook_active":false}"#;
    let held = project.omx_stdin(&["hook", "--host", "claude"], stop.as_bytes());
    assert!(held.stdout.contains("\"block\""), "{held:?}");
    let cancelled = project.omx(&["cancel", "--every-session"]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    let released = project.omx_stdin(&["hook", "--host", "claude"], stop.as_bytes());
    assert_eq!(released.stdout.trim(), "{}");
}
