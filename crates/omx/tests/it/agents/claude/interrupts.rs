//! Interrupted turns leave no process behind, not even one that tried to hide.

use std::time::{Duration, Instant};

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::ApprovalRequest;
use omx_agents::{Agent, AgentEvent, AgentMessage, ConversationStart};
use omx_kernel::approval::AllowLevel;
use omx_testkit::await_condition;
use omx_testkit::real_cli::{AgentCli, offline};

use super::ClaudeStage;
use crate::agents::conversation::{DEADLINE, TestConversation, TestTurnEnd, conversation_spec};
use crate::agents::play::{AgentPlay, PlayFailure, PlayStep, cue};
use crate::agents::stage::DriverStage;
use crate::agents::suite::lives;

/// Claude ends the command's own group and session; this one left both.
#[test]
fn a_command_outside_its_session_is_dead_when_the_turn_ends() {
    offline(&[AgentCli::Claude], || {
        let away = "(setsid sh -c 'touch far; while :; do sleep 0.1; done' \
                    >/dev/null 2>&1 </dev/null &); sleep 1000";
        let slow = AgentPlay::new("slow", [PlayStep::Shell(away), PlayStep::Say("no")]);
        let after = AgentPlay::new("after", [PlayStep::Say("still here")]);
        let stage = ClaudeStage::with(vec![slow.clone(), after]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(slow.cue("the word is plum")));
        await_condition("the command has left", DEADLINE, || {
            chat.answer_what_waits();
            stage.root().join("far").exists()
        });
        assert!(lives(&stage, "touch far"));
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert!(!lives(&stage, "touch far"), "it outlived the interrupt");
        assert_eq!(chat.turn(&cue("after")).text(), "still here");
        assert!(stage.history("after").contains("the word is plum"));
        let started = chat.seen.iter().filter(|event| matches!(event, AgentEvent::Started { .. }));
        assert_eq!(started.count(), 1);
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn an_interrupt_before_the_turn_starts_takes_effect() {
    offline(&[AgentCli::Claude], || {
        let slow = AgentPlay::new("slow", [PlayStep::SaySlowly]);
        let after = AgentPlay::new("after", [PlayStep::Say("still here")]);
        let stage = ClaudeStage::with(vec![slow, after]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(cue("slow")));
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert_eq!(chat.turn(&cue("after")).text(), "still here");
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn an_interrupt_during_a_retry_ends_the_turn() {
    offline(&[AgentCli::Claude], || {
        let stage =
            ClaudeStage::with(vec![AgentPlay::new("fail", [PlayStep::Fail(PlayFailure::Service)])]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(cue("fail")));
        let retrying =
            chat.until("it tries again", |event| matches!(event, AgentEvent::Retrying(_)));
        let AgentEvent::Retrying(failure) = retrying else { unreachable!() };
        assert_eq!(failure.kind(), "service");
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert_eq!(chat.end(), None);
    });
}

/// An approval ends with its turn; a later answer has no effect.
#[test]
fn an_approval_ends_with_its_turn() {
    offline(&[AgentCli::Claude], || {
        let ask = AgentPlay::new("ask", [PlayStep::Shell("touch ran.txt"), PlayStep::Say("no")]);
        let after = AgentPlay::new("after", [PlayStep::Say("still here")]);
        let stage = ClaudeStage::with(vec![ask, after]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::Edits),
        );
        chat.agent.send(AgentMessage::text(cue("ask")));
        let needed = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalNeeded { .. });
        let AgentEvent::ApprovalNeeded { approval, ask } = chat.until("an approval", needed) else {
            unreachable!()
        };
        assert!(matches!(ask, ApprovalRequest::Command { .. }), "{ask:?}");
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        chat.agent.answer(approval, ApprovalDecision::Allow);
        assert_eq!(chat.turn(&cue("after")).text(), "still here");
        assert!(!stage.root().join("ran.txt").exists());
        assert_eq!(chat.end(), None);
    });
}

/// On its own claude retries for three minutes.
#[test]
fn a_turn_without_a_vendor_ends_within_seconds() {
    offline(&[AgentCli::Claude], || {
        let stage = ClaudeStage::without_vendor();
        let mut chat = TestConversation::new(&stage);
        let start = Instant::now();
        assert_eq!(chat.turn("anybody there?").failure().kind(), "network");
        assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
        let retries = chat.seen.iter().filter(|event| matches!(event, AgentEvent::Retrying(_)));
        assert_eq!(retries.count(), 4, "{:#?}", chat.seen);
        assert_eq!(chat.end(), None);
    });
}
