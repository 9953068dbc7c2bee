//! `omx demo`: it verifies itself, and leaves nothing behind however it ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use omx_testkit::{CommandOutcome, TestProject, await_condition};
use rustix::process::{Pid, Signal, kill_process};

use crate::project;

const DEADLINE: Duration = Duration::from_secs(60);

/// The folder in which the demo makes its own.
fn temporary_folder(project: &TestProject) -> PathBuf {
    let temporary = project.folder().join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    temporary
}

#[track_caller]
fn assert_empty(folder: &Path) {
    let left: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Runs the demo with temporary files where a test can look.
fn demo(project: &TestProject, args: &[&str]) -> CommandOutcome {
    let temporary = temporary_folder(project);
    let args = [&["demo"], args].concat();
    let outcome = project.omx_env(&args, &[("TMPDIR", temporary.to_str().unwrap())]);
    assert_empty(&temporary);
    assert!(!project.root().join(".omx").exists());
    outcome
}

#[test]
fn conductor_6_2_the_demo_checks_itself_and_leaves_nothing_behind() {
    let project = project();
    let begun = std::time::Instant::now();
    let outcome = demo(&project, &[]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(begun.elapsed() < DEADLINE);
    for sentence in [
        "c1.plan.critic1: done, REQUEST CHANGES, 1 finding",
        "c1.build.check1: done, exit 1",
        "c1.review.code: done, REQUEST CHANGES, 1 finding",
        "c2.review.code: done, APPROVE",
        "both greetings are right",
        "The demo has verified what it showed",
    ] {
        assert!(outcome.stdout.contains(sentence), "{sentence}: {}", outcome.stdout);
    }
}

/// The person's own settings neither move the demo into their project nor break it.
#[test]
fn the_demo_ignores_the_persons_settings() {
    let project = project();
    let (temporary, elsewhere) = (temporary_folder(&project), project.folder().join("elsewhere"));
    let settings = [
        ("TMPDIR", temporary.to_str().unwrap()),
        ("OMX_ROOT", project.root().to_str().unwrap()),
        ("OMX_STATE_DIR", elsewhere.to_str().unwrap()),
        ("OMX_CONFIG", "/nowhere/config.toml"),
    ]
    .map(|(name, value)| (name, value.to_owned()));
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let outcome = project.omx_env(&["demo"], &settings);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_empty(&temporary);
    assert_empty(&project.root());
    assert!(!elsewhere.exists());
}

/// With any one answer changed, the demo reports that its result is wrong.
#[test]
fn conductor_6_2_the_demo_fails_if_one_answer_differs() {
    let scenario = include_str!("../../../../assets/demo/scenario.toml");
    for (old, new) in [
        (
            "verdict = \"APPROVE\", findings = [], summary = \"Right, tested",
            "verdict = \"COMMENT\", findings = [], summary = \"Right, tested",
        ),
        (
            "verdict = \"REQUEST CHANGES\", summary = \"The plan leaves",
            "verdict = \"APPROVE\", summary = \"The plan leaves",
        ),
        ("replace = \"${1:-world}\"", "replace = \"nobody\""),
        (
            "{ passed = true, findings = [], checks = [{ name = \"both",
            "{ passed = false, findings = [], checks = [{ name = \"both",
        ),
        ("echo \\\"Hello, $1!\\\"", "echo \\\"Hello, ${1:-world}!\\\""),
    ] {
        assert!(scenario.contains(old), "{old} is not in the scenario");
        let project = project();
        let file = project.folder().join("scenario.toml");
        fs::write(&file, scenario.replacen(old, new, 1)).unwrap();
        let outcome = demo(&project, &["--scenario", file.to_str().unwrap()]);
        assert_eq!(outcome.code, Some(1), "{old} as {new}: {outcome:?}");
        assert!(outcome.stderr.contains("error: "), "{outcome:?}");
    }
}

/// Starts the demo with its output in a pipe.
fn start(project: &TestProject) -> Child {
    let temporary = temporary_folder(project);
    let mut command = project.omx_command(&["demo"]);
    command.env("TMPDIR", temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The demo's own folder. Its autopilot has private folders beside it.
fn demo_folder(temporary: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(temporary).unwrap().flatten();
    entries
        .find(|entry| entry.file_name().to_string_lossy().starts_with("omx-demo-"))
        .map(|entry| entry.path())
}

/// Waits until the demo's autopilot has begun its work.
fn await_autopilot(project: &TestProject) {
    let temporary = temporary_folder(project);
    await_condition("the autopilot works", DEADLINE, || {
        let runs = demo_folder(&temporary).map(|demo| demo.join("project/.omx/runs"));
        let runs = runs.and_then(|runs| fs::read_dir(runs).ok()).into_iter().flatten().flatten();
        let mut journals = runs.map(|run| run.path().join("journal.jsonl"));
        journals.any(|journal| {
            fs::read_to_string(journal).is_ok_and(|text| text.contains("step_started"))
        })
    });
}

/// The processes whose environment names the demo's folder, by their command lines.
fn processes(project: &TestProject) -> BTreeMap<i32, String> {
    let folder = temporary_folder(project).join("omx-demo-");
    let folder = folder.to_str().unwrap();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        if String::from_utf8_lossy(&read("environ")).contains(folder) && !line.is_empty() {
            found.insert(pid, line);
        }
    }
    found
}

fn await_nobody(project: &TestProject) {
    await_condition("nothing of the demo runs", Duration::from_secs(15), || {
        processes(project).is_empty()
    });
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_killed_demo_takes_its_autopilot_with_it() {
    let project = project();
    let mut demo = start(&project);
    await_autopilot(&project);
    assert!(!processes(&project).is_empty());
    demo.kill().unwrap();
    demo.wait().unwrap();
    await_nobody(&project);
    let temporary = temporary_folder(&project);
    let folder = demo_folder(&temporary).unwrap();
    // It was stopped before its end.
    assert!(!folder.join("project/greet.sh").exists());
}

#[test]
fn an_interrupted_demo_removes_its_folder() {
    for number in [Signal::INT, Signal::TERM] {
        let project = project();
        let demo = start(&project);
        await_autopilot(&project);
        signal(&demo, number);
        let output = demo.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!errors.contains("error: "), "{errors}");
        assert_empty(&temporary_folder(&project));
        await_nobody(&project);
    }
}

#[test]
fn demo_is_interrupted_by_ctrl_c() {
    let project = project();
    let temporary = temporary_folder(&project);
    let variables = [("TMPDIR", temporary.to_str().unwrap())];
    let wait = || await_autopilot(&project);
    let outcome = project.on_terminal_with(&variables, &["demo"], "\u{3}", wait);
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert_empty(&temporary);
    await_nobody(&project);
}

#[test]
fn a_demo_whose_reader_closes_the_pipe_ends_quietly() {
    let project = project();
    let mut demo = start(&project);
    let mut output = BufReader::new(demo.stdout.take().unwrap());
    for _ in 0..6 {
        output.read_line(&mut String::new()).unwrap();
    }
    drop(output);
    let mut errors = String::new();
    demo.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((demo.wait().unwrap().code(), errors.as_str()), (Some(0), ""));
    assert_empty(&temporary_folder(&project));
    await_nobody(&project);
}
