//! Every kind of approval that codex requests, granted and denied.

use std::fs;

use omx_agents::agent::{ApprovalDecision, McpServerSpec};
use omx_agents::event::{ApprovalRequest, TargetLocation};
use omx_agents::{Agent, AgentEvent, AgentMessage, ConversationStart};
use omx_kernel::approval::{AllowLevel, Permission, permission_for};
use omx_testkit::model::{ModelScript, ModelServer, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};
use serde_json::json;

use super::super::cli_stage::CliStage;
use super::super::conversation::{TestConversation, conversation_spec};
use super::super::play::cue;
use super::super::stage::{DriverStage, OMX};
use super::{Codex, stage};

fn both() -> [ApprovalDecision; 2] {
    [ApprovalDecision::Allow, ApprovalDecision::Deny("plums are out".to_owned())]
}

/// An edit in the folder needs approval where commands are not allowed; the
/// policy grants it.
#[test]
fn an_edit_request_names_its_files() {
    offline(&[AgentCli::Codex], || {
        for decision in both() {
            let stage =
                stage([ModelScript::named("edit").write("sub/made.txt", "x").say("edited")]);
            let mut chat = TestConversation::open(
                &stage,
                conversation_spec(&stage, ConversationStart::New, AllowLevel::Edits),
            );
            chat.agent.send(AgentMessage::text(cue("edit")));
            let ask = chat.approval(decision.clone());
            let made = stage.root().join("sub/made.txt");
            let paths = vec![made.to_str().unwrap().to_owned()];
            assert_eq!(ask, ApprovalRequest::Edit { paths, location: TargetLocation::Inside });
            assert_eq!(permission_for(AllowLevel::Edits, &ask), Permission::Granted);
            assert_eq!(chat.turn_end().text(), "edited");
            let granted = decision == ApprovalDecision::Allow;
            assert_eq!(made.exists(), granted);
            let changed = chat.seen.contains(&AgentEvent::FileChanged(made));
            assert_eq!(changed, granted, "{:#?}", chat.seen);
            reached(&chat, &stage.history("edit"), &decision);
            assert_eq!(chat.end(), None);
        }
    });
}

#[test]
fn an_edit_outside_the_folder_needs_the_person() {
    offline(&[AgentCli::Codex], || {
        for decision in both() {
            // Not below a temporary folder, which the sandbox leaves writable.
            let far = tempfile::tempdir_in("/var/tmp").unwrap();
            let file = far.path().canonicalize().unwrap().join("far.txt");
            let path = file.to_str().unwrap().to_owned();
            let stage = stage([ModelScript::named("edit").write(&path, "x").say("edited")]);
            let mut chat = TestConversation::new(&stage);
            chat.agent.send(AgentMessage::text(cue("edit")));
            let ask = chat.approval(decision.clone());
            assert_eq!(
                ask,
                ApprovalRequest::Edit { paths: vec![path], location: TargetLocation::Outside }
            );
            assert_eq!(permission_for(AllowLevel::Commands, &ask), Permission::NeedsPerson);
            assert_eq!(chat.turn_end().text(), "edited");
            assert_eq!(file.exists(), decision == ApprovalDecision::Allow);
            assert_eq!(chat.end(), None);
        }
    });
}

/// A command in the sandbox needs no approval; one outside it does.
#[test]
fn a_command_outside_the_sandbox_needs_the_person() {
    offline(&[AgentCli::Codex], || {
        for decision in both() {
            let far = tempfile::tempdir_in("/var/tmp").unwrap();
            let file = far.path().join("far.txt");
            let command = format!("touch {}", file.display());
            let ask_for = json!({"cmd": command, "sandbox_permissions": "require_escalated"});
            let script = ModelScript::named("out")
                .shell(&command)
                .turn(ScriptTurn::new().call("exec_command", ask_for))
                .say("tried");
            let stage = stage([script]);
            let mut chat = TestConversation::new(&stage);
            chat.agent.send(AgentMessage::text(cue("out")));
            let ask = chat.approval(decision.clone());
            assert!(!file.exists(), "the sandbox let it out");
            assert_eq!(
                ask,
                ApprovalRequest::Command { command, location: TargetLocation::Outside }
            );
            assert_eq!(permission_for(AllowLevel::Commands, &ask), Permission::NeedsPerson);
            assert_eq!(chat.turn_end().text(), "tried");
            assert_eq!(file.exists(), decision == ApprovalDecision::Allow);
            reached(&chat, &stage.history("out"), &decision);
            assert_eq!(chat.end(), None);
        }
    });
}

