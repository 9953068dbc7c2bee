//! Seed 003, on autopilot: the loop however long a conversation takes, and its end.

use serde_json::{Value, json};

use super::autopilot::{PHASES, built, clean, not_clean, planned};
use crate::hooks::kit::{BOTH, HostConversation, context, held, used_project};

/// Holds the conversation a few times, with work in between.
#[track_caller]
fn work(conversation: &HostConversation<'_>, times: usize, what: &str) {
    for turn in 0..times {
        conversation.tool("Bash");
        held(&conversation.stop(&format!("{what}, part {turn}")));
    }
}

#[test]
fn seed_003_the_loop_goes_on_however_often_the_conversation_is_held() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$autopilot repair the parser");
        for cycle in 1..=3 {
            work(&conversation, 4, &format!("planning {cycle}"));
            conversation.write(planned(&project, cycle));
            work(&conversation, 4, &format!("building {cycle}"));
            conversation.write(built(cycle));
            work(&conversation, 3, &format!("reviewing {cycle}"));
            // The counters that the document asks for, whatever was held before.
            if cycle < 3 {
                conversation.write(not_clean(cycle, &format!("finding {cycle}")));
                let document = conversation.document("autopilot");
                assert_eq!(document["iteration"], cycle + 1);
                assert_eq!(document["review_cycle"], cycle);
            }
        }
        conversation.write(clean());
        assert_eq!(conversation.stop("done"), json!({}));
        let document = conversation.document("autopilot");
        assert_eq!(document["run_outcome"], "finish", "{document}");
        assert_eq!((&document["iteration"], &document["review_cycle"]), (&json!(3), &json!(2)));
    }
}

#[test]
fn seed_003_continue_leads_an_active_run_on_from_its_phase() {
    for host in BOTH {
        for words in ["continue", "resume", "keep going"] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            conversation.prompt("$autopilot repair the parser");
            let steps: [(&str, Option<Value>); 3] = [
                ("ralplan", None),
                ("ralph", Some(planned(&project, 1))),
                ("code-review", Some(built(1))),
            ];
            for (phase, step) in steps {
                step.into_iter().for_each(|input| conversation.write(input));
                let before = conversation.document("autopilot");
                let answer = conversation.prompt(words);
                assert!(context(&answer).contains(phase), "{words} in {phase}: {answer}");
                assert_eq!(conversation.document("autopilot"), before, "{words} in {phase}");
            }
        }
    }
}

#[test]
fn seed_003_a_complete_run_is_reported_and_not_started_again() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$autopilot repair the parser");
        conversation.write(planned(&project, 1));
        conversation.write(built(1));
        conversation.write(clean());
        let before = conversation.document("autopilot");
        for words in ["$autopilot", "/autopilot", "continue"] {
            let answer = conversation.prompt(words);
            assert_eq!(conversation.document("autopilot"), before, "{words}: {answer}");
            assert_eq!(conversation.stop("done"), json!({}), "{words}");
        }
        let answer = conversation.prompt("$autopilot");
        let text = context(&answer);
        assert!(text.contains("complete") && text.contains("repair the parser"), "{text}");
    }
}

/// Exploring has its own skill, which starts no mode.
#[test]
fn seed_003_plan_and_ralplan_are_there_for_exploring() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        let skill = project.omx(&["list", "show", "plan"]);
        assert_eq!(skill.code, Some(0), "{skill:?}");
        assert!(skill.stdout.contains("$ralplan"), "{skill:?}");
        conversation.prompt("$plan how to replace the parser");
        let active = project.omx(&["state", "list-active", "--json"]).ok();
        assert_eq!(active["active_modes"], json!([]));
        assert_eq!(conversation.stop("here are two options"), json!({}));
        conversation.prompt("$ralplan how to replace the parser");
        assert_eq!(conversation.document("ralplan")["active"], true);
    }
}

#[test]
fn seed_003_every_cycle_has_a_plan_and_evidence_of_its_own() {
    let project = used_project();
    let conversation = HostConversation { project: &project, host: BOTH[0], session: "s1" };
    conversation.prompt("$autopilot repair the parser");
    conversation.write(planned(&project, 1));
    conversation.write(built(1));
    conversation.write(not_clean(1, "it leaks"));
    let refused = |phase: &str| {
        let input = json!({"mode": "autopilot", "session_id": "s1", "current_phase": phase});
        assert_eq!(project.state_op("write", &input).refused(), "illegal_transition", "{phase}");
    };
    refused("ralph");
    conversation.write(planned(&project, 2));
    refused("code-review");
    conversation.write(built(2));
    conversation.write(clean());
}

#[test]
fn seed_003_its_stages_start_inside_it_and_end_with_it() {
    for host in BOTH {
        for stage in PHASES {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            conversation.prompt("$autopilot repair the parser");
            conversation.write(json!({"mode": stage, "active": true, "start": true}));
            assert_eq!(conversation.document(stage)["linked_to"], "autopilot", "{stage}");
            conversation.prompt("cancelomx");
            for mode in [stage, "autopilot"] {
                assert_eq!(conversation.document(mode)["run_outcome"], "cancelled", "{stage}");
            }
        }
    }
}
