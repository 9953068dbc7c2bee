//! When the clock of an agent runs (conductor.md 1.3): silence counts only while it is
//! the program's turn, and each process of a conversation has the same deadlines.

use std::time::Instant;

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::ApprovalId;
use omx_agents::{Agent, AgentEvent, AgentMessage};

use super::deadlines::{AT_MOST, LIMITS, STARTED};
use super::stand_in::{AfterExit, StandInConversation, StandInFolder};

/// A program that requests approval once and waits for the answer.
fn asking(conversation: &mut StandInConversation) {
    conversation.started();
    conversation.agent.send(AgentMessage::text("do"));
    conversation.until("the question", |event| matches!(event, AgentEvent::ApprovalNeeded { .. }));
}

/// An agent may be silent while it waits for an answer, but not afterwards.
#[test]
fn silence_counts_only_during_the_programs_turn() {
    let place = StandInFolder::new();
    let script = format!("{STARTED}; read -r line; echo '{{\"ask\":\"may I\"}}'; exec sleep 1000");
    let mut conversation = place.shell(&script).limits(LIMITS).open();
    asking(&mut conversation);
    let next = conversation.events.recv_timeout(LIMITS.silence * 2);
    assert!(next.is_err(), "{next:?}");
    let begun = Instant::now();
    conversation.agent.answer(ApprovalId("may I".to_owned()), ApprovalDecision::Allow);
    let why = conversation.over().unwrap();
    assert_eq!(why.kind(), "silent", "{why}");
    assert!(begun.elapsed() >= LIMITS.silence, "{:?}", begun.elapsed());
}

/// An answer that comes too late must not start the clock on an idle agent.
#[test]
fn an_idle_program_may_stay_silent() {
    let place = StandInFolder::new();
    let script = format!(
        "{STARTED}; read -r line; echo '{{\"ask\":\"may I\"}}'; echo '{{\"answer\":\"done\"}}'; \
         cat >/dev/null"
    );
    let mut conversation = place.shell(&script).limits(LIMITS).open();
    asking(&mut conversation);
    conversation.until("the answer", |event| matches!(event, AgentEvent::TurnFinished(_)));
    conversation.agent.answer(ApprovalId("may I".to_owned()), ApprovalDecision::Allow);
    let next = conversation.events.recv_timeout(LIMITS.silence * 2);
    assert!(next.is_err(), "{next:?}");
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
}

/// A protocol that ignores an exit has no process that could be silent; its turn
/// still times out.
#[test]
fn a_turn_without_a_process_times_out() {
    let place = StandInFolder::new();
    let mut program = place.shell(&format!("{STARTED}; read -r line; exit 0")).limits(LIMITS);
    program.after_exit = AfterExit::Wait;
    let mut conversation = program.open();
    conversation.started();
    conversation.agent.send(AgentMessage::text("do"));
    let why = conversation.over().unwrap();
    assert_eq!(why.kind(), "silent", "{why}");
    assert!(conversation.seen.contains(&AgentEvent::TurnFailed(why)), "{:#?}", conversation.seen);
}

/// A message that was queued behind a turn has the same deadline as any other.
#[test]
fn a_queued_message_that_is_never_read_times_out() {
    let place = StandInFolder::new();
    let script = format!(
        "{STARTED}; read -r line; sleep 0.3; echo '{{\"answer\":\"first\"}}'; exec sleep 1000"
    );
    let mut conversation = place.shell(&script).limits(LIMITS).open();
    conversation.started();
    conversation.agent.send(AgentMessage::text("first"));
    conversation.agent.send(AgentMessage::text("second"));
    let why = conversation.over().unwrap();
    assert_eq!(why.kind(), "silent", "{why}");
    let ends: Vec<&AgentEvent> = conversation.seen.iter().rev().take(2).collect();
    assert_eq!(ends, [&AgentEvent::Ended(Some(why.clone())), &AgentEvent::TurnFailed(why)]);
    assert!(conversation.seen.iter().any(|event| matches!(event, AgentEvent::TurnFinished(_))));
}

/// The second process of a conversation has the same start deadline as the first.
#[test]
fn a_restarted_process_that_stays_silent_is_ended() {
    let place = StandInFolder::new();
    let script = format!(
        "if mkdir first; then {STARTED}; echo '{{\"again\":true}}'; cat; fi; exec sleep 1000"
    );
    let mut conversation = place.shell(&script).limits(LIMITS).open();
    let begun = Instant::now();
    let why = conversation.over().unwrap();
    assert_eq!(why.kind(), "silent", "{why}");
    assert!(why.to_string().contains("starting"), "{why}");
    assert!(begun.elapsed() < AT_MOST + LIMITS.start, "{:?}", begun.elapsed());
    assert!(place.processes().is_empty(), "{:#?}", place.processes());
}

/// The next process starts only when nothing of the previous one is left.
#[test]
fn a_replaced_process_is_gone_before_the_next_starts() {
    let place = StandInFolder::new();
    let script = r#"
        if mkdir first 2>/dev/null; then
            trap '' HUP INT TERM
            setsid sh -c "trap '' TERM; echo \$\$ > child; while :; do sleep 0.1; done" >/dev/null 2>&1 &
            until test -s child; do sleep 0.01; done
            echo '{"again":true}'; echo '{"text":"from the first"}'
            while :; do sleep 0.1; done
        fi
        kill -0 "$(cat child)" 2>/dev/null && echo '{"text":"the child lives"}'
        echo '{"started":true}'; cat >/dev/null"#;
    let mut conversation = place.shell(script).open();
    conversation.started();
    assert_eq!(conversation.seen.len(), 1, "{:#?}", conversation.seen);
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
    assert!(place.processes().is_empty(), "{:#?}", place.processes());
}
