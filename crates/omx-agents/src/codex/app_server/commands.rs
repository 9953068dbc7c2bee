//! The owner's commands, as requests to the app-server.

use std::time::Instant;

use serde_json::{Value, json};

use super::super::approvals::PendingApproval;
use super::turn::{CodexTurn, TurnOrigin};
use super::{AppServer, AppServerRequest, AppServerState};
use crate::agent::{AgentCommand, AgentMessage, ApprovalDecision, ConversationId};
use crate::event::{AgentEvent, Delivery};
use crate::protocol::ProtocolEffect;

impl AppServer {
    pub(super) fn handle_command(
        &mut self,
        command: AgentCommand,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        match command {
            AgentCommand::Send(message) => self.send(message, now),
            AgentCommand::Steer(text) => self.steer(text, now),
            AgentCommand::Interrupt => self.interrupt(now),
            AgentCommand::Answer(approval, decision) => match self.approvals.take(&approval) {
                Some(waiting) => self.answer(waiting, &decision, now),
                None => Vec::new(),
            },
            AgentCommand::End => vec![ProtocolEffect::CloseInput],
        }
    }

    pub(super) fn send(&mut self, message: AgentMessage, now: Instant) -> Vec<ProtocolEffect> {
        let waits = self.turn.is_some() || !self.queue.is_empty();
        self.queue.push_back(message);
        if waits {
            vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Queued))]
        } else {
            self.start_next_turn(now)
        }
    }

    /// Starts the next waiting turn, if one can be started.
    pub(super) fn start_next_turn(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        if self.state != AppServerState::Open || self.turn.is_some() {
            return Vec::new();
        }
        let Some(message) = self.queue.pop_front() else { return Vec::new() };
        let Some(thread) = &self.thread else { return Vec::new() };
        self.last_turn = self.last_turn.next();
        let mut params = json!({"threadId": thread.as_str(), "input": text_input(&message.text)});
        self.turn = Some(CodexTurn::new(self.last_turn, message.schema.is_some()));
        if let Some(schema) = message.schema {
            params["outputSchema"] = schema;
        }
        let purpose = AppServerRequest::Turn(self.last_turn);
        vec![ProtocolEffect::Write(self.rpc.request(purpose, "turn/start", params, now))]
    }

    pub(super) fn steer(&mut self, text: String, now: Instant) -> Vec<ProtocolEffect> {
        match &mut self.turn {
            None => self.send(AgentMessage::text(text), now),
            Some(turn) if turn.is_interrupted => self.send(AgentMessage::text(text), now),
            Some(turn) => match turn.running_id() {
                Some(id) => {
                    let params = self.turn_params(&id, Some(&text));
                    let line =
                        self.rpc.request(AppServerRequest::Steer(text), "turn/steer", params, now);
                    vec![ProtocolEffect::Write(line)]
                }
                None => {
                    turn.early_steers.push(text);
                    Vec::new()
                }
            },
        }
    }

    fn interrupt(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        // The end of the interrupted turn has yet to be reported.
        if self.state == AppServerState::Stopping(TurnOrigin::Owner) {
            return Vec::new();
        }
        let mut effects = Vec::new();
        if self.turn.as_ref().is_none_or(|turn| turn.origin == TurnOrigin::Codex) {
            // The owner's message was not sent yet.
            let waited = self.queue.pop_front();
            effects.extend(waited.map(|_| ProtocolEffect::Emit(AgentEvent::TurnInterrupted)));
        }
        if let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_interrupted) {
            turn.is_interrupted = true;
            // A turn that is not running yet is interrupted as soon as it is.
            if let Some(id) = turn.running_id() {
                effects.push(self.interrupt_turn(&id, now));
            }
        }
        effects
    }

    pub(super) fn interrupt_turn(&mut self, id: &str, now: Instant) -> ProtocolEffect {
        let params = self.turn_params(id, None);
        ProtocolEffect::Write(self.rpc.request(
            AppServerRequest::Interrupt,
            "turn/interrupt",
            params,
            now,
        ))
    }

    /// The parameters of a request about a turn.
    fn turn_params(&self, id: &str, words: Option<&str>) -> Value {
        let thread = self.thread.as_ref().map(ConversationId::as_str);
        match words {
            Some(words) => {
                json!({"threadId": thread, "expectedTurnId": id, "input": text_input(words)})
            }
            None => json!({"threadId": thread, "turnId": id}),
        }
    }

    /// Answers an approval request. No response has room for a reason, so the
    /// reason is sent into the turn first and the agent reads both together.
    fn answer(
        &mut self,
        waiting: PendingApproval,
        decision: &ApprovalDecision,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let ours = waiting.thread.as_deref() == self.thread.as_ref().map(ConversationId::as_str);
        let turn = self.turn.as_ref().filter(|turn| ours && !turn.is_interrupted);
        let turn = turn.and_then(CodexTurn::running_id);
        if let (Some(reason), Some(turn)) = (waiting.reason_to_steer(decision), turn) {
            let params = self.turn_params(&turn, Some(&format!("Not allowed: {reason}")));
            let line =
                self.rpc.request(AppServerRequest::Reason(waiting), "turn/steer", params, now);
            return vec![ProtocolEffect::Write(line)];
        }
        vec![ProtocolEffect::Write(self.rpc.response(&waiting.request, waiting.response(decision)))]
    }
}

fn text_input(words: &str) -> Value {
    json!([{"type": "text", "text": words}])
}
