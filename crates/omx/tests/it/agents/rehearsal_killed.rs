//! The rehearsal agent crashes, hangs and is killed; its conversations can be resumed.

use std::fs;
use std::time::{Duration, Instant};

use omx_agents::agent::MessageLabels;
use omx_agents::event::Delivery;
use omx_agents::failure::FailureCause;
use omx_agents::{Agent, AgentEvent, AgentLimits, AgentMessage, ConversationStart};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::check_coverage;
use omx_testkit::await_condition;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::conversation::{DEADLINE, TestConversation, TestTurnEnd, conversation_spec, start};
use super::rehearsal::playing;
use super::rehearsal_stage::RehearsalStage;
use super::stage::DriverStage;

/// Kills the agents of a stage and waits until the conversation reports it.
fn kill(stage: &RehearsalStage, mut chat: TestConversation) {
    let kept = stage.kept().display().to_string();
    let mut killed = false;
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let words: Vec<&str> = line.split('\0').collect();
        if words.get(1) == Some(&"rehearsal-agent") && words.contains(&kept.as_str()) {
            let pid = entry.file_name().to_str().unwrap().parse().unwrap();
            // A child that is about to be executed still has its name, and may be gone.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            killed = true;
        }
    }
    assert!(killed, "no agent of {kept}");
    assert_eq!(chat.over().map(|failure| failure.kind()), Some("crashed"));
}

#[test]
fn a_crash_is_played_once_and_the_conversation_continues() {
    let stage = playing(
        r#"
        [[entry]]
        times = 1
        do = [{ write = { path = "before", content = "" } }, { fail = { kind = "crash" } }]
        [[entry]]
        do = [{ say = "back" }]
        "#,
    );
    let mut chat = TestConversation::new(&stage);
    let failure = chat.turn("go").failure();
    assert!(matches!(failure.cause, FailureCause::Crashed { code: None, .. }), "{failure:?}");
    assert_eq!(chat.over(), Some(failure));
    assert!(stage.root().join("before").exists());
    assert_eq!(check_coverage(&stage.scenario(), &stage.kept()), Ok(()));
    let mut chat = TestConversation::resume(&stage, &chat.id);
    assert_eq!(chat.turn("go").text(), "back");
    assert_eq!(chat.end(), None);
}

#[test]
fn a_conversation_can_be_resumed_as_soon_as_it_is_reported() {
    let stage = playing("[[entry]]\ndo = [{ say = \"here\" }]");
    let chat = TestConversation::new(&stage);
    let id = chat.id.clone();
    kill(&stage, chat);
    let mut chat = TestConversation::resume(&stage, &id);
    assert_eq!(chat.turn("go").text(), "here");
    assert_eq!(chat.end(), None);
}

#[test]
fn a_hanging_agent_can_be_interrupted() {
    let stage = playing(
        r#"
        [[entry]]
        times = 1
        do = [{ fail = { kind = "hang" } }]
        [[entry]]
        do = [{ say = "back" }]
        "#,
    );
    let mut chat = TestConversation::new(&stage);
    chat.agent.send(AgentMessage::text("go"));
    chat.until("the turn runs", |event| *event == AgentEvent::Delivered(Delivery::Turn));
    let begun = Instant::now();
    chat.agent.interrupt();
    assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(chat.turn("go").text(), "back");
    assert_eq!(chat.end(), None);
}

#[test]
fn an_agent_that_ignores_interrupts_is_killed() {
    let stage = playing("[[entry]]\ndo = [{ fail = { kind = \"hang\", deaf = true } }]");
    let spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
    let limits = AgentLimits { interrupt: Duration::from_millis(300), ..AgentLimits::default() };
    let (agent, events) = start::<RehearsalStage>(&stage, &spec, limits);
    agent.send(AgentMessage::text("go"));
    let next = || events.recv_timeout(DEADLINE).unwrap();
    while next() != AgentEvent::Delivered(Delivery::Turn) {}
    agent.interrupt();
    assert_eq!(next(), AgentEvent::TurnInterrupted);
    let AgentEvent::Ended(Some(failure)) = next() else { panic!("not given up") };
    let during = "being interrupted";
    assert_eq!(failure.cause, FailureCause::Silent { waited: limits.interrupt, during });
}

