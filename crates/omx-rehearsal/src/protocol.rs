//! The driver's side of the conversation with a rehearsal agent.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::wire::{self, Opened, Refused, Told, Verdict, Wish};
use omx_agents::agent::{
    AgentCommand, AgentMessage, ApprovalDecision, ConversationId, MessageLabels,
};
use omx_agents::driver::AgentKind;
use omx_agents::event::{AgentEvent, ApprovalId, Delivery};
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::protocol::{Launch, Protocol, ProtocolEffect, ProtocolEvent};
use omx_agents::rpc::{Rpc, RpcError, RpcIncoming};

/// What a request of ours was for.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
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

/// The machine that speaks with one rehearsal agent.
#[derive(Debug)]
pub(super) struct Talk {
    launch: Launch,
    open: wire::Open,
    rpc: Rpc<Asked>,
    patience: Duration,
    state: State,
    /// What is said when the turn that runs is over.
    queue: VecDeque<AgentMessage>,
    approvals: BTreeMap<ApprovalId, Value>,
}

impl Talk {
    pub(super) fn new(launch: Launch, open: wire::Open, patience: Duration) -> Self {
        Self {
            launch,
            open,
            rpc: Rpc::version_2(patience),
            patience,
            state: State::Opening,
            queue: VecDeque::new(),
            approvals: BTreeMap::new(),
        }
    }

    fn ask(
        &mut self,
        asked: Asked,
        method: &str,
        params: &impl Serialize,
        now: Instant,
    ) -> ProtocolEffect {
        // Every one of them is plain data; one that is not would be refused.
        let params = serde_json::to_value(params).unwrap_or_default();
        ProtocolEffect::Write(self.rpc.request(asked, method, params, now))
    }

    fn order(&mut self, order: AgentCommand, now: Instant) -> Vec<ProtocolEffect> {
        match (order, self.state) {
            (AgentCommand::Send(message), _) => self.say(message, now),
            (AgentCommand::Steer(text), State::Busy) => {
                let params = wire::Steer { text: text.clone() };
                vec![self.ask(Asked::Steer(text), wire::STEER, &params, now)]
            }
            (AgentCommand::Steer(text), State::Opening | State::Idle) => {
                self.say(AgentMessage::text(text), now)
            }
            (AgentCommand::Interrupt, State::Busy) => {
                vec![self.ask(Asked::Interrupt, wire::INTERRUPT, &json!({}), now)]
            }
            // The turn that is ended has not begun yet.
            (AgentCommand::Interrupt, State::Opening) if self.queue.pop_front().is_some() => {
                vec![ProtocolEffect::Emit(AgentEvent::TurnInterrupted)]
            }
            (AgentCommand::Interrupt, _) => Vec::new(),
            (AgentCommand::Answer(approval, decision), _) => {
                let Some(id) = self.approvals.remove(&approval) else { return Vec::new() };
                let verdict = match decision {
                    ApprovalDecision::Allow => Verdict::Allow,
                    ApprovalDecision::Deny(reason) => Verdict::Deny { reason },
                };
                let verdict = serde_json::to_value(verdict).unwrap_or_default();
                vec![ProtocolEffect::Write(self.rpc.response(&id, verdict))]
            }
            (AgentCommand::End, _) => vec![ProtocolEffect::CloseInput],
        }
    }

