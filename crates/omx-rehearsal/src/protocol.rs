//! The driver's side of a conversation with the rehearsal agent: a pure state
//! machine.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::wire::{
    self, ApprovalAnswer, ApprovalParams, OpenReply, PlayerNotification, RefusalKind,
};
use omx_agents::agent::{
    AgentCommand, AgentMessage, ApprovalDecision, ConversationId, MessageLabels,
};
use omx_agents::driver::AgentKind;
use omx_agents::event::{AgentEvent, ApprovalId, Delivery};
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::protocol::{Launch, Protocol, ProtocolEffect, ProtocolEvent};
use omx_agents::rpc::{Rpc, RpcFailure, RpcIncoming};

/// What a request to the agent was for.
#[derive(Clone, Debug, PartialEq)]
enum RequestKind {
    Open,
    Turn,
    Steer(String),
    Interrupt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Opening,
    Idle,
    Busy,
}

/// Speaks with one rehearsal agent.
#[derive(Debug)]
pub(super) struct RehearsalProtocol {
    launch: Launch,
    open: wire::OpenParams,
    rpc: Rpc<RequestKind>,
    timeout: Duration,
    state: State,
    /// Messages for the turns after the current one.
    queue: VecDeque<AgentMessage>,
    approvals: BTreeMap<ApprovalId, Value>,
}

impl RehearsalProtocol {
    pub(super) fn new(launch: Launch, open: wire::OpenParams, timeout: Duration) -> Self {
        Self {
            launch,
            open,
            rpc: Rpc::version_2(timeout),
            timeout,
            state: State::Opening,
            queue: VecDeque::new(),
            approvals: BTreeMap::new(),
        }
    }

    fn request(
        &mut self,
        kind: RequestKind,
        method: &str,
        params: &impl Serialize,
        now: Instant,
    ) -> ProtocolEffect {
        // Parameters are plain data and always serialize.
        let params = serde_json::to_value(params).unwrap_or_default();
        ProtocolEffect::Write(self.rpc.request(kind, method, params, now))
    }

    fn handle_command(&mut self, command: AgentCommand, now: Instant) -> Vec<ProtocolEffect> {
        match (command, self.state) {
            (AgentCommand::Send(message), _) => self.send(message, now),
            (AgentCommand::Steer(text), State::Busy) => {
                let params = wire::SteerParams { text: text.clone() };
                vec![self.request(RequestKind::Steer(text), wire::STEER, &params, now)]
            }
            (AgentCommand::Steer(text), State::Opening | State::Idle) => {
                self.send(AgentMessage::text(text), now)
            }
            (AgentCommand::Interrupt, State::Busy) => {
                vec![self.request(RequestKind::Interrupt, wire::INTERRUPT, &json!({}), now)]
            }
            // The turn to interrupt has not started yet.
            (AgentCommand::Interrupt, State::Opening) if self.queue.pop_front().is_some() => {
                vec![ProtocolEffect::Emit(AgentEvent::TurnInterrupted)]
            }
            (AgentCommand::Interrupt, _) => Vec::new(),
            (AgentCommand::Answer(approval, decision), _) => {
                let Some(id) = self.approvals.remove(&approval) else { return Vec::new() };
                let answer = match decision {
                    ApprovalDecision::Allow => ApprovalAnswer::Allow,
                    ApprovalDecision::Deny(reason) => ApprovalAnswer::Deny { reason },
                };
                let answer = serde_json::to_value(answer).unwrap_or_default();
                vec![ProtocolEffect::Write(self.rpc.response(&id, answer))]
            }
            (AgentCommand::End, _) => vec![ProtocolEffect::CloseInput],
        }
    }

