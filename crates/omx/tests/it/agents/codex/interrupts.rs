//! Interrupts: on its own codex would leave commands running.

use std::time::Duration;

use omx_agents::event::Delivery;
use omx_agents::{Agent, AgentEvent, AgentMessage, ConversationStart};
use omx_kernel::approval::AllowLevel;
use omx_testkit::await_condition;
use omx_testkit::model::{ModelScript, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::super::conversation::{DEADLINE, TestConversation, TestTurnEnd, conversation_spec};
use super::super::play::cue;
use super::super::stage::DriverStage;
use super::super::suite::lives;
use super::stage;

/// A reply that takes a minute.
fn slowly() -> ScriptTurn {
    ScriptTurn::new().say(&"word ".repeat(300)).slowly(Duration::from_millis(200))
}

/// Outside the sandbox only parentage ties a command to codex: even one that left
/// its session and ignores signals is dead when the end of the turn is reported.
#[test]
fn no_command_survives_an_interrupt() {
    offline(&[AgentCli::Codex], || {
        let stubborn = "trap : TERM INT HUP; touch far; while :; do sleep 0.1; done";
        let command = format!(
            "(setsid sh -c '{stubborn}' >/dev/null 2>&1 </dev/null &); until test -e far; do \
             sleep 0.05; done; touch near; sleep 1000"
        );
        let after = ModelScript::named("after").say("still here");
        // Codex does not wait longer than ten seconds for a command.
        let stage = stage([ModelScript::named("slow").shell(&command).turn(slowly()), after]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::All),
        );
        chat.agent.send(AgentMessage::text(cue("slow")));
        // The file is there before the shell has started its last command.
        await_condition("the command runs", DEADLINE, || {
            stage.root().join("near").exists()
                && lives(&stage, "sleep 1000")
                && lives(&stage, "trap : TERM")
        });
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert!(!lives(&stage, "sleep 1000") && !lives(&stage, "trap : TERM"));
        assert_eq!(chat.turn(&cue("after")).text(), "still here");
        assert!(stage.history("after").contains("[[script:slow]]"), "another conversation");
        let started = |event: &&AgentEvent| matches!(event, AgentEvent::Started { .. });
        assert_eq!(chat.seen.iter().filter(started).count(), 1);
        assert_eq!(chat.end(), None);
    });
}

/// A command that codex put into the background earlier is killed as well.
#[test]
fn no_background_process_survives_an_interrupt() {
    offline(&[AgentCli::Codex], || {
        let left = json!({"cmd": "sleep 1001", "yield_time_ms": 250});
        let background = ModelScript::named("background")
            .turn(ScriptTurn::new().call("exec_command", left))
            .say("left");
        let stage = stage([background, ModelScript::named("slow").turn(slowly())]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&cue("background")).text(), "left");
        await_condition("the command runs", DEADLINE, || lives(&stage, "sleep 1001"));
        chat.agent.send(AgentMessage::text(cue("slow")));
        await_condition("words are under way", DEADLINE, || stage.is_streaming("slow"));
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert!(!lives(&stage, "sleep 1001"));
        assert_eq!(chat.end(), None);
    });
}

/// Sent together with the message, before codex has received it.
#[test]
fn an_immediate_interrupt_ends_the_turn_before_it_starts() {
    offline(&[AgentCli::Codex], || {
        let scripts = ["never", "after"].map(|name| ModelScript::named(name).say(name));
        let stage = stage(scripts);
        let spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
        let (agent, events) =
            super::super::conversation::start(&stage, &spec, omx_agents::AgentLimits::default());
        agent.send(AgentMessage::text(cue("never")));
        agent.interrupt();
        agent.send(AgentMessage::text(cue("after")));
        let mut seen = Vec::new();
        while let Ok(event) = events.recv_timeout(DEADLINE) {
            let over = matches!(event, AgentEvent::TurnFinished(_) | AgentEvent::Ended(_));
            seen.push(event);
            if over {
                break;
            }
        }
        assert_eq!(seen[0], AgentEvent::TurnInterrupted, "{seen:#?}");
        let last = seen.last();
        assert!(
            matches!(last, Some(AgentEvent::TurnFinished(a)) if a.text == "after"),
            "{seen:#?}"
        );
        assert_eq!(stage.answers("never"), 0);
    });
}

/// As soon as codex has accepted the message; the next one continues the same
/// conversation.
#[test]
fn an_interrupt_right_after_the_start_keeps_the_conversation() {
    offline(&[AgentCli::Codex], || {
        let stage = stage([
            ModelScript::named("slow").turn(slowly()),
            ModelScript::named("after").say("after"),
        ]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(cue("slow")));
        chat.until("it has begun", |event| *event == AgentEvent::Delivered(Delivery::Turn));
        chat.agent.interrupt();
        chat.agent.interrupt();
        chat.agent.send(AgentMessage::text(cue("after")));
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert_eq!(chat.turn_end().text(), "after");
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn an_interrupt_ends_a_turn_that_waits_for_approval() {
    offline(&[AgentCli::Codex], || {
        let ask = ModelScript::named("ask").shell("touch ran.txt").say("no");
        let stage = stage([ask, ModelScript::named("after").say("after")]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::Edits),
        );
        chat.agent.send(AgentMessage::text(cue("ask")));
        let asks = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalNeeded { .. });
        let AgentEvent::ApprovalNeeded { approval, .. } = chat.until("an approval", asks) else {
            unreachable!()
        };
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        chat.agent.answer(approval, omx_agents::agent::ApprovalDecision::Allow);
        assert_eq!(chat.turn(&cue("after")).text(), "after");
        assert!(!stage.root().join("ran.txt").exists());
        assert_eq!(chat.end(), None);
    });
}
