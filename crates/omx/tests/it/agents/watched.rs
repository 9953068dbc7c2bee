//! What the loop of a conversation watches by itself, whichever program runs.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use omx_agents::agent::Order;
use omx_agents::event::{Answer, Delivery};
use omx_agents::protocol::{Effect, Input, Launch, Protocol};
use omx_agents::trouble::{Cause, Trouble};
use omx_agents::{
    Agent, AgentKind, ConversationId, Driver, Event, Installation, Limits, Message, Opening, Start,
    Surroundings, conversation,
};
use omx_kernel::approval::Allow;
use serde_json::json;

use super::rehearsal_stage::RehearsalStage;
use super::stage::Stage;
use super::talk::{DEADLINE, opening};

/// Drives a program that answers the first message and then hangs.
struct Hanging;

struct Talk {
    launch: Launch,
    in_turn: bool,
    queued: usize,
}

impl Driver for Hanging {
    fn kind(&self) -> AgentKind {
        AgentKind::Rehearsal
    }

    fn find(&self, _: &Surroundings) -> Result<Installation, Trouble> {
        Ok(Installation { kind: self.kind(), program: "/bin/sh".into() })
    }

    fn protocol(
        &self,
        opening: &Opening,
        installation: &Installation,
        surroundings: &Surroundings,
        _: &Limits,
    ) -> Result<Box<dyn Protocol>, Trouble> {
        let launch = Launch {
            program: installation.program.clone(),
            args: vec!["-c".into(), "read -r line; echo '{}'; exec sleep 1000".into()],
            environment: surroundings.environment.clone(),
            folder: opening.folder.clone(),
        };
        Ok(Box::new(Talk { launch, in_turn: false, queued: 0 }))
    }
}

impl Protocol for Talk {
    fn begin(&mut self, _: Instant) -> Vec<Effect> {
        let conversation = ConversationId::new("hanging").unwrap();
        let started = Event::Started { conversation, model: None };
        vec![Effect::Launch(self.launch.clone()), Effect::Emit(started)]
    }

    fn handle(&mut self, input: Input, _: Instant) -> Vec<Effect> {
        match input {
            Input::Order(Order::Send(_)) if self.in_turn => {
                self.queued += 1;
                vec![Effect::Emit(Event::Delivered(Delivery::Queued))]
            }
            Input::Order(Order::Send(_)) => {
                self.in_turn = true;
                vec![Effect::Write(json!({}))]
            }
            Input::Line(_) => {
                self.in_turn = self.queued > 0;
                self.queued = 0;
                let answer = Answer { text: "done".to_owned(), structured: None };
                vec![Effect::Emit(Event::TurnFinished(answer)), Effect::Write(json!({}))]
            }
            _ => Vec::new(),
        }
    }

    fn owes_turn(&self) -> bool {
        self.in_turn
    }

    fn wake(&self) -> Option<Instant> {
        None
    }
}

/// conductor.md 1.3: also while a message that was kept waits to be taken up.
#[test]
fn a_program_that_hangs_between_two_turns_is_noticed() {
    let stage = RehearsalStage::with(Vec::new());
    let surroundings = stage.surroundings();
    let limits = Limits { silence: Duration::from_millis(500), ..Limits::default() };
    let (sender, events) = channel();
    let tell = move |event| {
        let _ = sender.send(event);
    };
    let installation = Hanging.find(&surroundings).unwrap();
    let opening = opening(&stage, Start::New, Allow::Commands);
    let agent =
        conversation::open(&Hanging, &installation, &opening, &surroundings, limits, tell).unwrap();
    agent.send(Message::text("one"));
    agent.send(Message::text("two"));
    let mut told = Vec::new();
    while !matches!(told.last(), Some(Event::Ended(_))) {
        told.push(events.recv_timeout(DEADLINE).expect("the end is told"));
    }
    let silent = |event: &Event| {
        let (Event::TurnFailed(trouble) | Event::Ended(Some(trouble))) = event else {
            return false;
        };
        matches!(trouble.cause, Cause::Silent { .. })
    };
    let [.., finished, failed, ended] = told.as_slice() else { panic!("{told:#?}") };
    assert!(matches!(finished, Event::TurnFinished(_)), "{told:#?}");
    assert!(silent(failed) && silent(ended), "{told:#?}");
}