    /// Starts a turn now, or as soon as the agent is idle.
    fn send(&mut self, message: AgentMessage, now: Instant) -> Vec<ProtocolEffect> {
        let is_queued = self.state == State::Busy || !self.queue.is_empty();
        self.queue.push_back(message);
        let mut effects = self.start_next_turn(now);
        if is_queued {
            effects.push(ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Queued)));
        }
        effects
    }

    fn start_next_turn(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        if self.state != State::Idle {
            return Vec::new();
        }
        let Some(message) = self.queue.pop_front() else { return Vec::new() };
        self.state = State::Busy;
        let MessageLabels { role, phase, step } = message.labels;
        let params = wire::TurnParams { text: message.text, role, phase, step };
        vec![self.request(RequestKind::Turn, wire::TURN, &params, now)]
    }

    fn handle_line(&mut self, line: Value, now: Instant) -> Vec<ProtocolEffect> {
        match self.rpc.parse_incoming(line) {
            RpcIncoming::Response(kind, Ok(result)) => self.handle_result(kind, result, now),
            RpcIncoming::Response(kind, Err(error)) => self.handle_refusal(kind, error, now),
            RpcIncoming::Request { id, method, params } if method == wire::APPROVE => {
                match serde_json::from_value::<ApprovalParams>(params) {
                    Ok(params) => {
                        let approval = ApprovalId(id.to_string());
                        self.approvals.insert(approval.clone(), id);
                        let ask = params.into();
                        vec![ProtocolEffect::Emit(AgentEvent::ApprovalNeeded { approval, ask })]
                    }
                    Err(error) => protocol_error(&error),
                }
            }
            RpcIncoming::Notification { method, params } => {
                let notification = json!({"method": method, "params": params});
                match serde_json::from_value::<PlayerNotification>(notification) {
                    Ok(notification) => self.handle_event(notification.into(), now),
                    Err(error) => protocol_error(&error),
                }
            }
            RpcIncoming::Request { method, .. } => {
                protocol_error(&format_args!("unknown request {method:?}"))
            }
            RpcIncoming::Unknown(line) => {
                protocol_error(&format_args!("not a JSON-RPC message: {line}"))
            }
        }
    }

    fn handle_result(
        &mut self,
        kind: RequestKind,
        result: Value,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        match kind {
            RequestKind::Open => {
                let opened = serde_json::from_value::<OpenReply>(result);
                let opened = match opened {
                    Ok(opened) => opened,
                    Err(error) => return protocol_error(&error),
                };
                let Some(conversation) = ConversationId::new(&opened.conversation) else {
                    return protocol_error(&"invalid conversation id");
                };
                self.state = State::Idle;
                let started = AgentEvent::Started { conversation, model: opened.model };
                let mut effects = vec![ProtocolEffect::Emit(started)];
                effects.extend(self.start_next_turn(now));
                effects
            }
            RequestKind::Turn => vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn))],
            RequestKind::Steer(_) => {
                vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Steered))]
            }
            RequestKind::Interrupt => Vec::new(),
        }
    }

    fn handle_refusal(
        &mut self,
        kind: RequestKind,
        error: RpcFailure,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let detail = error.message;
        match (kind, RefusalKind::from_code(error.code)) {
            // The turn ended before the message arrived, so it starts the next one.
            (RequestKind::Steer(text), Some(RefusalKind::NoTurn)) => {
                self.send(AgentMessage::text(text), now)
            }
            (_, Some(RefusalKind::UnknownConversation)) => {
                fail(FailureCause::UnknownConversation { detail })
            }
            (_, Some(RefusalKind::Scenario)) => fail(FailureCause::Scenario { detail }),
            _ => fail(FailureCause::Protocol { detail }),
        }
    }

    fn handle_event(&mut self, event: AgentEvent, now: Instant) -> Vec<ProtocolEffect> {
        let ends_turn = matches!(
            event,
            AgentEvent::TurnFinished(_) | AgentEvent::TurnInterrupted | AgentEvent::TurnFailed(_)
        );
        if ends_turn && self.state != State::Busy {
            return protocol_error(&"a turn ended that was not running");
        }
        let mut effects = vec![ProtocolEffect::Emit(event)];
        if ends_turn {
            self.state = State::Idle;
            self.approvals.clear();
            effects.extend(self.start_next_turn(now));
        }
        effects
    }
}

impl Protocol for RehearsalProtocol {
    fn start(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let launch = ProtocolEffect::Launch(self.launch.clone());
        let open = self.open.clone();
        vec![launch, self.request(RequestKind::Open, wire::OPEN, &open, now)]
    }

    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(command) => self.handle_command(command, now),
            ProtocolEvent::Line(line) => self.handle_line(line, now),
            ProtocolEvent::Exited(exit) => {
                fail(FailureCause::Crashed { code: exit.code, stderr: exit.stderr })
            }
            ProtocolEvent::Tick => match self.rpc.take_expired(now) {
                Some(_) => fail(FailureCause::Silent { waited: self.timeout, during: "answering" }),
                None => Vec::new(),
            },
        }
    }

    fn has_pending_turn(&self) -> bool {
        self.state == State::Busy || !self.queue.is_empty()
    }

    fn next_tick(&self) -> Option<Instant> {
        self.rpc.next_deadline()
    }
}

fn fail(cause: FailureCause) -> Vec<ProtocolEffect> {
    vec![ProtocolEffect::Fail(Failure::new(AgentKind::Rehearsal, cause))]
}

fn protocol_error(detail: &impl ToString) -> Vec<ProtocolEffect> {
    fail(FailureCause::Protocol { detail: detail.to_string() })
}
