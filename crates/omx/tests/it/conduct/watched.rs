//! Watching a run: in the background, from another process, on a terminal, in a
//! pipe, as JSON.

use std::process::Stdio;

use omx_testkit::await_condition;
use serde_json::Value;

use super::kit::{DEADLINE, Repository, quick_scenario};

/// A run that waits for a file in the project's folder before it builds.
fn waiting() -> Repository {
    let old = "{ run = { command = \"sh greet.sh Ada\" } }";
    let scenario = quick_scenario();
    assert_eq!(scenario.matches(old).count(), 1);
    let repository = Repository::playing("");
    let go = repository.project.folder().join("go");
    let wait = format!("while ! test -e '{}'; do sleep 0.05; done", go.display());
    let new = format!("{{ run = {{ command = \"{wait}\" }} }}");
    let scenario = scenario.replace(old, &new);
    std::fs::write(repository.project.folder().join("scenario.toml"), scenario).unwrap();
    repository
}

fn release(repository: &Repository) {
    std::fs::write(repository.project.folder().join("go"), "").unwrap();
}

/// Waits until the builder works.
fn building(repository: &Repository) {
    await_condition("the builder works", DEADLINE, || {
        let conversation =
            |record: &Value| record["kind"] == "conversation" && record["step"] == "c1.build.work";
        repository.journal().iter().any(conversation)
    });
}

fn run_state(repository: &Repository) -> Value {
    repository.project.omx(&["runs", "--json"]).ok()["runs"][0]["state"].clone()
}