    /// Begins a turn now, or when it can.
    fn say(&mut self, message: AgentMessage, now: Instant) -> Vec<ProtocolEffect> {
        let waits = self.state == State::Busy || !self.queue.is_empty();
        self.queue.push_back(message);
        let mut effects = self.begin_next_turn(now);
        if waits {
            effects.push(ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Queued)));
        }
        effects
    }

    fn begin_next_turn(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        if self.state != State::Idle {
            return Vec::new();
        }
        let Some(message) = self.queue.pop_front() else { return Vec::new() };
        self.state = State::Busy;
        let MessageLabels { role, phase, step } = message.labels;
        let params = wire::Turn { text: message.text, role, phase, step };
        vec![self.ask(Asked::Turn, wire::TURN, &params, now)]
    }

    fn line(&mut self, line: Value, now: Instant) -> Vec<ProtocolEffect> {
        match self.rpc.parse_incoming(line) {
            RpcIncoming::Response(asked, Ok(result)) => self.granted(asked, result, now),
            RpcIncoming::Response(asked, Err(error)) => self.refused(asked, error, now),
            RpcIncoming::Request { id, method, params } if method == wire::APPROVE => {
                match serde_json::from_value::<Wish>(params) {
                    Ok(wish) => {
                        let approval = ApprovalId(id.to_string());
                        self.approvals.insert(approval.clone(), id);
                        let ask = wish.into();
                        vec![ProtocolEffect::Emit(AgentEvent::ApprovalNeeded { approval, ask })]
                    }
                    Err(error) => strange(&error),
                }
            }
            RpcIncoming::Notification { method, params } => {
                let told = json!({"method": method, "params": params});
                match serde_json::from_value::<Told>(told) {
                    Ok(told) => self.told(told.into(), now),
                    Err(error) => strange(&error),
                }
            }
            RpcIncoming::Request { method, .. } => strange(&format_args!("it asks for {method}")),
            RpcIncoming::Unknown(line) => strange(&format_args!("it says {line}")),
        }
    }

    fn granted(&mut self, asked: Asked, result: Value, now: Instant) -> Vec<ProtocolEffect> {
        match asked {
            Asked::Open => {
                let opened = serde_json::from_value::<Opened>(result);
                let opened = match opened {
                    Ok(opened) => opened,
                    Err(error) => return strange(&error),
                };
                let Some(conversation) = ConversationId::new(&opened.conversation) else {
                    return strange(&"its conversation has an odd name");
                };
                self.state = State::Idle;
                let started = AgentEvent::Started { conversation, model: opened.model };
                let mut effects = vec![ProtocolEffect::Emit(started)];
                effects.extend(self.begin_next_turn(now));
                effects
            }
            Asked::Turn => vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn))],
            Asked::Steer(_) => vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Steered))],
            Asked::Interrupt => Vec::new(),
        }
    }

    fn refused(&mut self, asked: Asked, error: RpcError, now: Instant) -> Vec<ProtocolEffect> {
        let detail = error.message;
        match (asked, Refused::of(error.code)) {
            // The turn was over before the words arrived: they begin the next.
            (Asked::Steer(text), Some(Refused::NoTurn)) => self.say(AgentMessage::text(text), now),
            (_, Some(Refused::UnknownConversation)) => {
                fail(FailureCause::UnknownConversation { detail })
            }
            (_, Some(Refused::Scenario)) => fail(FailureCause::Scenario { detail }),
            _ => fail(FailureCause::Protocol { detail }),
        }
    }

    fn told(&mut self, event: AgentEvent, now: Instant) -> Vec<ProtocolEffect> {
        let over = matches!(
            event,
            AgentEvent::TurnFinished(_) | AgentEvent::TurnInterrupted | AgentEvent::TurnFailed(_)
        );
        if over && self.state != State::Busy {
            return strange(&"a turn ends that does not run");
        }
        let mut effects = vec![ProtocolEffect::Emit(event)];
        if over {
            self.state = State::Idle;
            self.approvals.clear();
            effects.extend(self.begin_next_turn(now));
        }
        effects
    }
}

impl Protocol for Talk {
    fn start(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let launch = ProtocolEffect::Launch(self.launch.clone());
        let open = self.open.clone();
        vec![launch, self.ask(Asked::Open, wire::OPEN, &open, now)]
    }

    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(order) => self.order(order, now),
            ProtocolEvent::Line(line) => self.line(line, now),
            ProtocolEvent::Exited(exit) => {
                fail(FailureCause::Crashed { code: exit.code, stderr: exit.stderr })
            }
            ProtocolEvent::Tick => match self.rpc.take_expired(now) {
                Some(_) => {
                    fail(FailureCause::Silent { waited: self.patience, during: "answering" })
                }
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

fn strange(detail: &impl ToString) -> Vec<ProtocolEffect> {
    fail(FailureCause::Protocol { detail: detail.to_string() })
}
