//! What a turn of claude looks like from both sides.

use omx_agents::event::{ToolAction, UsageDelta};
use omx_agents::failure::FailureCause;
use omx_agents::{Agent, AgentEvent, AgentMessage, Failure};
use omx_testkit::model::{ModelScript, ScriptTurn, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::{ClaudeStage, ClaudeWithKey, stage_of};
use crate::agents::cli_stage::CliStage;
use crate::agents::conversation::TestConversation;
use crate::agents::play::{AgentPlay, PlayFailure, PlayStep, cue};
use crate::agents::stage::DriverStage;

/// Only the turns make requests: no title, no summary, no duplicate.
#[test]
fn each_step_makes_one_model_request() {
    offline(&[AgentCli::Claude], || {
        let first = AgentPlay::new("first", [PlayStep::Shell("true"), PlayStep::Say("one")]);
        let second = AgentPlay::new("second", [PlayStep::Say("two")]);
        let stage = ClaudeStage::with(vec![first, second]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(stage.server.turns("first").len(), 0);
        assert_eq!(chat.turn(&cue("first")).text(), "one");
        assert_eq!(chat.turn(&cue("second")).text(), "two");
        assert_eq!(chat.end(), None);
        assert_eq!(stage.server.seen(), ["HEAD /", "first/0", "first/1", "second/0"]);
    });
}

#[test]
fn a_subagents_text_is_not_the_agents_text() {
    offline(&[AgentCli::Claude], || {
        let below = ModelScript::named("below")
            .turn(ScriptTurn::new().say("thinking below").write("below.txt", "x\n"))
            .say("hello from below");
        let task = json!({"description": "sub", "prompt": "do it [[script:below]]",
            "subagent_type": "general-purpose"});
        let above = ModelScript::named("above")
            .turn(ScriptTurn::new().say("I delegate").call("Agent", task))
            .say("all done");
        let stage: ClaudeStage = stage_of([below, above]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&cue("above")).text(), "all done");
        let message = chat.seen.iter().filter_map(|event| match event {
            AgentEvent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(message.collect::<Vec<_>>(), ["I delegate", "all done"]);
        // Its work still counts.
        let tools = chat.seen.iter().filter_map(|event| match event {
            AgentEvent::ToolStarted { tool, .. } => Some(tool),
            _ => None,
        });
        let tools: Vec<_> = tools.collect();
        assert_eq!(tools[0], &ToolAction::Other("Agent".to_owned()));
        assert!(matches!(tools[1], ToolAction::Edit(_)), "{tools:?}");
        let changed = |event: &AgentEvent| matches!(event, AgentEvent::FileChanged(_));
        assert_eq!(chat.seen.iter().filter(|event| changed(event)).count(), 1);
        assert_eq!(total_usage(&chat).input_tokens, 4000);
        assert_eq!(chat.end(), None);
    });
}

/// The sum of the reported usage.
fn total_usage(chat: &TestConversation) -> UsageDelta {
    let mut sum = UsageDelta { micro_usd: Some(0), ..UsageDelta::default() };
    for event in &chat.seen {
        if let AgentEvent::Usage(usage) = event {
            sum.input_tokens += usage.input_tokens;
            sum.output_tokens += usage.output_tokens;
            sum.micro_usd = Some(sum.micro_usd.unwrap() + usage.micro_usd.unwrap_or(0));
        }
    }
    sum
}

/// Also across processes, each of which starts counting at zero.
#[test]
fn reported_usage_adds_up() {
    offline(&[AgentCli::Claude], || {
        let first = ModelScript::named("first")
            .turn(ScriptTurn::new().shell("true").usage(1000, 10))
            .turn(ScriptTurn::new().say("one").usage(2000, 20));
        let second = ModelScript::named("second").turn(ScriptTurn::new().say("two").usage(400, 4));
        let third = ModelScript::named("third")
            .turn(ScriptTurn::new().answer(json!({"n": 1})).usage(50, 5));
        let stage: ClaudeStage = stage_of([first, second, third]);
        let mut chat = TestConversation::new(&stage);
        chat.turn(&cue("first")).text();
        let once = total_usage(&chat);
        assert_eq!((once.input_tokens, once.output_tokens), (3000, 30));
        chat.turn(&cue("second")).text();
        let twice = total_usage(&chat);
        assert_eq!((twice.input_tokens, twice.output_tokens), (3400, 34));
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let message = AgentMessage { schema: Some(schema), ..AgentMessage::text(cue("third")) };
        chat.agent.send(message);
        chat.turn_end().text();
        let all = total_usage(&chat);
        assert_eq!((all.input_tokens, all.output_tokens), (3450, 39));
        // Every token has the same price within a model and kind.
        let price = |usage: UsageDelta| usage.micro_usd.unwrap();
        assert!(price(once) > 0 && price(twice) > price(once) && price(all) > price(twice));
        assert_eq!(chat.end(), None);
    });
}

/// With a key claude does not say when a limit ends.
#[test]
fn a_limit_of_an_api_key_is_reported() {
    offline(&[AgentCli::Claude], || {
        let fail =
            ModelScript::named("fail").fail(ScriptedFailure::status(429).resets_at(1_900_000_000));
        let stage: CliStage<ClaudeWithKey> =
            stage_of([fail, ModelScript::named("after").say("better now")]);
        let mut chat = TestConversation::new(&stage);
        let Failure { cause, .. } = chat.turn(&cue("fail")).failure();
        assert!(matches!(cause, FailureCause::RateLimited { .. }), "{cause:?}");
        assert_eq!(chat.turn(&cue("after")).text(), "better now");
        assert_eq!(chat.end(), None);
    });
}

/// The person's own retry limit holds; each retry is reported with its cause.
#[test]
fn retries_are_reported() {
    offline(&[AgentCli::Claude], || {
        let stage = CliStage::<ClaudeWithKey>::with(vec![AgentPlay::new(
            "fail",
            [PlayStep::Fail(PlayFailure::Service)],
        )]);
        let mut chat = TestConversation::new(&stage);
        let failure = chat.turn(&cue("fail")).failure();
        assert!(
            matches!(failure.cause, FailureCause::Service { status: Some(500), .. }),
            "{failure}"
        );
        let retries = chat.seen.iter().filter_map(|event| match event {
            AgentEvent::Retrying(failure) => Some(failure.cause.clone()),
            _ => None,
        });
        let retry = FailureCause::Service { status: Some(500), detail: String::new() };
        assert_eq!(retries.collect::<Vec<_>>(), [retry.clone(), retry]);
        // Claude's own error text is not text of the agent.
        assert!(!chat.seen.iter().any(|event| matches!(event, AgentEvent::Text(_))));
        assert_eq!(stage.answers("fail"), 3);
        assert_eq!(chat.end(), None);
    });
}
