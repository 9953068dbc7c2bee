//! Messages to a busy claude: delivered with the next step, or as the next turn.

use std::fs;
use std::time::Duration;

use omx_agents::event::Delivery;
use omx_agents::{Agent, AgentEvent, AgentMessage};
use omx_testkit::await_condition;
use omx_testkit::model::{ModelScript, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, offline};

use super::{ClaudeStage, stage_of};
use crate::agents::conversation::{DEADLINE, TestConversation, TestTurnEnd};
use crate::agents::play::{AgentPlay, PlayStep, cue};
use crate::agents::stage::DriverStage;

/// The deliveries and ends of turns, in order.
fn course(chat: &TestConversation) -> Vec<String> {
    let reported = chat.seen.iter().filter_map(|event| match event {
        AgentEvent::Delivered(delivery) => Some(format!("{delivery:?}")),
        AgentEvent::TurnFinished(answer) => Some(format!("finished: {}", answer.text)),
        AgentEvent::TurnInterrupted => Some("interrupted".to_owned()),
        AgentEvent::TurnFailed(failure) => Some(format!("failed: {failure}")),
        _ => None,
    });
    reported.collect()
}

const WAIT: &str = "until test -e go; do sleep 0.1; done";

#[test]
fn a_message_reaches_the_turn_after_its_tool() {
    offline(&[AgentCli::Claude], || {
        let busy = AgentPlay::new("busy", [PlayStep::Shell(WAIT), PlayStep::Say("not this")]);
        let after = AgentPlay::new("after", [PlayStep::Say("heard you")]);
        let stage = ClaudeStage::with(vec![busy, after.clone()]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(cue("busy")));
        chat.until("the tool runs", |event| matches!(event, AgentEvent::ToolStarted { .. }));
        chat.agent.steer(&after.cue("the fruit is a fig"));
        chat.until("claude has them", |event| *event == AgentEvent::Delivered(Delivery::Queued));
        fs::write(stage.root().join("go"), "").unwrap();
        chat.turn_end();
        assert_eq!(course(&chat), ["Turn", "Queued", "Steered", "finished: heard you"]);
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn a_message_to_a_turn_without_another_step_starts_the_next_turn() {
    offline(&[AgentCli::Claude], || {
        let words = ScriptTurn::new().say(&"word ".repeat(10)).slowly(Duration::from_millis(200));
        let after = ModelScript::named("after").say("heard you");
        let last = ModelScript::named("last").say("the last");
        let stage: ClaudeStage = stage_of([ModelScript::named("slow").turn(words), after, last]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(cue("slow")));
        await_condition("words are under way", DEADLINE, || stage.is_streaming("slow"));
        chat.agent.steer(&cue("after"));
        // Not before the earlier message.
        chat.agent.send(AgentMessage::text(cue("last")));
        chat.turn_end();
        chat.turn_end();
        chat.turn_end();
        let reported = course(&chat);
        let rest: Vec<_> = reported.iter().filter(|line| *line != "Queued").collect();
        let (begun, mid) = ("Turn", "finished: heard you");
        assert_eq!(rest[0], begun, "{reported:?}");
        assert_eq!(rest[2..], [begun, mid, begun, "finished: the last"], "{reported:?}");
        assert_eq!(reported.iter().filter(|line| *line == "Queued").count(), 2, "{reported:?}");
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn an_undelivered_message_survives_an_interrupt() {
    offline(&[AgentCli::Claude], || {
        for busy in
            [vec![PlayStep::SaySlowly], vec![PlayStep::Shell("sleep 1000"), PlayStep::Say("no")]]
        {
            let in_tool = busy.len() == 2;
            let after = AgentPlay::new("after", [PlayStep::Say("heard you")]);
            let stage = ClaudeStage::with(vec![AgentPlay::new("busy", busy), after.clone()]);
            let mut chat = TestConversation::new(&stage);
            chat.agent.send(AgentMessage::text(cue("busy")));
            if in_tool {
                chat.until("the tool runs", |event| {
                    matches!(event, AgentEvent::ToolStarted { .. })
                });
            } else {
                await_condition("it speaks", DEADLINE, || stage.is_streaming("busy"));
            }
            chat.agent.steer(&after.cue("the fruit is a fig"));
            chat.until("claude has them", |event| {
                *event == AgentEvent::Delivered(Delivery::Queued)
            });
            chat.agent.interrupt();
            assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
            assert_eq!(chat.turn_end().text(), "heard you");
            let expected = ["Turn", "Queued", "interrupted", "Turn", "finished: heard you"];
            assert_eq!(course(&chat), expected);
            assert_eq!(stage.history("after").matches("the fruit is a fig").count(), 1);
            assert_eq!(chat.end(), None);
        }
    });
}

/// Claude would take a slash for one of its own commands and call no model.
#[test]
fn a_message_that_starts_with_a_slash_reaches_the_model() {
    offline(&[AgentCli::Claude], || {
        let play = AgentPlay::new("slash", [PlayStep::Say("looked at it")]);
        let stage = ClaudeStage::with(vec![play.clone()]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&play.cue("/clear is broken")).text(), "looked at it");
        assert!(stage.history("slash").contains("/clear is broken"));
        assert_eq!(chat.end(), None);
    });
}
