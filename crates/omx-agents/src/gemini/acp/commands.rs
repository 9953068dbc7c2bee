//! The owner's commands, as calls to gemini.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::turn::{GeminiTurn, prompt_text};
use super::{AcpActivity, AcpProtocol, AcpRequest, SETTLE, emit};
use crate::agent::AgentCommand;
use crate::event::{AgentEvent, Delivery};
use crate::protocol::ProtocolEffect;

/// A turn has no deadline of its own: the loop watches for silence.
const TURN: Duration = Duration::from_secs(30 * 24 * 3600);

impl AcpProtocol {
    pub(super) fn handle_command(
        &mut self,
        command: AgentCommand,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        match command {
            AgentCommand::Send(message) => self.queue_message(message.text, now),
            // Gemini takes no input during a turn.
            AgentCommand::Steer(text) => self.queue_message(text, now),
            AgentCommand::Interrupt => self.interrupt(now),
            AgentCommand::Answer(approval, decision) => {
                let answer = self.turn().and_then(|turn| turn.answer(&approval, &decision));
                let Some((request, answer, events)) = answer else { return Vec::new() };
                let mut effects = vec![ProtocolEffect::Write(self.rpc.response(&request, answer))];
                effects.extend(emit(events));
                effects
            }
            AgentCommand::End => vec![ProtocolEffect::CloseInput],
        }
    }

    fn queue_message(&mut self, text: String, now: Instant) -> Vec<ProtocolEffect> {
        self.queue.push_back(text);
        match self.activity {
            AcpActivity::Turn(_) => emit(vec![AgentEvent::Delivered(Delivery::Queued)]),
            AcpActivity::Idle | AcpActivity::Settling(_) => self.next_turn(now),
        }
    }

    /// Starts the next waiting turn if gemini is idle.
    pub(super) fn next_turn(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        if !self.session.is_open() || !matches!(self.activity, AcpActivity::Idle) {
            return Vec::new();
        }
        let Some(text) = self.queue.pop_front() else { return Vec::new() };
        let words = prompt_text(self.role.as_deref(), &text);
        let prompt = json!([{"type": "text", "text": words}]);
        let params = json!({"sessionId": self.session.session_id(), "prompt": prompt});
        let line = self.rpc.request_until(AcpRequest::Prompt, "session/prompt", params, now + TURN);
        self.activity = AcpActivity::Turn(GeminiTurn::default());
        vec![
            ProtocolEffect::Write(line),
            ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn)),
        ]
    }

    fn interrupt(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let AcpActivity::Turn(turn) = &mut self.activity else {
            // The message was never sent.
            let dropped = self.queue.pop_front();
            return dropped
                .map(|_| ProtocolEffect::Emit(AgentEvent::TurnInterrupted))
                .into_iter()
                .collect();
        };
        if turn.is_retrying() {
            return self.abandon_turn(AgentEvent::TurnInterrupted, now);
        }
        if turn.interrupt() { self.cancel() } else { Vec::new() }
    }

    /// Cancels the turn and the permission requests it waits for.
    fn cancel(&mut self) -> Vec<ProtocolEffect> {
        let params = json!({"sessionId": self.session.session_id()});
        let mut effects =
            vec![ProtocolEffect::Write(self.rpc.notification("session/cancel", params))];
        let requested = self.turn().map(GeminiTurn::take_pending_requests).unwrap_or_default();
        effects.extend(
            requested
                .iter()
                .map(|request| ProtocolEffect::Write(self.cancelled_permission(request))),
        );
        effects
    }

    pub(super) fn cancelled_permission(&self, request: &Value) -> Value {
        self.rpc.response(request, json!({"outcome": {"outcome": "cancelled"}}))
    }

    /// Abandons a turn in which gemini only retries a request.
    pub(super) fn abandon_turn(&mut self, last: AgentEvent, now: Instant) -> Vec<ProtocolEffect> {
        let mut effects = self.cancel();
        if let AcpActivity::Turn(mut turn) =
            std::mem::replace(&mut self.activity, AcpActivity::Settling(now + SETTLE))
        {
            effects.extend(emit(turn.close(&Value::Null)));
        }
        effects.push(ProtocolEffect::Emit(last));
        effects
    }
}
