//! The built-in agent: the suite of all drivers, and what entries mean.

use std::fs;
use std::sync::Mutex;

use omx_agents::agent::MessageLabels;
use omx_agents::event::{Delivery, TurnAnswer};
use omx_agents::failure::FailureCause;
use omx_agents::{Agent, AgentEvent, AgentKind, AgentLimits, AgentMessage, ConversationStart};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::check_coverage;
use omx_rehearsal::driver;
use omx_testkit::in_parallel;
use serde_json::json;

use super::conversation::{DEADLINE, TestConversation, TestTurnEnd, conversation_spec, start};
use super::rehearsal_stage::RehearsalStage;
use super::stage::DriverStage;
use super::suite::driver_suite;

driver_suite!(RehearsalStage);

pub fn playing(text: &str) -> RehearsalStage {
    RehearsalStage::playing("scenario.toml", text)
}

fn called(
    chat: &mut TestConversation,
    role: Option<&str>,
    phase: Option<&str>,
    words: &str,
) -> TestTurnEnd {
    let labels = MessageLabels {
        role: role.map(str::to_owned),
        phase: phase.map(str::to_owned),
        step: None,
    };
    chat.agent.send(AgentMessage { labels, ..AgentMessage::text(words) });
    chat.turn_end()
}

#[test]
fn the_first_entry_matching_role_phase_and_text_is_played() {
    let stage = playing(
        r#"
        [[entry]]
        role = "critic"
        phase = "critic-review"
        match = "plan"
        do = [{ say = "all three" }]
        [[entry]]
        role = "critic"
        do = [{ say = "role" }]
        [[entry]]
        phase = "verifying"
        do = [{ say = "phase" }]
        [[entry]]
        do = [{ say = "any" }]
        "#,
    );
    let mut chat = TestConversation::new(&stage);
    assert_eq!(chat.turn("the plan").text(), "any");
    let mut message = |role, phase, words: &str| called(&mut chat, role, phase, words).text();
    assert_eq!(message(Some("critic"), Some("critic-review"), "the plan, please"), "all three");
    assert_eq!(message(Some("critic"), Some("critic-review"), "please"), "role");
    assert_eq!(message(Some("critic"), Some("draft"), "the plan"), "role");
    assert_eq!(message(Some("verifier"), Some("verifying"), "the plan"), "phase");
    // They hold until others are given.
    assert_eq!(message(None, None, "the plan"), "phase");
    assert_eq!(message(None, Some("fixing"), "the plan"), "any");
    assert_eq!(message(Some("critic"), None, "the plan"), "role");
    assert_eq!(chat.end(), None);
}

#[test]
fn a_call_that_matches_nothing_fails_and_keeps_the_conversation() {
    let stage = playing("[[entry]]\nmatch = \"known\"\ndo = [{ say = \"yes\" }]");
    let mut chat = TestConversation::new(&stage);
    let failure = called(&mut chat, Some("critic"), Some("draft"), &"x".repeat(999)).failure();
    let file = stage.scenario().display().to_string();
    let report = "x".repeat(200);
    let message = format!(
        "{file}: no entry matches this call: role \"critic\", phase \"draft\", prompt \"{report}…\""
    );
    assert_eq!((failure.kind(), failure.to_string()), ("scenario", message));
    assert_eq!(chat.turn("known").text(), "yes");
    assert_eq!(chat.end(), None);
}

/// Several agents play one scenario at once, as review lanes do.
#[test]
fn uses_are_counted_across_all_agents() {
    let stage = playing(
        r#"
        [[entry]]
        times = 5
        do = [{ run = { command = "echo one >> plays" } }, { say = "counted" }]
        [[entry]]
        do = [{ say = "too late" }]
        "#,
    );
    let answers = Mutex::new(Vec::new());
    in_parallel(8, &[(); 8], |()| {
        let mut chat = TestConversation::new(&stage);
        answers.lock().unwrap().push(chat.turn("now").text());
        assert_eq!(chat.end(), None);
    });
    let answers = answers.into_inner().unwrap();
    assert_eq!(answers.iter().filter(|text| *text == "counted").count(), 5, "{answers:?}");
    assert_eq!(answers.iter().filter(|text| *text == "too late").count(), 3, "{answers:?}");
    assert_eq!(fs::read_to_string(stage.root().join("plays")).unwrap(), "one\n".repeat(5));
    assert_eq!(check_coverage(&stage.scenario(), &stage.kept()), Ok(()));
}

