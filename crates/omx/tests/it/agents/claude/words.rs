//! Words for a working claude: with the next step, or as the next turn.

use std::fs;
use std::time::Duration;

use omx_agents::event::Delivery;
use omx_agents::{Agent, AgentEvent, AgentMessage};
use omx_testkit::await_condition;
use omx_testkit::model::{Script, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, offline};

use super::{Place, stage_of};
use crate::agents::play::{Play, Step, cue};
use crate::agents::stage::Stage;
use crate::agents::talk::{DEADLINE, Talk, Turned};

/// What was told of deliveries and ends of turns, in order.
fn course(talk: &Talk) -> Vec<String> {
    let told = talk.seen.iter().filter_map(|event| match event {
        AgentEvent::Delivered(delivery) => Some(format!("{delivery:?}")),
        AgentEvent::TurnFinished(answer) => Some(format!("finished: {}", answer.text)),
        AgentEvent::TurnInterrupted => Some("interrupted".to_owned()),
        AgentEvent::TurnFailed(trouble) => Some(format!("failed: {trouble}")),
        _ => None,
    });
    told.collect()
}

const WAIT: &str = "until test -e go; do sleep 0.1; done";

#[test]
fn words_reach_the_turn_after_its_tool() {
    offline(&[AgentCli::Claude], || {
        let busy = Play::new("busy", [Step::Shell(WAIT), Step::Say("not this")]);
        let after = Play::new("after", [Step::Say("heard you")]);
        let stage = Place::with(vec![busy, after.clone()]);
        let mut talk = Talk::new(&stage);
        talk.agent.send(AgentMessage::text(cue("busy")));
        talk.until("the tool runs", |event| matches!(event, AgentEvent::ToolStarted { .. }));
        talk.agent.steer(&after.cue("the fruit is a fig"));
        talk.until("claude has them", |event| *event == AgentEvent::Delivered(Delivery::Queued));
        fs::write(stage.root().join("go"), "").unwrap();
        talk.turn_end();
        assert_eq!(course(&talk), ["Turn", "Queued", "Steered", "finished: heard you"]);
        assert_eq!(talk.end(), None);
    });
}

#[test]
fn words_for_a_turn_without_another_step_are_the_next_turn() {
    offline(&[AgentCli::Claude], || {
        let words = ScriptTurn::new().say(&"word ".repeat(10)).slowly(Duration::from_millis(200));
        let after = Script::named("after").say("heard you");
        let last = Script::named("last").say("the last");
        let stage: Place = stage_of([Script::named("slow").turn(words), after, last]);
        let mut talk = Talk::new(&stage);
        talk.agent.send(AgentMessage::text(cue("slow")));
        await_condition("words are under way", DEADLINE, || stage.is_streaming("slow"));
        talk.agent.steer(&cue("after"));
        // Not before the words that were said earlier.
        talk.agent.send(AgentMessage::text(cue("last")));
        talk.turn_end();
        talk.turn_end();
        talk.turn_end();
        let told = course(&talk);
        let rest: Vec<_> = told.iter().filter(|line| *line != "Queued").collect();
        let (begun, mid) = ("Turn", "finished: heard you");
        assert_eq!(rest[0], begun, "{told:?}");
        assert_eq!(rest[2..], [begun, mid, begun, "finished: the last"], "{told:?}");
        assert_eq!(told.iter().filter(|line| *line == "Queued").count(), 2, "{told:?}");
        assert_eq!(talk.end(), None);
    });
}

#[test]
fn words_that_were_not_heard_outlive_an_interrupt() {
    offline(&[AgentCli::Claude], || {
        for busy in [vec![Step::SaySlowly], vec![Step::Shell("sleep 1000"), Step::Say("no")]] {
            let in_tool = busy.len() == 2;
            let after = Play::new("after", [Step::Say("heard you")]);
            let stage = Place::with(vec![Play::new("busy", busy), after.clone()]);
            let mut talk = Talk::new(&stage);
            talk.agent.send(AgentMessage::text(cue("busy")));
            if in_tool {
                talk.until("the tool runs", |event| {
                    matches!(event, AgentEvent::ToolStarted { .. })
                });
            } else {
                await_condition("it speaks", DEADLINE, || stage.is_streaming("busy"));
            }
            talk.agent.steer(&after.cue("the fruit is a fig"));
            talk.until("claude has them", |event| {
                *event == AgentEvent::Delivered(Delivery::Queued)
            });
            talk.agent.interrupt();
            assert_eq!(talk.turn_end(), Turned::Interrupted);
            assert_eq!(talk.turn_end().text(), "heard you");
            let expected = ["Turn", "Queued", "interrupted", "Turn", "finished: heard you"];
            assert_eq!(course(&talk), expected);
            assert_eq!(stage.history("after").matches("the fruit is a fig").count(), 1);
            assert_eq!(talk.end(), None);
        }
    });
}

/// Claude would take a slash for a command of its own and ask no model.
#[test]
fn a_message_that_begins_with_a_slash_reaches_the_model() {
    offline(&[AgentCli::Claude], || {
        let play = Play::new("slash", [Step::Say("looked at it")]);
        let stage = Place::with(vec![play.clone()]);
        let mut talk = Talk::new(&stage);
        assert_eq!(talk.turn(&play.cue("/clear is broken")).text(), "looked at it");
        assert!(stage.history("slash").contains("/clear is broken"));
        assert_eq!(talk.end(), None);
    });
}
