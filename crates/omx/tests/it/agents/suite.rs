//! What every driver supports.

use std::fs;
use std::time::Duration;

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::{ApprovalRequest, Delivery, ToolAction, ToolOutcome, UsageDelta};
use omx_agents::{Agent, AgentEvent, AgentMessage, ConversationStart};
use omx_kernel::approval::AllowLevel;
use omx_testkit::await_condition;
use serde_json::json;

use super::conversation::{DEADLINE, TestConversation, TestTurnEnd, conversation_spec};
use super::play::{AgentPlay, PlayStep, cue};
use super::stage::{DriverStage, child_context_with};
use super::suite_failures::agent_processes;

/// Makes a test of each function of the suite for one stage.
macro_rules! driver_suite {
    ($stage:ty) => {
        $crate::agents::suite::driver_suite!($stage, suite:
            the_start_is_reported_before_a_model_request,
            a_full_turn_edits_runs_and_calls_a_tool,
            an_mcp_server_receives_its_variables,
            a_follow_up_continues_the_conversation,
            a_message_to_a_busy_agent_reaches_it,
            a_queued_message_starts_its_own_turn,
            an_interrupt_during_a_reply_ends_the_turn,
            an_interrupt_during_a_tool_ends_the_tool,
            an_approval_is_requested_and_granted,
            an_approval_is_requested_and_denied,
            ending_leaves_no_process,
        );
        $crate::agents::suite::driver_suite!($stage, suite_failures:
            a_killed_agent_is_reported_and_its_conversation_can_be_resumed,
            a_limit_with_an_end_is_reported,
            a_limit_without_an_end_is_reported,
            a_rejected_account_is_reported,
            a_failing_service_is_reported,
            a_truncated_answer_is_reported,
            an_unreachable_vendor_is_reported,
            an_unknown_model_is_reported,
            an_unknown_conversation_is_reported,
            a_missing_program_is_reported,
            a_missing_account_is_reported,
        );
        $crate::agents::suite::driver_suite!($stage, suite_results:
            a_valid_result_is_accepted,
            an_invalid_result_is_requested_once_more,
            a_result_that_is_invalid_twice_fails,
            a_killed_omx_leaves_no_process_and_its_conversation_can_be_resumed,
        );
        $crate::agents::suite::driver_suite!($stage, suite_cleanup:
            ending_during_a_tool_leaves_no_process,
            an_interrupt_and_an_end_leave_no_process,
            a_killed_agent_leaves_no_runaway,
            a_killed_guard_leaves_no_runaway,
            a_killed_omx_leaves_no_runaway,
            ctrl_c_leaves_no_runaway,
            ctrl_c_twice_leaves_no_runaway,
        );
    };
    ($stage:ty, $module:ident: $($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                <$stage as $crate::agents::stage::DriverStage>::alone(|| {
                    $crate::agents::$module::$name::<$stage>();
                });
            }
        )*
    };
}
pub(super) use driver_suite;

pub fn the_start_is_reported_before_a_model_request<S: DriverStage>() {
    let stage = S::with(vec![AgentPlay::new("hello", [PlayStep::Say("hello")])]);
    let chat = TestConversation::new(&stage);
    assert_eq!(stage.answers("hello"), 0);
    assert_eq!(chat.seen.len(), 1, "{:?}", chat.seen);
    assert_eq!(chat.end(), None);
    assert_eq!(stage.answers("hello"), 0);
}

pub fn a_full_turn_edits_runs_and_calls_a_tool<S: DriverStage>() {
    let write = json!({"mode": "ralph", "session_id": "s", "active": true, "iteration": 2});
    let full = AgentPlay::new(
        "full",
        [
            PlayStep::Write("made.txt", "made\n"),
            PlayStep::Shell("cat made.txt > copied.txt"),
            PlayStep::Mcp("state_write", write),
            PlayStep::Say("all done"),
        ],
    );
    let stage = S::with(vec![full]);
    let mut chat = TestConversation::new(&stage);
    assert_eq!(chat.turn(&cue("full")).text(), "all done");
    assert_eq!(fs::read_to_string(stage.root().join("made.txt")).unwrap(), "made\n");
    assert_eq!(fs::read_to_string(stage.root().join("copied.txt")).unwrap(), "made\n");
    let stored = stage.root().join(".omx/state/sessions/s/ralph-state.json");
    assert!(fs::read_to_string(stored).unwrap().contains("\"iteration\": 2"));
    assert_eq!(stage.answers("full"), 4);

    let seen = &chat.seen;
    let tools: Vec<_> = seen.iter().filter_map(tool_started).collect();
    assert!(
        matches!(tools[0], ToolAction::Edit(paths) if paths[0].ends_with("made.txt")),
        "{tools:?}"
    );
    assert!(
        matches!(tools[1], ToolAction::Command(line) if line.contains("copied.txt")),
        "{tools:?}"
    );
    let own = ToolAction::Mcp { server: "omx".to_owned(), tool: "state_write".to_owned() };
    assert_eq!((tools[2], tools.len()), (&own, 3));
    let ends: Vec<_> = seen.iter().filter_map(tool_end).collect();
    assert_eq!(ends.len(), 3, "{ends:?}");
    assert!(
        ends.iter().all(|end| matches!(end, ToolOutcome::Succeeded | ToolOutcome::Exited(0))),
        "{ends:?}"
    );
    let changed = |event: &&AgentEvent| matches!(event, AgentEvent::FileChanged(path) if path.ends_with("made.txt"));
    assert_eq!(seen.iter().filter(changed).count(), 1, "{seen:#?}");
    assert!(seen.contains(&AgentEvent::Delivered(Delivery::Turn)), "{seen:#?}");
    assert!(seen.contains(&AgentEvent::Text("all done".to_owned())), "{seen:#?}");
    let usage = usage(seen);
    assert!(usage.input_tokens >= 4000 && usage.output_tokens >= 80, "{usage:?}");
    assert_eq!(chat.end(), None);
}