#[test]
fn unplayed_required_entries_are_reported_with_file_and_line() {
    let text = r#"
[[entry]]
match = "free"
do = [{ say = "free" }]

[[entry]]
match = "must"
required = true
do = [{ say = "must" }]

[[entry]]
match = "twice"
times = 2
do = [{ delay_ms = 0 }, { say = "twice" }, { run = { command = "until test -e go; do sleep 0.1; done" } }]

[[entry]]
match = "may"
times = 2
required = false
do = [{ say = "may" }]
"#;
    let stage = playing(text);
    let file = stage.scenario().display().to_string();
    let missing = || {
        let faults = check_coverage(&stage.scenario(), &stage.kept()).err().unwrap_or_default();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let must = format!("{file}:6: this entry must be played once; it was played 0 times");
    let twice = format!("{file}:11: this entry must be played 2 times; it was played");
    assert_eq!(missing(), [must, format!("{twice} 0 times")]);
    let mut chat = TestConversation::new(&stage);
    assert_eq!(chat.turn("must").text(), "must");
    chat.agent.send(AgentMessage::text("twice"));
    chat.until("it works", |event| matches!(event, AgentEvent::ToolStarted { .. }));
    chat.agent.interrupt();
    assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
    assert_eq!(missing(), [format!("{twice} 0 times, and started once more but not finished")]);
    fs::write(stage.root().join("go"), "").unwrap();
    assert_eq!(chat.turn("twice").text(), "");
    assert_eq!(missing(), [format!("{twice} once")]);
    assert_eq!(chat.turn("twice").text(), "twice");
    assert_eq!(missing(), [""; 0]);
    assert_eq!(chat.turn("twice").failure().kind(), "scenario");
    assert_eq!(chat.end(), None);
    // An edited scenario is a new one.
    fs::write(stage.scenario(), format!("{text}# changed")).unwrap();
    assert_eq!(missing().len(), 2);
}

#[test]
fn answers_and_results_are_returned_as_written() {
    let stage = playing(
        r#"
        [[entry]]
        match = "answer"
        do = [{ answer = "first" }, { say = "afterthought" }]
        [[entry]]
        match = "result"
        do = [{ result = { done = true } }]
        [[entry]]
        match = "both"
        do = [{ say = "well" }, { result = { done = false } }]
        [[entry]]
        match = "neither"
        do = [{ usage = { input = 1, output = 2, cached = 1, micro_usd = 9 } }]
        "#,
    );
    let mut chat = TestConversation::new(&stage);
    let mut turn = |words: &str| match chat.turn(words) {
        TestTurnEnd::Finished(TurnAnswer { text, structured }) => (text, structured),
        other => panic!("{other:?}"),
    };
    assert_eq!(turn("answer"), ("first".to_owned(), None));
    assert_eq!(turn("result"), ("{\"done\":true}".to_owned(), Some(json!({"done": true}))));
    assert_eq!(turn("both"), ("well".to_owned(), Some(json!({"done": false}))));
    assert_eq!(turn("neither"), (String::new(), None));
    let usage = chat.seen.iter().find_map(|event| match event {
        AgentEvent::Usage(usage) => Some(*usage),
        _ => None,
    });
    let usage = usage.unwrap();
    assert_eq!((usage.cached_tokens, usage.micro_usd), (1, Some(9)));
    assert_eq!(chat.end(), None);
}

#[test]
fn messages_to_a_busy_agent_are_remembered_and_need_no_entry() {
    let stage = playing(
        r#"
        [[entry]]
        match = "busy"
        times = 1
        do = [{ run = { command = "until test -e go; do sleep 0.1; done" } }, { say = "over" }]
        [[entry]]
        do = [{ say = "any" }]
        "#,
    );
    let mut chat = TestConversation::new(&stage);
    chat.agent.send(AgentMessage::text("busy"));
    chat.until("it works", |event| matches!(event, AgentEvent::ToolStarted { .. }));
    chat.agent.steer("mind the gap");
    chat.until("taken", |event| *event == AgentEvent::Delivered(Delivery::Steered));
    fs::write(stage.root().join("go"), "").unwrap();
    assert_eq!(chat.turn_end().text(), "over");
    let kept = fs::read_to_string(stage.kept().join(format!("{}.json", chat.id))).unwrap();
    assert!(kept.contains("mind the gap"), "{kept}");
    // Without a turn they start one.
    chat.agent.steer("anybody?");
    assert_eq!(chat.turn_end().text(), "any");
    assert_eq!(chat.end(), None);
}

/// Everything but the conversation ids is the same each time; with a seed, they are too.
#[test]
fn the_same_calls_give_the_same_events() {
    let text = |seed: &str| {
        format!(
            "{seed}\n[[entry]]\ntimes = 1\ndo = [{{ write = {{ path = \"a/b\", content = \"c\" }} }}, \
             {{ run = {{ command = \"cat a/b; exit 4\" }} }}, {{ mcp = {{ tool = \"state_list_active\" }} }}, \
             {{ say = \"{{{{output}}}}\" }}]\n[[entry]]\ndo = [{{ fail = {{ kind = \"cut\" }} }}]"
        )
    };
    let run = |text: &str| {
        let stage = playing(text);
        let mut chat = TestConversation::new(&stage);
        chat.turn("one");
        chat.turn("two");
        chat.agent.end();
        chat.over();
        let second = TestConversation::new(&stage);
        (chat.seen, second.id)
    };
    let (seeded, again) = (run(&text("seed = 5")), run(&text("seed = 5")));
    assert_eq!(seeded, again);
    let unseeded = run(&text(""));
    assert_eq!(seeded.0[1..], unseeded.0[1..]);
    assert_ne!(seeded.0[0], unseeded.0[0], "an id that should be random");
    assert_ne!(run(&text("seed = 6")).0[0], seeded.0[0]);
    let AgentEvent::Started { conversation, .. } = &seeded.0[0] else { panic!("{seeded:?}") };
    assert_ne!(conversation, &seeded.1, "two conversations of one id");
}

#[test]
fn an_invalid_scenario_is_reported_before_and_after_the_start() {
    let stage = playing("[[entry]]\ndo = [{ say = \"fine\" }]");
    let right = stage.agent_env();
    let rehearsal = driver(AgentKind::Rehearsal);
    let message = |agent_env| rehearsal.find(&agent_env).unwrap_err().to_string();
    let without = omx_agents::AgentEnv { scenario: None, ..right.clone() };
    assert_eq!(message(without), "the rehearsal agent needs a scenario to play");
    let relative = omx_agents::AgentEnv { scenario: Some("s.toml".into()), ..right.clone() };
    assert_eq!(message(relative), "s.toml must be an absolute path");

    let spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
    let installation = rehearsal.find(&right).unwrap();
    // The agent itself reads it again.
    fs::write(stage.scenario(), "[[entry]]\n").unwrap();
    let wrong = format!("{}:1: missing key \"do\"", stage.scenario().display());
    assert_eq!(message(right.clone()), wrong);
    let (sender, events) = std::sync::mpsc::channel();
    let on_event = move |event| drop(sender.send(event));
    let limits = AgentLimits::default();
    let agent =
        omx_agents::conversation::open(rehearsal, &installation, &spec, &right, limits, on_event);
    let _agent = agent.unwrap();
    match events.recv_timeout(DEADLINE).unwrap() {
        AgentEvent::Ended(Some(failure)) => {
            assert_eq!(failure.cause, FailureCause::Scenario { detail: wrong });
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn state_that_cannot_be_saved_is_reported() {
    let stage = playing("[[entry]]\ndo = [{ say = \"fine\" }]");
    fs::create_dir_all(stage.kept().parent().unwrap()).unwrap();
    fs::write(stage.kept(), "a file where a folder should be").unwrap();
    let spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
    let (_agent, events) = start::<RehearsalStage>(&stage, &spec, AgentLimits::default());
    let AgentEvent::Ended(Some(failure)) = events.recv_timeout(DEADLINE).unwrap() else { panic!() };
    assert_eq!(failure.kind(), "scenario");
    assert!(failure.to_string().contains("File exists"), "{failure}");
}