/// Tools of omx's own server never need approval. Those of other servers do, even
/// if they claim to be read-only or come from the person's own settings.
#[test]
fn a_tool_of_another_server_needs_the_person() {
    offline(&[AgentCli::Codex], || {
        for (allow, decision) in [AllowLevel::Edits, AllowLevel::Commands]
            .into_iter()
            .flat_map(|a| both().map(|d| (a, d)))
        {
            // An agent writes documents of its own session alone.
            let input = |mode| json!({"mode": mode, "session_id": "s", "active": true});
            let script = ModelScript::named("tools")
                .mcp("omx", "state_write", input("ralph"))
                .mcp("other", "state_write", input("ultrawork"))
                .mcp("persons", "state_write", input("ecomode"))
                .say("called");
            let server = ModelServer::start([script]);
            let home = AgentHome::new(AgentCli::Codex, &server).mcp("persons", OMX, &["mcp"]);
            let stage = CliStage::<Codex>::new(server, home);
            let mut spec = conversation_spec(&stage, ConversationStart::New, allow);
            spec.servers.push(McpServerSpec {
                name: "other".to_owned(),
                program: OMX.into(),
                args: vec!["mcp".to_owned()],
                env: Default::default(),
            });
            let mut chat = TestConversation::open(&stage, spec);
            chat.agent.send(AgentMessage::text(cue("tools")));
            for server in ["other", "persons"] {
                let ask = chat.approval(decision.clone());
                let (server, tool) = (server.to_owned(), "state_write".to_owned());
                assert_eq!(ask, ApprovalRequest::Tool { server, tool });
                assert_eq!(permission_for(allow, &ask), Permission::NeedsPerson);
            }
            assert_eq!(chat.turn_end().text(), "called");
            let session = stage.root().join(".omx/state/sessions/s");
            let stored = |mode| session.join(format!("{mode}-state.json")).exists();
            assert!(stored("ralph"));
            for mode in ["ultrawork", "ecomode"] {
                assert_eq!(stored(mode), decision == ApprovalDecision::Allow);
            }
            reached(&chat, &stage.history("tools"), &decision);
            assert_eq!(chat.end(), None);
        }
    });
}

#[test]
fn with_everything_allowed_nothing_needs_approval() {
    offline(&[AgentCli::Codex], || {
        let far = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = far.path().join("far.txt");
        let script =
            ModelScript::named("all").shell(&format!("touch {}", file.display())).say("done");
        let stage = stage([script]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::All),
        );
        assert_eq!(chat.turn(&cue("all")).text(), "done");
        assert!(file.exists());
        let requested = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalNeeded { .. });
        assert!(!chat.seen.iter().any(requested), "{:#?}", chat.seen);
        assert_eq!(chat.end(), None);
    });
}

/// An answer that comes too late is harmless, and so is a second one.
#[test]
fn a_late_approval_answer_has_no_effect() {
    offline(&[AgentCli::Codex], || {
        let stage = stage([ModelScript::named("ask").shell("touch ran.txt").say("that was it")]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::Edits),
        );
        chat.agent.send(AgentMessage::text(cue("ask")));
        let asks = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalNeeded { .. });
        let AgentEvent::ApprovalNeeded { approval, .. } = chat.until("an approval", asks) else {
            unreachable!()
        };
        chat.agent.answer(approval.clone(), ApprovalDecision::Deny(String::new()));
        chat.agent.answer(approval.clone(), ApprovalDecision::Allow);
        assert_eq!(chat.turn_end().text(), "that was it");
        chat.agent.answer(approval, ApprovalDecision::Allow);
        assert!(fs::read_dir(stage.root()).unwrap().all(|f| f.unwrap().file_name() != "ran.txt"));
        assert_eq!(chat.end(), None);
    });
}

/// The agent receives the reason together with the denial.
#[track_caller]
fn reached(chat: &TestConversation, history: &str, decision: &ApprovalDecision) {
    let reported = history.contains("Not allowed: plums are out");
    assert_eq!(reported, *decision != ApprovalDecision::Allow, "{history}");
    // It is not a message of the caller.
    let steered = AgentEvent::Delivered(omx_agents::event::Delivery::Steered);
    assert!(!chat.seen.contains(&steered), "{:#?}", chat.seen);
}