fn tool_started(event: &AgentEvent) -> Option<&ToolAction> {
    match event {
        AgentEvent::ToolStarted { tool, .. } => Some(tool),
        _ => None,
    }
}

fn tool_end(event: &AgentEvent) -> Option<&ToolOutcome> {
    match event {
        AgentEvent::ToolFinished { end, .. } => Some(end),
        _ => None,
    }
}

/// The sum of the reported usage.
fn usage(events: &[AgentEvent]) -> UsageDelta {
    let mut sum = UsageDelta::default();
    for event in events {
        if let AgentEvent::Usage(usage) = event {
            sum.input_tokens += usage.input_tokens;
            sum.output_tokens += usage.output_tokens;
        }
    }
    sum
}

/// Agents start MCP servers with an environment that they reduce themselves.
pub fn an_mcp_server_receives_its_variables<S: DriverStage>() {
    let write = json!({"mode": "ralph", "session_id": "s", "active": true});
    let play =
        AgentPlay::new("call", [PlayStep::Mcp("state_write", write), PlayStep::Say("called")]);
    let stage = S::with(vec![play]);
    let outside = stage.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let mut spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
    spec.servers[0].env.extend(child_context_with(&stage.root(), Some(outside.clone())));
    let mut chat = TestConversation::open(&stage, spec);
    assert_eq!(chat.turn(&cue("call")).text(), "called");
    assert!(!stage.root().join(".omx/state").exists(), "the server did not see the variable");
    assert_ne!(fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(chat.end(), None);
}

pub fn a_follow_up_continues_the_conversation<S: DriverStage>() {
    let first = AgentPlay::new("first", [PlayStep::Say("remembered")]);
    let second = AgentPlay::new("second", [PlayStep::Say("and so on")]);
    let stage = S::with(vec![first.clone(), second]);
    let mut chat = TestConversation::new(&stage);
    assert_eq!(chat.turn(&first.cue("the word is plum")).text(), "remembered");
    assert_eq!(chat.turn(&cue("second")).text(), "and so on");
    let history = stage.history("second");
    assert!(history.contains("the word is plum") && history.contains("remembered"), "{history}");
    let started = chat.seen.iter().filter(|event| matches!(event, AgentEvent::Started { .. }));
    assert_eq!(started.count(), 1);
    assert_eq!(chat.end(), None);
}

/// Delivered during the turn or after it: the driver reports which, and never loses it.
pub fn a_message_to_a_busy_agent_reaches_it<S: DriverStage>() {
    let busy = AgentPlay::new(
        "busy",
        [PlayStep::Shell("until test -e go; do sleep 0.1; done"), PlayStep::Say("busy over")],
    );
    let after = AgentPlay::new("after", [PlayStep::Say("heard you")]);
    let stage = S::with(vec![busy, after.clone()]);
    let mut chat = TestConversation::new(&stage);
    chat.agent.send(AgentMessage::text(cue("busy")));
    chat.until("the tool runs", |event| matches!(event, AgentEvent::ToolStarted { .. }));
    chat.agent.steer(&after.cue("the fruit is a fig"));
    chat.until("the words are taken", |event| {
        matches!(event, AgentEvent::Delivered(Delivery::Steered | Delivery::Queued))
    });
    fs::write(stage.root().join("go"), "").unwrap();
    loop {
        if chat.turn_end().text().ends_with("heard you") {
            break;
        }
    }
    assert!(stage.history("after").contains("the fruit is a fig"));
    assert_eq!(chat.end(), None);
}

pub fn a_queued_message_starts_its_own_turn<S: DriverStage>() {
    let busy = AgentPlay::new(
        "busy",
        [PlayStep::Shell("until test -e go; do sleep 0.1; done"), PlayStep::Say("busy over")],
    );
    let after = AgentPlay::new("after", [PlayStep::Say("second turn")]);
    let stage = S::with(vec![busy, after]);
    let mut chat = TestConversation::new(&stage);
    chat.agent.send(AgentMessage::text(cue("busy")));
    chat.until("the tool runs", |event| matches!(event, AgentEvent::ToolStarted { .. }));
    chat.agent.send(AgentMessage::text(cue("after")));
    chat.until("it waits", |event| *event == AgentEvent::Delivered(Delivery::Queued));
    fs::write(stage.root().join("go"), "").unwrap();
    assert_eq!(chat.turn_end().text(), "busy over");
    assert_eq!(chat.turn_end().text(), "second turn");
    assert_eq!(chat.end(), None);
}

pub fn an_interrupt_during_a_reply_ends_the_turn<S: DriverStage>() {
    let slow = AgentPlay::new("slow", [PlayStep::SaySlowly]);
    let after = AgentPlay::new("after", [PlayStep::Say("still here")]);
    let stage = S::with(vec![slow, after]);
    let mut chat = TestConversation::new(&stage);
    chat.agent.send(AgentMessage::text(cue("slow")));
    await_condition("words are under way", DEADLINE, || stage.is_streaming("slow"));
    chat.agent.interrupt();
    assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
    assert_eq!(chat.turn(&cue("after")).text(), "still here");
    assert_eq!(chat.end(), None);
}

pub fn an_interrupt_during_a_tool_ends_the_tool<S: DriverStage>() {
    let slow = AgentPlay::new(
        "slow",
        // If the program does not wait for the command, the turn continues.
        [PlayStep::Shell("sh -c 'touch running; sleep 1000; touch survived'"), PlayStep::SaySlowly],
    );
    let after = AgentPlay::new("after", [PlayStep::Say("still here")]);
    let stage = S::with(vec![slow, after]);
    let mut chat = TestConversation::new(&stage);
    chat.agent.send(AgentMessage::text(cue("slow")));
    // The command may have to be allowed first.
    chat.until("the tool runs", |event| matches!(event, AgentEvent::ToolStarted { .. }));
    await_condition("the command runs", DEADLINE, || {
        chat.answer_what_waits();
        stage.root().join("running").exists()
    });
    assert!(lives(&stage, "touch survived"));
    chat.agent.interrupt();
    assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
    await_condition("the command is gone", Duration::from_secs(5), || {
        !lives(&stage, "touch survived")
    });
    assert_eq!(chat.turn(&cue("after")).text(), "still here");
    assert_eq!(chat.end(), None);
    assert!(!stage.root().join("survived").exists());
}

/// Whether a process of this stage's agent has this text in its command line. A pid
/// from inside a sandbox means nothing outside.
pub fn lives(stage: &impl DriverStage, words: &str) -> bool {
    agent_processes(stage).values().any(|line| line.contains(words))
}

pub fn an_approval_is_requested_and_granted<S: DriverStage>() {
    check_approval::<S>(ApprovalDecision::Allow);
}

pub fn an_approval_is_requested_and_denied<S: DriverStage>() {
    check_approval::<S>(ApprovalDecision::Deny("not today".to_owned()));
}

/// With only edits allowed, a command needs approval, and runs if it is granted.
fn check_approval<S: DriverStage>(decision: ApprovalDecision) {
    let play =
        AgentPlay::new("ask", [PlayStep::Shell("touch ran.txt"), PlayStep::Say("that was it")]);
    let stage = S::with(vec![play]);
    let mut chat = TestConversation::open(
        &stage,
        conversation_spec(&stage, ConversationStart::New, AllowLevel::Edits),
    );
    chat.agent.send(AgentMessage::text(cue("ask")));
    let ask = chat.approval(decision.clone());
    assert!(
        matches!(&ask, ApprovalRequest::Command { command, .. } if command.contains("touch ran.txt")),
        "{ask:?}"
    );
    assert_eq!(chat.turn_end().text(), "that was it");
    assert_eq!(stage.root().join("ran.txt").exists(), decision == ApprovalDecision::Allow);
    let end = chat.seen.iter().filter_map(tool_end).next_back();
    let succeeded = matches!(end, Some(ToolOutcome::Succeeded | ToolOutcome::Exited(0)));
    assert_eq!(succeeded, decision == ApprovalDecision::Allow, "{:#?}", chat.seen);
    assert_eq!(chat.end(), None);
}

/// Processes a command left behind end with the conversation, whatever they did to escape.
pub fn ending_leaves_no_process<S: DriverStage>() {
    let play = AgentPlay::new(
        "leave",
        [
            PlayStep::Shell(
                "(setsid sh -c 'trap : TERM INT HUP; touch far; while :; do sleep 0.1; done' \
                 >/dev/null 2>&1 </dev/null &) ; until test -e far; do sleep 0.05; done",
            ),
            PlayStep::Say("left something"),
        ],
    );
    let stage = S::with(vec![play]);
    let mut chat = TestConversation::new(&stage);
    assert_eq!(chat.turn(&cue("leave")).text(), "left something");
    assert_eq!(chat.end(), None);
    assert!(!lives(&stage, "trap : TERM"), "{:#?}", agent_processes(&stage));
}
