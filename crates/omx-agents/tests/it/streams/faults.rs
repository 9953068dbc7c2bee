//! The scene detects each fault it exists for.

use std::time::Instant;

use omx_agents::agent::{AgentCommand, ConversationId};
use omx_agents::event::{AgentEvent, TurnAnswer};
use omx_agents::protocol::{
    AgentExit, Confinement, Launch, Protocol, ProtocolEffect, ProtocolEvent,
};

use super::codex;
use super::scene::Scene;

#[derive(Clone, Copy, PartialEq)]
enum InjectedFault {
    None,
    StartsTwice,
    EndsTwice,
    IsStuckInThePast,
    IgnoresTheExit,
    NeverStopsTalking,
    TellsTheEnd,
    ForgetsTheTurn,
}

/// A protocol that ends the turn with any line.
struct Faulty {
    fault: InjectedFault,
    began: Option<Instant>,
    in_turn: bool,
}

impl Faulty {
    fn has(&self, fault: InjectedFault) -> bool {
        self.fault == fault
    }
}

impl Protocol for Faulty {
    fn start(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.began = Some(now);
        let conversation = ConversationId::new("x").unwrap();
        let started = ProtocolEffect::Emit(AgentEvent::Started { conversation, model: None });
        let launch = Launch {
            program: "/bin/agent".into(),
            args: Vec::new(),
            environment: Default::default(),
            folder: "/w".into(),
            confinement: Confinement::Unconfined,
        };
        let mut effects = vec![ProtocolEffect::Launch(launch), started.clone()];
        if self.has(InjectedFault::StartsTwice) {
            effects.push(started);
        }
        effects
    }

    fn handle(&mut self, input: ProtocolEvent, _: Instant) -> Vec<ProtocolEffect> {
        let end = ProtocolEffect::Emit(AgentEvent::TurnFinished(TurnAnswer {
            text: String::new(),
            structured: None,
        }));
        match input {
            ProtocolEvent::Command(AgentCommand::Send(_)) => {
                self.in_turn = true;
                Vec::new()
            }
            ProtocolEvent::Line(_) if self.has(InjectedFault::NeverStopsTalking) => {
                vec![ProtocolEffect::Emit(AgentEvent::Text(String::new())); 100_000]
            }
            ProtocolEvent::Line(_) if self.has(InjectedFault::TellsTheEnd) => {
                vec![ProtocolEffect::Emit(AgentEvent::Ended(None))]
            }
            ProtocolEvent::Line(_) if self.in_turn => {
                self.in_turn = self.has(InjectedFault::EndsTwice);
                vec![end]
            }
            ProtocolEvent::Exited(_)
                if self.in_turn && !self.has(InjectedFault::IgnoresTheExit) =>
            {
                self.in_turn = false;
                vec![end]
            }
            _ => Vec::new(),
        }
    }

    fn has_pending_turn(&self) -> bool {
        self.in_turn && !self.has(InjectedFault::ForgetsTheTurn)
    }

    fn next_tick(&self) -> Option<Instant> {
        self.began.filter(|_| self.has(InjectedFault::IsStuckInThePast))
    }
}

fn plays(fault: InjectedFault) -> bool {
    let play = move || {
        let faulty = Faulty { fault, began: None, in_turn: false };
        let mut scene = Scene::with(&codex::ROW, Box::new(faulty));
        scene.send("go");
        if fault == InjectedFault::IgnoresTheExit {
            return scene.exit(AgentExit { code: None, stderr: String::new() });
        }
        if fault == InjectedFault::ForgetsTheTurn {
            return scene.wait_long();
        }
        scene.receive(1.into());
        scene.receive(2.into());
        scene.wait_long();
    };
    // The test checks the panic message; it must not be printed.
    std::panic::catch_unwind(play).is_ok()
}

#[test]
fn each_seeded_fault_is_detected() {
    assert!(plays(InjectedFault::None));
    for fault in [
        InjectedFault::StartsTwice,
        InjectedFault::EndsTwice,
        InjectedFault::IsStuckInThePast,
        InjectedFault::IgnoresTheExit,
        InjectedFault::NeverStopsTalking,
        InjectedFault::TellsTheEnd,
        InjectedFault::ForgetsTheTurn,
    ] {
        assert!(!plays(fault), "fault {} goes unnoticed", fault as u8);
    }
}