#[test]
fn conductor_3_3_a_detached_run_continues_alone_and_can_be_followed() {
    let repository = waiting();
    let started = repository.run("autopilot", &["--detach", "greet people by name"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let id = repository.id();
    for words in ["omx runs attach", "omx cancel --session-id"] {
        assert!(started.stdout.contains(&format!("{words} {id}")), "{started:?}");
    }
    // It counts as alive from the first moment.
    assert_eq!(run_state(&repository), "running");
    let live = repository.project.omx(&["ps", "--json"]).ok();
    assert_eq!(live["runs"][0]["run"], id.as_str());
    assert_eq!(live["runs"][0]["root"], repository.project.root().to_str().unwrap());
    let live = repository.project.omx(&["ps"]).stdout;
    assert!(live.contains(&id) && live.contains("greet people by name"), "{live}");
    let refused = repository.resume(&[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    building(&repository);
    let mut attach = repository.project.omx_command(&["runs", "attach", &id]);
    let follower = attach.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    release(&repository);
    let followed = follower.wait_with_output().unwrap();
    let text = String::from_utf8(followed.stdout).unwrap();
    assert!(followed.status.success(), "{text}");
    // All of it: earlier and later events.
    for words in ["c1.plan.draft: done", "c1.build.work: done", "c2.review.code: done, APPROVE"] {
        assert!(text.contains(words), "{words} is missing: {text}");
    }
    assert!(
        text.ends_with("complete greet.sh greets by name, and the README says how.\n"),
        "{text}"
    );
    assert_eq!(run_state(&repository), "complete");
    assert_eq!(repository.project.omx(&["ps"]).stdout, "No live runs.\n");
    repository.await_nobody();
}

#[test]
fn conductor_3_3_a_detached_run_can_be_cancelled_from_another_process() {
    let repository = waiting();
    let started = repository.run("autopilot", &["--detach", "--json", "greet people by name"]);
    let first: Value = serde_json::from_str(started.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["event"], "run");
    assert_eq!(first["id"], repository.id());
    building(&repository);
    let cancelled = repository.project.omx(&["cancel"]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    repository.await_nobody();
    assert_eq!(run_state(&repository), "cancelled");
}

#[test]
fn conductor_3_3_runs_are_listed_and_shown() {
    let repository = Repository::new();
    assert_eq!(repository.project.omx(&["runs"]).stdout, "No runs in this project.\n");
    assert_eq!(repository.run("autopilot", &["greet people by name"]).code, Some(0));
    let id = repository.id();
    let line = repository.project.omx(&["runs", "list"]).stdout;
    for words in [id.as_str(), "autopilot", "complete", "53,030 tokens", "greet people by name"] {
        assert!(line.contains(words), "{words} is missing: {line}");
    }
    let listed = repository.project.omx(&["runs", "list", "--json"]).ok();
    let run = &listed["runs"][0];
    assert_eq!(run["id"], id.as_str());
    assert_eq!(run["steps"], 30);
    assert_eq!(
        run["spent"]["input"].as_u64().unwrap() + run["spent"]["output"].as_u64().unwrap(),
        53_030
    );
    let by: u64 = run["spent_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| {
            assert_eq!(part["agent"], "rehearsal");
            part["input"].as_u64().unwrap() + part["output"].as_u64().unwrap()
        })
        .sum();
    assert_eq!(by, 53_030);
    let report = repository.project.omx(&["runs", "show", &id[..13]]).stdout;
    for words in ["c1.plan.draft started", "c2.review.code finished", "complete: greet.sh"] {
        assert!(report.contains(words), "{words} is missing: {report}");
    }
    let report = repository.project.omx(&["runs", "show", "--json"]).ok();
    assert_eq!(report["journal"].as_array().unwrap().len(), repository.journal().len());
    assert_eq!(report["journal"][0]["record"]["kind"], "opened");
    let missing = repository.project.omx(&["runs", "show", "ffff"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
}

#[test]
fn conductor_3_4_in_a_pipe_a_run_prints_plain_lines() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["greet people by name"]);
    assert!(!outcome.stdout.contains('\u{1b}'), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(lines.contains(&"c1.plan.draft: planner plans (ralplan, draft)"), "{outcome:#?}");
    assert!(lines.contains(&"c1.build.check1: done, exit 1"), "{outcome:#?}");
    assert!(lines.contains(&"c1.review.code: done, REQUEST CHANGES, 1 finding"), "{outcome:#?}");
}

#[test]
fn conductor_json_is_one_event_per_line() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["--json", "greet people by name"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr, "");
    let events: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert_eq!(events.first().unwrap()["event"], "run");
    let last = events.last().unwrap();
    assert_eq!(last["event"], "ended");
    assert_eq!(last["outcome"], "complete");
    assert_eq!(last["exit_code"], 0);
    assert_eq!((kinds("step_began"), kinds("step_finished")), (30, 30));
    assert!(kinds("said") > 0 && kinds("tool") > 0 && kinds("spent") > 0);
    assert!(events.iter().all(|event| event["event"].is_string()), "{events:#?}");
}

#[test]
fn conductor_3_4_on_a_terminal_a_run_has_a_live_block() {
    let repository = Repository::new();
    let command = repository.command("autopilot", &["greet people by name"]);
    let args: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
    let outcome = repository.project.on_terminal(&args, "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let text = &outcome.stdout;
    // The block is redrawn; finished steps stay.
    assert!(text.contains("\u{1b}[1A\u{1b}[2K"), "{text}");
    assert!(text.contains("ralplan draft"), "{text}");
    assert!(text.contains(" tokens"), "{text}");
    assert!(text.contains("✓\u{1b}[0m planner plans: Greet people by name"), "{text}");
    // At the end nothing of the block is left above the summary.
    let screen = screen(text);
    assert!(!screen.iter().any(|line| line.contains("ralplan draft,")), "{screen:#?}");
    assert!(screen.iter().any(|line| line.starts_with("complete: greet.sh")), "{screen:#?}");
    assert_eq!(screen.iter().filter(|line| line.contains('✓')).count(), 30, "{screen:#?}");
}

/// The final screen. A run uses only two cursor controls: one line up, and clearing
/// a line.
fn screen(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut row = 0;
    for part in text.split_inclusive('\n') {
        let mut rest = part;
        while let Some(rest_of) = rest.strip_prefix("\u{1b}[1A\u{1b}[2K") {
            row -= 1;
            lines[row].clear();
            rest = rest_of;
        }
        lines[row].push_str(rest.trim_end_matches('\n'));
        if rest.ends_with('\n') {
            row += 1;
            if lines.len() == row {
                lines.push(String::new());
            }
            lines[row].clear();
        }
    }
    lines
}

#[test]
fn conductor_5_5_ctrl_c_on_a_terminal_stops_and_says_how_to_resume() {
    let repository = waiting();
    let command = repository.command("autopilot", &["greet people by name"]);
    let args: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
    let outcome = repository.project.on_terminal_when(&args, "\u{3}", || building(&repository));
    assert_eq!(outcome.code, Some(130), "{outcome:#?}");
    assert!(outcome.stdout.contains("resume it: omx runs resume"), "{outcome:#?}");
    repository.await_nobody();
    release(&repository);
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}
