//! Seed 003, on autopilot: the loop however long a conversation takes, and its end.

use serde_json::{Value, json};

use super::autopilot::{built, clean, planned};
use crate::hooks::kit::{BOTH, HostConversation, context, used_project};

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