#[test]
fn silence_is_detected() {
    let stage = playing("[[entry]]\ndo = [{ fail = { kind = \"hang\" } }]");
    let spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
    let limits = AgentLimits { silence: Duration::from_millis(300), ..AgentLimits::default() };
    let (agent, events) = start::<RehearsalStage>(&stage, &spec, limits);
    agent.send(AgentMessage::text("go"));
    let ended = events.iter().find(|event| matches!(event, AgentEvent::Ended(_)));
    let Some(AgentEvent::Ended(Some(failure))) = ended else { panic!("{ended:?}") };
    assert_eq!(failure.kind(), "silent");
}

#[test]
fn a_limit_ends_after_a_while_if_the_scenario_says_so() {
    let stage =
        playing("[[entry]]\ndo = [{ fail = { kind = \"rate_limit\", reset_in_s = 3600 } }]");
    let mut chat = TestConversation::new(&stage);
    let before = jiff::Timestamp::now().as_millisecond();
    let failure = chat.turn("go").failure();
    let after = jiff::Timestamp::now().as_millisecond();
    let FailureCause::RateLimited { until: Some(until), .. } = failure.cause else {
        panic!("{failure:?}")
    };
    let begun = until.millis() - 3_600_000;
    assert!((before..=after).contains(&begun), "{before} {begun} {after}");
    assert_eq!(chat.end(), None);
}

/// Killed during each step in turn: finished steps are not repeated, unfinished
/// ones are done, and it stays one conversation and one use of the entry.
#[test]
fn a_killed_agent_resumes_at_its_interrupted_step() {
    let step = |name: &str| {
        format!(
            "{{ run = {{ command = \"echo {name} >> log; until test -e {name}; do sleep 0.05; done\" }} }},"
        )
    };
    let steps: String = ["a", "b", "c"].map(step).concat();
    let stage = playing(&format!(
        "[[entry]]\nmatch = \"work\"\ntimes = 1\ndo = [{{ say = \"begin\" }}, {steps} {{ say = \"end\" }}]"
    ));
    let log = || fs::read_to_string(stage.root().join("log")).unwrap_or_default();
    let mut chat = TestConversation::new(&stage);
    let id = chat.id.clone();
    // The second prompt matches nothing: it means "continue".
    for (round, words) in [(0, "work"), (1, "go on"), (2, "work")] {
        chat.agent.send(AgentMessage::text(words));
        let expected: String = ["a\n", "a\nb\n", "b\nc\n"][..=round].concat();
        await_condition("the step runs", DEADLINE, || {
            chat.answer_what_waits();
            log() == expected
        });
        kill(&stage, chat);
        fs::write(stage.root().join(["a", "b", "c"][round]), "").unwrap();
        chat = TestConversation::resume(&stage, &id);
    }
    assert_eq!(chat.turn("work").text(), "end");
    assert_eq!(log(), "a\na\nb\nb\nc\nc\n");
    let begins = chat.seen.iter().filter(|event| **event == AgentEvent::Text("begin".to_owned()));
    assert_eq!(begins.count(), 0, "said before it was killed");
    assert_eq!(chat.end(), None);
    let played = stage.played();
    assert_eq!((played.len(), &played[0]["finished"]), (1, &json!(true)), "{played:?}");
    assert_eq!(check_coverage(&stage.scenario(), &stage.kept()), Ok(()));
}

