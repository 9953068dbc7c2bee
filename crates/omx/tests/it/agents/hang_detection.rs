//! What the conversation loop detects on its own, whichever program runs.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use omx_agents::agent::AgentCommand;
use omx_agents::event::{Delivery, TurnAnswer};
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::protocol::{Confinement, Launch, Protocol, ProtocolEffect, ProtocolEvent};
use omx_agents::{
    Agent, AgentEnv, AgentEvent, AgentInstallation, AgentKind, AgentLimits, AgentMessage,
    ConversationId, ConversationSpec, ConversationStart, Driver, conversation,
};
use omx_kernel::approval::AllowLevel;
use serde_json::json;

use super::conversation::{DEADLINE, conversation_spec};
use super::rehearsal_stage::RehearsalStage;
use super::stage::DriverStage;

/// Drives a program that answers the first message and then hangs.
struct Hanging;

struct HangingProtocol {
    launch: Launch,
    in_turn: bool,
    queued: usize,
}

impl Driver for Hanging {
    fn kind(&self) -> AgentKind {
        AgentKind::Rehearsal
    }

    fn find(&self, _: &AgentEnv) -> Result<AgentInstallation, Failure> {
        Ok(AgentInstallation { kind: self.kind(), program: "/bin/sh".into() })
    }

    fn state_folders(&self, _: &AgentEnv) -> Vec<std::path::PathBuf> {
        Vec::new()
    }

    fn protocol(
        &self,
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        agent_env: &AgentEnv,
        _: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure> {
        let launch = Launch {
            program: installation.program.clone(),
            args: vec!["-c".into(), "read -r line; echo '{}'; exec sleep 1000".into()],
            environment: agent_env.variables.clone(),
            folder: spec.folder.clone(),
            confinement: Confinement::Unconfined,
        };
        Ok(Box::new(HangingProtocol { launch, in_turn: false, queued: 0 }))
    }
}

impl Protocol for HangingProtocol {
    fn start(&mut self, _: Instant) -> Vec<ProtocolEffect> {
        let conversation = ConversationId::new("hanging").unwrap();
        let started = AgentEvent::Started { conversation, model: None };
        vec![ProtocolEffect::Launch(self.launch.clone()), ProtocolEffect::Emit(started)]
    }

    fn handle(&mut self, input: ProtocolEvent, _: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(AgentCommand::Send(_)) if self.in_turn => {
                self.queued += 1;
                vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Queued))]
            }
            ProtocolEvent::Command(AgentCommand::Send(_)) => {
                self.in_turn = true;
                vec![ProtocolEffect::Write(json!({}))]
            }
            ProtocolEvent::Line(_) => {
                self.in_turn = self.queued > 0;
                self.queued = 0;
                let answer = TurnAnswer { text: "done".to_owned(), structured: None };
                vec![
                    ProtocolEffect::Emit(AgentEvent::TurnFinished(answer)),
                    ProtocolEffect::Write(json!({})),
                ]
            }
            _ => Vec::new(),
        }
    }

    fn has_pending_turn(&self) -> bool {
        self.in_turn
    }

    fn next_tick(&self) -> Option<Instant> {
        None
    }
}

/// conductor.md 1.3: also while a queued message waits to be read.
#[test]
fn a_program_that_hangs_between_turns_is_detected() {
    let stage = RehearsalStage::with(Vec::new());
    let agent_env = stage.agent_env();
    let limits = AgentLimits { silence: Duration::from_secs(4), ..AgentLimits::default() };
    let (sender, events) = channel();
    let on_event = move |event| {
        let _ = sender.send(event);
    };
    let installation = Hanging.find(&agent_env).unwrap();
    let spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
    let agent =
        conversation::open(&Hanging, &installation, &spec, &agent_env, limits, on_event).unwrap();
    agent.send(AgentMessage::text("one"));
    agent.send(AgentMessage::text("two"));
    let mut seen = Vec::new();
    while !matches!(seen.last(), Some(AgentEvent::Ended(_))) {
        seen.push(events.recv_timeout(DEADLINE).expect("the end is seen"));
    }
    let silent = |event: &AgentEvent| {
        let (AgentEvent::TurnFailed(failure) | AgentEvent::Ended(Some(failure))) = event else {
            return false;
        };
        matches!(failure.cause, FailureCause::Silent { .. })
    };
    let [.., finished, failed, ended] = seen.as_slice() else { panic!("{seen:#?}") };
    assert!(matches!(finished, AgentEvent::TurnFinished(_)), "{seen:#?}");
    assert!(silent(failed) && silent(ended), "{seen:#?}");
}
