//! R4 and R5: cancel against hooks in flight, and conversations side by side.

use std::time::Instant;

use omx_testkit::{Random, TestProject, in_parallel};
use serde_json::json;

use super::kit::{BOTH, HookHost, HostConversation, ended, start, used_project};

const ROUNDS: usize = 1_000;
const HOOKS: usize = 8;
const EVENTS: usize = 10_000;

#[test]
fn r4_cancel_against_eight_hooks_in_flight_a_thousand_times() {
    let workers: Vec<(usize, TestProject)> = (0..2).map(|index| (index, used_project())).collect();
    in_parallel(2, &workers, |(index, project)| {
        for round in 0..ROUNDS / 2 {
            one_round(project, BOTH[(round + index) % 2], round);
        }
    });
}

fn one_round(project: &TestProject, host: HookHost, round: usize) {
    let session = format!("s{}", round % 7);
    let conversation = HostConversation { project, host, session: &session };
    conversation.prompt(if round.is_multiple_of(2) {
        "$ralph mend it"
    } else {
        "$autopilot mend it"
    });
    let stop = conversation.payload("Stop", json!({"last_assistant_message": "x"})).to_string();
    let tool = conversation.payload("PostToolUse", json!({"tool_name": "Bash"})).to_string();
    let begun = Instant::now();
    let mut flight = Vec::new();
    for index in 0..HOOKS {
        let payload = if index % 4 == 3 { &tool } else { &stop };
        flight.push(start(conversation.command(), payload.as_bytes()));
        if index == round % HOOKS {
            let outcome = project.omx(&["cancel", "--session-id", &session]);
            assert_eq!(outcome.code, Some(0), "round {round}: {outcome:?}");
            // From now on every new stop is allowed.
            assert_eq!(conversation.stop("x"), json!({}), "round {round}");
        }
    }
    for hook in flight {
        ended(hook, begun);
    }
    assert_eq!(conversation.stop("x"), json!({}), "round {round}");
    let active = project.omx(&["state", "list-active", "--session-id", &session, "--json"]);
    let active: serde_json::Value = serde_json::from_str(&active.stdout).unwrap();
    assert_eq!(active["active_modes"], json!([]), "round {round}");
}

#[test]
fn r5_ten_thousand_interleaved_events_of_two_conversations() {
    let project = used_project();
    let sides = [("one", HookHost::Claude), ("two", HookHost::Codex)];
    in_parallel(2, &sides, |(session, host)| {
        let conversation = HostConversation { project: &project, host: *host, session };
        let task = format!("the task of {session}");
        let mut random = Random::new(if *session == "one" { 7 } else { 11 });
        let mut active = false;
        for _ in 0..EVENTS / 2 {
            match random.below(20) {
                0 if !active => {
                    conversation.prompt(&format!("$ralph {task}"));
                    active = true;
                }
                1 if active => {
                    conversation.prompt("cancelomx");
                    active = false;
                }
                2..=5 => {
                    let answer = conversation.stop(&format!("words {}", random.below(1_000)));
                    if !active {
                        assert_eq!(answer, json!({}), "{session} is held by the other");
                    } else if answer.get("decision").is_none() {
                        // A bound was reached.
                        active = false;
                    }
                }
                6 => {
                    let reported =
                        conversation.event("SessionStart", json!({"source": "resume"})).to_string();
                    assert_eq!(reported.contains("Ralph active"), active, "{session}: {reported}");
                    let other = if *session == "one" { "two" } else { "one" };
                    assert!(!reported.contains(&format!("the task of {other}")), "{reported}");
                }
                _ => conversation.tool("Bash"),
            }
            if active {
                let document = conversation.document("ralph");
                assert_eq!(document["task_description"], task.as_str());
                assert_eq!(document["session_id"], *session);
            }
        }
    });
}