/// Killed at any moment, again and again: every step is done, in order, and only
/// the interrupted one may be done twice.
#[test]
fn an_agent_killed_at_any_moment_still_finishes() {
    const STEPS: usize = 80;
    let step = |number| format!("{{ run = {{ command = \"echo {number} >> log\" }} }},");
    let steps: String = (0..STEPS).map(step).collect();
    let stage = playing(&format!(
        "[[entry]]\ntimes = 1\ndo = [{steps} {{ say = \"end\" }}]\n[[entry]]\ndo = [{{ say = \"no\" }}]"
    ));
    let spec = |start| conversation_spec(&stage, start, AllowLevel::All);
    let mut random = omx_testkit::Random::new(7);
    let mut chat = TestConversation::open(&stage, spec(ConversationStart::New));
    let (id, mut kills) = (chat.id.clone(), 0);
    let answer = loop {
        chat.agent.send(of_step("work.1", "work"));
        // After an amount of work, not a time: otherwise it might never progress.
        let mut answer = None;
        for _ in 0..random.below(30) {
            if let AgentEvent::TurnFinished(given) = chat.events.recv_timeout(DEADLINE).unwrap() {
                answer = Some(given.text);
                break;
            }
        }
        // Even after an answer: the step gets the same answer again.
        kill(&stage, chat);
        kills += 1;
        assert!(kills < 500, "it does not get on");
        chat = TestConversation::open(&stage, spec(ConversationStart::Resume(id.clone())));
        if let Some(answer) = answer {
            break answer;
        }
    };
    chat.agent.send(of_step("work.1", "work"));
    assert_eq!((answer.as_str(), chat.turn_end().text().as_str()), ("end", "end"));
    assert!(kills > 3, "it was killed {kills} times only");
    let log = fs::read_to_string(stage.root().join("log")).unwrap();
    let mut done: Vec<usize> = log.lines().map(|line| line.parse().unwrap()).collect();
    let all = done.len();
    done.dedup();
    assert_eq!(done, (0..STEPS).collect::<Vec<_>>());
    assert!(all - STEPS < kills, "{all} steps done after {kills} kills");
    assert_eq!(chat.end(), None);
    assert_eq!(stage.played().len(), 1);
    assert_eq!(check_coverage(&stage.scenario(), &stage.kept()), Ok(()));
}

/// A run resumes a step in its conversation, with another prompt.
fn of_step(step: &str, words: &str) -> AgentMessage {
    let labels = MessageLabels { step: Some(step.to_owned()), ..MessageLabels::default() };
    AgentMessage { labels, ..AgentMessage::text(words) }
}

/// The agent or the run is killed between the answer and the journal record.
#[test]
fn an_answered_step_repeats_its_answer_without_repeating_its_work() {
    let stage = playing(
        r#"
        [[entry]]
        times = 1
        do = [{ run = { command = "echo once >> log" } }, { result = { done = true } }, { say = "first" }]
        [[entry]]
        times = 2
        do = [{ say = "second" }]
        "#,
    );
    let mut chat = TestConversation::new(&stage);
    let id = chat.id.clone();
    let turn = |chat: &mut TestConversation, message| {
        chat.agent.send(message);
        chat.turn_end()
    };
    let first = turn(&mut chat, of_step("plan.1", "the task"));
    kill(&stage, chat);

    let mut chat = TestConversation::resume(&stage, &id);
    assert_eq!(turn(&mut chat, of_step("plan.1", "go on")), first);
    assert_eq!(fs::read_to_string(stage.root().join("log")).unwrap(), "once\n");
    assert_eq!(chat.end(), None);
    // However often it is resumed, and however it ended.
    let mut chat = TestConversation::resume(&stage, &id);
    assert_eq!(turn(&mut chat, of_step("plan.1", "go on")), first);
    // But in an open conversation, every call counts.
    assert_eq!(turn(&mut chat, of_step("plan.1", "that was no JSON")).text(), "second");
    assert_eq!(chat.end(), None);
    let mut chat = TestConversation::resume(&stage, &id);
    assert_eq!(turn(&mut chat, of_step("plan.2", "go on")).text(), "second");
    assert_eq!(chat.end(), None);
    assert_eq!(check_coverage(&stage.scenario(), &stage.kept()), Ok(()));
}

