//! What claude may do without approval, and what it is given.

use std::ffi::OsString;
use std::fs;

use omx_agents::event::{ApprovalRequest, TargetLocation, ToolOutcome};
use omx_agents::{AgentEvent, AgentLimits, ConversationSpec, ConversationStart, conversation};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::driver;
use omx_testkit::model::ModelScript;
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::{ClaudeStage, stage_of};
use crate::agents::conversation::{TestConversation, conversation_spec};
use crate::agents::play::{AgentPlay, PlayStep, cue};
use crate::agents::stage::DriverStage;

fn asks(chat: &TestConversation) -> Vec<&ApprovalRequest> {
    let requested = chat.seen.iter().filter_map(|event| match event {
        AgentEvent::ApprovalNeeded { ask, .. } => Some(ask),
        _ => None,
    });
    requested.collect()
}

/// conductor.md, permissions of agents: edits in the folder are granted,
/// everything else needs the person.
#[test]
fn with_edits_allowed_only_edits_in_the_folder_are_made() {
    offline(&[AgentCli::Claude], || {
        let script = ModelScript::named("edits")
            .write("inside.txt", "in\n")
            .write("../outside.txt", "out\n")
            .write(".claude/settings.json", "{}")
            .shell("rm inside.txt")
            .say("that was it");
        let stage: ClaudeStage = stage_of([script]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::Edits),
        );
        assert_eq!(chat.turn(&cue("edits")).text(), "that was it");
        assert!(stage.root().join("inside.txt").exists());
        assert!(!stage.root().join("../outside.txt").exists());
        assert!(!stage.root().join(".claude/settings.json").exists());
        let reaches = asks(&chat).into_iter().map(|ask| match ask {
            ApprovalRequest::Edit { location: reach, .. } => Some(*reach),
            _ => None,
        });
        let (inside, outside) = (Some(TargetLocation::Inside), Some(TargetLocation::Outside));
        assert_eq!(reaches.collect::<Vec<_>>(), [inside, outside, outside, None]);
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn with_commands_allowed_a_command_outside_needs_the_person() {
    offline(&[AgentCli::Claude], || {
        let script = ModelScript::named("run")
            .shell("python3 -c 'open(\"made\", \"w\")'")
            .shell("touch ../outside.txt")
            .say("that was it");
        let stage: ClaudeStage = stage_of([script]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&cue("run")).text(), "that was it");
        assert!(stage.root().join("made").exists());
        assert!(!stage.root().join("../outside.txt").exists());
        let reaches = asks(&chat).into_iter().map(|ask| match ask {
            ApprovalRequest::Command { location: reach, .. } => *reach,
            other => panic!("{other:?}"),
        });
        assert_eq!(reaches.collect::<Vec<_>>(), [TargetLocation::Inside, TargetLocation::Outside]);
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn with_everything_allowed_nothing_needs_approval() {
    offline(&[AgentCli::Claude], || {
        let away = PlayStep::Shell("touch ../outside.txt");
        let stage = ClaudeStage::with(vec![AgentPlay::new("all", [away, PlayStep::Say("done")])]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::All),
        );
        assert_eq!(chat.turn(&cue("all")).text(), "done");
        assert!(stage.root().join("../outside.txt").exists());
        assert_eq!(asks(&chat), Vec::<&ApprovalRequest>::new());
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn our_own_tools_need_no_approval() {
    offline(&[AgentCli::Claude], || {
        let read = PlayStep::Mcp("state_list_active", json!({}));
        let stage = ClaudeStage::with(vec![AgentPlay::new("own", [read, PlayStep::Say("done")])]);
        for allow in AllowLevel::ALL {
            let mut chat = TestConversation::open(
                &stage,
                conversation_spec(&stage, ConversationStart::New, allow),
            );
            assert_eq!(chat.turn(&cue("own")).text(), "done");
            let done = |event: &AgentEvent| {
                matches!(event, AgentEvent::ToolFinished { end: ToolOutcome::Succeeded, .. })
            };
            assert!(chat.seen.iter().any(done), "{:#?}", chat.seen);
            assert_eq!(asks(&chat), Vec::<&ApprovalRequest>::new());
            assert_eq!(chat.end(), None);
        }
    });
}

#[test]
fn role_and_model_reach_the_vendor() {
    offline(&[AgentCli::Claude], || {
        let stage = ClaudeStage::with(vec![AgentPlay::new("hello", [PlayStep::Say("hello")])]);
        let role = "- You are the critic of plums.";
        let spec = ConversationSpec {
            role: Some(role.to_owned()),
            model: Some("claude-of-tests-1".to_owned()),
            ..conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands)
        };
        let mut chat = TestConversation::open(&stage, spec);
        assert_eq!(chat.turn(&cue("hello")).text(), "hello");
        let request = stage.server.turns("hello").remove(0);
        assert_eq!(request.body["model"], "claude-of-tests-1");
        assert!(request.body["system"].to_string().contains(role), "{:#?}", request.body);
        assert_eq!(chat.end(), None);
    });
}

/// Variables meant for other programs do not reach the agent.
#[test]
fn a_worker_receives_only_claudes_variables() {
    offline(&[AgentCli::Claude], || {
        let list = "env -0 | tr '\\0\\n' '\\n ' | cut -d= -f1 | sort -u > names.txt";
        let stage = ClaudeStage::with(vec![AgentPlay::new(
            "env",
            [PlayStep::Shell(list), PlayStep::Say("done")],
        )]);
        let mut agent_env = stage.agent_env();
        let (foreign, own) =
            (["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"], "CLAUDE_CODE_EFFORT_LEVEL");
        for name in foreign.iter().chain([&own]) {
            agent_env.variables.insert(name.into(), OsString::from("low"));
        }
        let driver = driver(ClaudeStage::KIND);
        let installation = driver.find(&agent_env).unwrap();
        let spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::All);
        let (sender, events) = std::sync::mpsc::channel();
        let on_event = move |event| {
            let _ = sender.send(event);
        };
        let limits = AgentLimits::default();
        let agent = conversation::open(driver, &installation, &spec, &agent_env, limits, on_event);
        let mut chat = TestConversation {
            agent: agent.unwrap(),
            events,
            seen: Vec::new(),
            allow: AllowLevel::All,
            id: omx_agents::ConversationId::random(),
        };
        assert_eq!(chat.turn(&cue("env")).text(), "done");
        let names = fs::read_to_string(stage.root().join("names.txt")).unwrap();
        let has = |name: &str| names.lines().any(|line| line == name);
        assert!(foreign.iter().all(|name| !has(name)), "{names}");
        assert!(has(own) && has("PATH"), "{names}");
        assert_eq!(chat.end(), None);
    });
}
