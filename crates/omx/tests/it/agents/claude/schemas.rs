//! A schema lasts as long as a process: another schema means another process
//! in the same conversation.

use std::collections::BTreeSet;

use omx_agents::{Agent, AgentEvent, AgentMessage};
use omx_testkit::await_condition;
use omx_testkit::model::ModelScript;
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::{Value, json};

use super::ClaudeStage;
use crate::agents::conversation::{DEADLINE, TestConversation, TestTurnEnd};
use crate::agents::play::{AgentPlay, PlayStep, cue};
use crate::agents::stage::DriverStage;

fn schema(field: &str, kind: &str) -> Value {
    let properties = json!({field: {"type": kind}});
    let schema = "https://json-schema.org/draft/2020-12/schema";
    json!({"$schema": schema, "type": "object", "properties": properties,
        "required": [field], "additionalProperties": false})
}

fn asking(play: &str, schema: Value) -> AgentMessage {
    AgentMessage { schema: Some(schema), ..AgentMessage::text(cue(play)) }
}

#[track_caller]
fn structured(turned: TestTurnEnd) -> Option<Value> {
    match turned {
        TestTurnEnd::Finished(answer) => answer.structured,
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_schema_is_another_process_in_the_same_conversation() {
    offline(&[AgentCli::Claude], || {
        let plain = AgentPlay::new("plain", [PlayStep::Say("remembered")]);
        let count = AgentPlay::new("count", [PlayStep::Answer(json!({"count": 3}))]);
        let again = AgentPlay::new("again", [PlayStep::Answer(json!({"count": 4}))]);
        let name = AgentPlay::new("name", [PlayStep::Answer(json!({"name": "plum"}))]);
        let after = AgentPlay::new("after", [PlayStep::Say("free words")]);
        let stage = ClaudeStage::with(vec![plain.clone(), count, again, name, after]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&plain.cue("the word is plum")).text(), "remembered");
        chat.agent.send(asking("count", schema("count", "integer")));
        assert_eq!(structured(chat.turn_end()), Some(json!({"count": 3})));
        chat.agent.send(asking("again", schema("count", "integer")));
        assert_eq!(structured(chat.turn_end()), Some(json!({"count": 4})));
        chat.agent.send(asking("name", schema("name", "string")));
        assert_eq!(structured(chat.turn_end()), Some(json!({"name": "plum"})));
        let last = chat.turn(&cue("after"));
        assert_eq!((structured(last), chat.end()), (None, None));

        let requested = |play: &str| stage.server.turns(play).remove(0);
        let required =
            |play: &str| requested(play).schema().map(|schema| schema["required"].clone());
        assert_eq!(required("plain"), None);
        assert_eq!(required("count"), Some(json!(["count"])));
        assert_eq!(required("name"), Some(json!(["name"])));
        assert_eq!(required("after"), None);
        let history = requested("after").body.to_string();
        for message in ["the word is plum", "remembered", "plum", "[[script:again]]"] {
            assert!(history.contains(message), "{message}: {history}");
        }
        // Each process initializes its server once: the second schema served two turns.
        let greetings = stage.server.seen().iter().filter(|line| *line == "HEAD /").count();
        assert_eq!(greetings, 4, "{:?}", stage.server.seen());
        let turns = ["plain", "count", "again", "name", "after"].map(requested);
        let ids: BTreeSet<_> =
            turns.iter().map(|turn| turn.header("x-claude-code-session-id").unwrap()).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
    });
}

/// Claude keeps nothing of a conversation without a turn: it cannot be resumed.
#[test]
fn the_first_message_may_have_a_schema() {
    offline(&[AgentCli::Claude], || {
        let stage = ClaudeStage::with(vec![AgentPlay::new(
            "first",
            [PlayStep::Answer(json!({"count": 1}))],
        )]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(asking("first", schema("count", "integer")));
        assert_eq!(structured(chat.turn_end()), Some(json!({"count": 1})));
        let started = chat.seen.iter().filter(|event| matches!(event, AgentEvent::Started { .. }));
        assert_eq!(started.count(), 1, "{:#?}", chat.seen);
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn a_schema_can_follow_a_first_turn_that_was_interrupted() {
    offline(&[AgentCli::Claude], || {
        let slow = AgentPlay::new("slow", [PlayStep::SaySlowly]);
        let count = AgentPlay::new("count", [PlayStep::Answer(json!({"count": 1}))]);
        let stage = ClaudeStage::with(vec![slow.clone(), count]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(slow.cue("the word is plum")));
        await_condition("words are under way", DEADLINE, || stage.is_streaming("slow"));
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        chat.agent.send(asking("count", schema("count", "integer")));
        assert_eq!(structured(chat.turn_end()), Some(json!({"count": 1})));
        assert!(stage.history("count").contains("the word is plum"));
        assert_eq!(chat.end(), None);
    });
}

/// conductor.md 4.1: an answer that does not match is not structured, but the
/// conversation does not fail either.
#[test]
fn an_answer_that_never_matches_the_schema_has_no_structure() {
    offline(&[AgentCli::Claude], || {
        let wrong = ModelScript::named("wrong").answer(json!({"count": "three"})).repeating();
        let stage = ClaudeStage::with(vec![AgentPlay::new("chatter", [PlayStep::Chatter])]);
        stage.server.add(wrong);
        let mut chat = TestConversation::new(&stage);
        for play in ["wrong", "chatter"] {
            chat.agent.send(asking(play, schema("count", "integer")));
            assert_eq!(structured(chat.turn_end()), None, "{play}");
            assert!(stage.answers(play) >= 2, "claude asks again: {:?}", stage.server.seen());
        }
        assert_eq!(chat.end(), None);
    });
}
