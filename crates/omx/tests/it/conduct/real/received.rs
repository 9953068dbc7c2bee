//! A real program is asked what it has on record before it gets a task again.

use std::fs;
use std::path::PathBuf;

use omx_testkit::model::{ModelScript, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, offline};

use super::kill_points::{self, KillPoint, KillTime, KillVictim};
use super::parts;
use super::project::RealProject;

const ARGS: [&str; 5] = ["--check", "true", "--verify", "standard", "say that it ran"];

fn scripts() -> Vec<ModelScript> {
    let answer = |value| ScriptTurn::new().answer(value).usage(1000, 100);
    vec![
        parts::script("work", &[parts::DO])
            .shell("echo ran >> ran.txt")
            .turn(answer(parts::work("it ran"))),
        parts::answers("verify", &[parts::VERIFY], parts::verified()),
        parts::answers("tidy", &[parts::TIDY], parts::looked("tidy")),
    ]
}

/// A run whose processes were all killed in this turn of the builder, before the journal knew
/// that the builder had received its task.
fn killed(cli: AgentCli, turn: usize) -> RealProject {
    let project = RealProject::new(cli, scripts());
    let blow = KillPoint::new(KillVictim::Both, KillTime::Asked, "work", turn);
    kill_points::kill_once(&project, "ralph", &ARGS, &blow);
    let journal = project.run_folder().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let is_kept = |line: &&str| !line.contains("\"delivered\"") && !line.contains("\"usage\"");
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    assert!(kept.last().unwrap().contains("\"conversation\""), "{text}");
    fs::write(&journal, kept.join("\n") + "\n").unwrap();
    project
}

/// The program's record of the only conversation.
fn record(project: &RealProject) -> PathBuf {
    let folder = match project.cli {
        AgentCli::Codex => ".codex/sessions",
        AgentCli::Claude | AgentCli::Gemini => ".claude/projects",
    };
    let mut folders = vec![project.home.home().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false if entry.path().extension().is_some_and(|end| end == "jsonl") => {
                    return entry.path();
                }
                false => {}
            }
        }
    }
    panic!("no record");
}

fn does_nothing_twice(cli: AgentCli) {
    let project = killed(cli, 1);
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:#?} {:#?}", project.server.seen());
    assert_eq!(project.on_branch("ran.txt"), "ran\n", "{:#?}", project.server.seen());
}

/// Of the program's record, only so many lines are left.
fn begins_again_without_a_record(cli: AgentCli, lines: usize) {
    let project = killed(cli, 0);
    let path = record(&project);
    let text = fs::read_to_string(&path).unwrap();
    let left: String = text.split_inclusive('\n').take(lines).collect();
    assert!(!left.contains("## Your part"), "{left}");
    fs::write(&path, left).unwrap();
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:#?} {:#?}", project.server.seen());
    assert_eq!(project.on_branch("ran.txt"), "ran\n", "{:#?}", project.server.seen());
}

#[test]
fn trust_5_1b_codex_does_nothing_twice_that_it_has_on_record() {
    offline(&[AgentCli::Codex], || does_nothing_twice(AgentCli::Codex));
}

#[test]
fn trust_5_1b_claude_does_nothing_twice_that_it_has_on_record() {
    offline(&[AgentCli::Claude], || does_nothing_twice(AgentCli::Claude));
}

#[test]
fn trust_5_1b_codex_begins_again_after_an_empty_rollout() {
    offline(&[AgentCli::Codex], || begins_again_without_a_record(AgentCli::Codex, 0));
}

#[test]
fn trust_5_1b_claude_begins_again_after_an_empty_transcript() {
    offline(&[AgentCli::Claude], || begins_again_without_a_record(AgentCli::Claude, 0));
}

#[test]
fn trust_5_1b_codex_gets_a_task_that_is_not_in_its_rollout() {
    offline(&[AgentCli::Codex], || begins_again_without_a_record(AgentCli::Codex, 1));
}

#[test]
fn trust_5_1b_claude_gets_a_task_that_is_not_in_its_transcript() {
    offline(&[AgentCli::Claude], || begins_again_without_a_record(AgentCli::Claude, 1));
}