#[test]
fn a_resumed_step_continues_whatever_the_prompt_says() {
    let stage = playing(
        r#"
        [[entry]]
        match = "go on"
        do = [{ say = "not this" }]
        [[entry]]
        match = "the task"
        times = 2
        do = [{ run = { command = "until test -e go; do sleep 0.05; done" } }, { say = "done" }]
        "#,
    );
    let mut chat = TestConversation::new(&stage);
    chat.agent.send(of_step("work.1", "the task"));
    chat.until("it works", |event| matches!(event, AgentEvent::ToolStarted { .. }));
    chat.agent.interrupt();
    assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
    let id = chat.id.clone();
    assert_eq!(chat.end(), None);
    fs::write(stage.root().join("go"), "").unwrap();
    let mut chat = TestConversation::resume(&stage, &id);
    chat.agent.send(of_step("work.1", "go on"));
    assert_eq!(chat.turn_end().text(), "done");
    assert_eq!(stage.played().len(), 1);
    assert_eq!(chat.end(), None);
}

#[test]
fn a_match_searches_every_message_of_a_step() {
    let stage = playing(
        r#"
        [[entry]]
        match = "the task"
        times = 1
        do = [{ fail = { kind = "rate_limit" } }]
        [[entry]]
        match = "the task"
        do = [{ say = "after the limit" }]
        [[entry]]
        do = [{ say = "something else" }]
        "#,
    );
    let mut chat = TestConversation::new(&stage);
    chat.agent.send(of_step("work.1", "the task"));
    assert_eq!(chat.turn_end().failure().kind(), "rate_limit");
    let id = chat.id.clone();
    assert_eq!(chat.end(), None);
    let mut chat = TestConversation::resume(&stage, &id);
    chat.agent.send(of_step("work.1", "go on"));
    assert_eq!(chat.turn_end().text(), "after the limit");
    chat.agent.send(of_step("work.2", "go on"));
    assert_eq!(chat.turn_end().text(), "something else");
    assert_eq!(chat.turn("go on").text(), "something else");
    assert_eq!(chat.end(), None);
}

#[test]
fn the_transcript_survives_the_agent() {
    let stage = playing("[[entry]]\ndo = [{ delay_ms = 60000 }]");
    let mut chat = TestConversation::new(&stage);
    let file = stage.kept().join(format!("{}.json", chat.id));
    chat.agent.send(AgentMessage::text("remember the plum"));
    chat.until("the turn runs", |event| *event == AgentEvent::Delivered(Delivery::Turn));
    chat.agent.steer("and the fig");
    chat.until("heard", |event| *event == AgentEvent::Delivered(Delivery::Steered));
    kill(&stage, chat);
    let kept: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(kept["words"], json!([{"heard": "remember the plum"}, {"heard": "and the fig"}]));
    let leftover = |name: &str| name.ends_with(".tmp");
    let names = fs::read_dir(stage.kept()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.into_iter().any(|name| leftover(name.to_str().unwrap())));
}

/// The agent's own process, with a client that does not know its protocol.
#[test]
fn invalid_protocol_messages_are_rejected() {
    let stage = playing("[[entry]]\ndo = [{ say = \"fine\" }]");
    let (scenario, kept) = (stage.scenario(), stage.kept());
    let args = ["--scenario", scenario.to_str().unwrap(), "--folder", kept.to_str().unwrap()];
    let mut command = vec!["rehearsal-agent"];
    command.extend(args);
    let input = concat!(
        "no json\n[]\n{}\n",
        r#"{"id":1,"method":"turn","params":{"text":"early"}}"#,
        "\n",
        r#"{"id":2,"method":"open","params":{"allow":"everything"}}"#,
        "\n",
        r#"{"id":3,"method":"dance"}"#,
        "\n",
        r#"{"id":4,"method":"steer","params":{"text":"left"}}"#,
        "\n",
        r#"{"id":"five","method":"interrupt"}"#,
        "\n",
    );
    let outcome = stage.project.omx_stdin(&command, input.as_bytes());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let lines = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    let codes: Vec<_> = lines.iter().map(|line| line["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [Some(-32600), Some(-32600), Some(-32600), Some(3), None], "{lines:?}");
    assert_eq!(lines[4], json!({"jsonrpc": "2.0", "id": "five", "result": {}}));
}
