//! The agent client protocol as gemini speaks it: JSON-RPC lines.
//!
//! A conversation is opened (`initialize`, `session/new` or `session/load`),
//! then one turn at a time is run (`session/prompt`, answered when the turn is
//! over). Meanwhile gemini tells (`session/update`) and asks
//! (`session/request_permission`).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use omx_kernel::Timestamp;
use serde_json::{Value, json};

use super::door::{Asking, Door, introduction};
use super::errors::{self, cut_off, failed, trouble};
use super::retries::{Retries, Retry};
use super::turn::{Turn, words};
use crate::agent::{AgentCommand, ConversationStart};
use crate::event::{AgentEvent, Delivery};
use crate::failure::FailureCause;
use crate::limits::AgentLimits;
use crate::protocol::{Launch, Protocol, ProtocolEffect, ProtocolEvent};
use crate::rpc::{Rpc, RpcError, RpcIncoming};

/// A turn's request has no deadline of its own: silence is the loop's business.
const TURN: Duration = Duration::from_secs(30 * 24 * 3600);
/// With which failed attempt gemini's own retries are given up.
const ATTEMPTS: u32 = 3;
/// Longer than this gemini does not wait by itself.
const WAIT: Duration = Duration::from_secs(30);
/// Within this time gemini lets go of a request it tried again: while it
/// chooses a model it waits up to 40 seconds before it looks whether it was told to.
const SETTLE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Introduce,
    Open,
    LogIn,
    SetMode,
    Prompt,
}

impl Purpose {
    fn during(self) -> &'static str {
        match self {
            Self::Introduce => "starting",
            Self::Open | Self::LogIn | Self::SetMode => "opening the conversation",
            Self::Prompt => "working",
        }
    }
}

/// Whether gemini is busy.
#[derive(Debug)]
enum Work {
    /// It waits for us.
    None,
    /// A turn runs.
    Turn(Turn),
    /// A turn is over for us, and gemini has until then to see it.
    Settling(Instant),
}

/// One conversation with gemini.
#[derive(Debug)]
pub(super) struct Acp {
    rpc: Rpc<Purpose>,
    launch: Launch,
    limits: AgentLimits,
    clock: fn() -> Timestamp,
    door: Door,
    /// The role, until a turn with it has come to its end: gemini forgets a
    /// turn that was interrupted.
    role: Option<String>,
    queue: VecDeque<String>,
    work: Work,
    retries: Retries,
}

impl Acp {
    pub(super) fn new(
        launch: Launch,
        door: Door,
        limits: AgentLimits,
        clock: fn() -> Timestamp,
    ) -> Self {
        let opening = door.opening();
        let role =
            if opening.start == ConversationStart::New { opening.role.clone() } else { None };
        Self {
            rpc: Rpc::version_2(limits.request),
            launch,
            limits,
            clock,
            door,
            role,
            queue: VecDeque::new(),
            work: Work::None,
            retries: Retries::default(),
        }
    }

    fn turn(&mut self) -> Option<&mut Turn> {
        match &mut self.work {
            Work::Turn(turn) => Some(turn),
            Work::None | Work::Settling(_) => None,
        }
    }

    fn order(&mut self, order: AgentCommand, now: Instant) -> Vec<ProtocolEffect> {
        match order {
            AgentCommand::Send(message) => self.say(message.text, now),
            // Gemini hears nothing while a turn runs.
            AgentCommand::Steer(text) => self.say(text, now),
            AgentCommand::Interrupt => self.interrupt(now),
            AgentCommand::Answer(approval, decision) => {
                let answer = self.turn().and_then(|turn| turn.answer(&approval, &decision));
                let Some((request, answer, events)) = answer else { return Vec::new() };
                let mut effects = vec![ProtocolEffect::Write(self.rpc.answer(&request, answer))];
                effects.extend(emit(events));
                effects
            }
            AgentCommand::End => vec![ProtocolEffect::CloseInput],
        }
    }

    fn say(&mut self, text: String, now: Instant) -> Vec<ProtocolEffect> {
        self.queue.push_back(text);
        match self.work {
            Work::Turn(_) => emit(vec![AgentEvent::Delivered(Delivery::Queued)]),
            Work::None | Work::Settling(_) => self.next_turn(now),
        }
    }

    /// Begins the next turn if one waits and gemini is free for it.
    fn next_turn(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        if !self.door.is_open() || !matches!(self.work, Work::None) {
            return Vec::new();
        }
        let Some(text) = self.queue.pop_front() else { return Vec::new() };
        let words = words(self.role.as_deref(), &text);
        let prompt = json!([{"type": "text", "text": words}]);
        let params = json!({"sessionId": self.door.session(), "prompt": prompt});
        let line = self.rpc.request_until(Purpose::Prompt, "session/prompt", params, now + TURN);
        self.work = Work::Turn(Turn::default());
        vec![
            ProtocolEffect::Write(line),
            ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn)),
        ]
    }

    fn interrupt(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let Work::Turn(turn) = &mut self.work else {
            // Said, and never sent.
            let dropped = self.queue.pop_front();
            return dropped
                .map(|_| ProtocolEffect::Emit(AgentEvent::TurnInterrupted))
                .into_iter()
                .collect();
        };
        if turn.is_retrying() {
            return self.leave(AgentEvent::TurnInterrupted, now);
        }
        if turn.interrupt() { self.cancel() } else { Vec::new() }
    }

    /// Tells gemini to stop; it then waits for no permission any more.
    fn cancel(&mut self) -> Vec<ProtocolEffect> {
        let params = json!({"sessionId": self.door.session()});
        let mut effects =
            vec![ProtocolEffect::Write(self.rpc.notification("session/cancel", params))];
        let asked = self.turn().map(Turn::withdraw).unwrap_or_default();
        effects.extend(asked.iter().map(|request| ProtocolEffect::Write(self.withdrawn(request))));
        effects
    }

    fn withdrawn(&self, request: &Value) -> Value {
        self.rpc.answer(request, json!({"outcome": {"outcome": "cancelled"}}))
    }

    /// Ends a turn in which gemini does nothing but try a request again.
    fn leave(&mut self, last: AgentEvent, now: Instant) -> Vec<ProtocolEffect> {
        let mut effects = self.cancel();
        if let Work::Turn(mut turn) =
            std::mem::replace(&mut self.work, Work::Settling(now + SETTLE))
        {
            effects.extend(emit(turn.close(&Value::Null)));
        }
        effects.push(ProtocolEffect::Emit(last));
        effects
    }

    fn line(&mut self, line: Value, now: Instant) -> Vec<ProtocolEffect> {
        match self.rpc.incoming(line) {
            RpcIncoming::Answer(purpose, answer) => self.answered(purpose, answer, now),
            RpcIncoming::Request { id, method, params } => self.asked(id, &method, &params),
            RpcIncoming::Notification { method, params } if method == "session/update" => {
                self.update(&params["update"], now)
            }
            RpcIncoming::Notification { .. } | RpcIncoming::Unknown(_) => Vec::new(),
        }
    }

    fn asked(&mut self, id: Value, method: &str, params: &Value) -> Vec<ProtocolEffect> {
        if method != "session/request_permission" {
            return vec![ProtocolEffect::Write(self.rpc.refuse(&id, -32601, "not offered"))];
        }
        let asked = match &mut self.work {
            Work::Turn(turn) => turn.ask(id, params, self.door.opening()),
            Work::None | Work::Settling(_) => Err(id),
        };
        match asked {
            Ok(events) => emit(events),
            Err(id) => vec![ProtocolEffect::Write(self.withdrawn(&id))],
        }
    }

    fn update(&mut self, update: &Value, now: Instant) -> Vec<ProtocolEffect> {
        if !self.door.is_open() {
            self.door.hear(update);
            return self.enter(now);
        }
        match &mut self.work {
            Work::Turn(turn) => emit(turn.update(update, self.door.opening())),
            Work::None | Work::Settling(_) => Vec::new(),
        }
    }

    fn answered(
        &mut self,
        purpose: Purpose,
        answer: Result<Value, RpcError>,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let next = match (purpose, answer) {
            (Purpose::Prompt, answer) => return self.prompted(answer, now),
            (Purpose::Introduce, Ok(result)) => {
                self.door.introduced(&result).map(|asking| Some((Purpose::Open, asking)))
            }
            (Purpose::Open, Ok(result)) => self
                .door
                .opened(&result, now)
                .map(|asking| asking.map(|asking| (Purpose::SetMode, asking))),
            (Purpose::SetMode, Ok(_)) => {
                self.door.mode_set();
                Ok(None)
            }
            (Purpose::LogIn, Ok(_)) => Ok(self.door.again().map(|asking| (Purpose::Open, asking))),
            (Purpose::Open, Err(error)) => self.not_opened(&error),
            (Purpose::Introduce | Purpose::LogIn | Purpose::SetMode, Err(error)) => {
                Err(self.cause(&error))
            }
        };
        match next {
            Ok(Some((purpose, asking))) => vec![self.ask(purpose, asking, now)],
            Ok(None) => self.enter(now),
            Err(cause) => fail(cause),
        }
    }

    fn ask(&mut self, purpose: Purpose, (method, params): Asking, now: Instant) -> ProtocolEffect {
        ProtocolEffect::Write(self.rpc.request(purpose, method, params, now))
    }

    fn not_opened(&mut self, error: &RpcError) -> Result<Option<(Purpose, Asking)>, FailureCause> {
        match (self.cause(error), &self.door.opening().start) {
            (FailureCause::NotLoggedIn { detail }, _) => match self.door.log_in() {
                Some(asking) => Ok(Some((Purpose::LogIn, asking))),
                None => Err(FailureCause::NotLoggedIn { detail }),
            },
            (FailureCause::Protocol { detail }, ConversationStart::Resume(_)) => {
                Err(FailureCause::UnknownConversation { detail })
            }
            (cause, _) => Err(cause),
        }
    }

    fn enter(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let Some(started) = self.door.open() else { return Vec::new() };
        let mut effects = vec![ProtocolEffect::Emit(started)];
        effects.extend(self.next_turn(now));
        effects
    }

    /// Gemini has answered a prompt: its turn is over.
    fn prompted(&mut self, answer: Result<Value, RpcError>, now: Instant) -> Vec<ProtocolEffect> {
        let mut events = Vec::new();
        if let Work::Turn(mut turn) = std::mem::replace(&mut self.work, Work::None) {
            events = turn.close(answer.as_ref().unwrap_or(&Value::Null));
            let last = self.last(&mut turn, answer, &mut events);
            events.push(last);
        }
        let mut effects = emit(events);
        effects.extend(self.next_turn(now));
        effects
    }

    /// How a turn ended, with the words before its end put into the events.
    fn last(
        &mut self,
        turn: &mut Turn,
        answer: Result<Value, RpcError>,
        events: &mut Vec<AgentEvent>,
    ) -> AgentEvent {
        let result = match answer {
            Err(_) if turn.is_interrupted() => return AgentEvent::TurnInterrupted,
            Err(error) => return failed(self.cause(&error)),
            Ok(result) => result,
        };
        match result["stopReason"].as_str() {
            Some("cancelled") if turn.is_interrupted() => AgentEvent::TurnInterrupted,
            Some("cancelled") => cut_off("it stopped by itself"),
            Some("end_turn") => match turn.finish(&result) {
                Some((pieces, answer)) => {
                    self.role = None;
                    events.splice(0..0, pieces);
                    AgentEvent::TurnFinished(answer)
                }
                None => cut_off("the answer is not whole"),
            },
            Some(reason) => {
                failed(FailureCause::Rejected { detail: format!("it stopped: {reason}") })
            }
            None => failed(FailureCause::Protocol { detail: "a turn without an end".to_owned() }),
        }
    }

    fn tick(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        if let Some(purpose) = self.rpc.expired(now) {
            let (waited, during) = (self.limits.request, purpose.during());
            return fail(FailureCause::Silent { waited, during });
        }
        if self.settled_by().is_some_and(|deadline| deadline <= now) {
            return fail(FailureCause::Silent { waited: SETTLE, during: "giving up a request" });
        }
        if self.door.deadline().is_some_and(|deadline| deadline <= now) {
            self.door.end_replay();
        }
        self.enter(now)
    }

    fn settled_by(&self) -> Option<Instant> {
        match self.work {
            Work::Settling(deadline) => Some(deadline),
            Work::None | Work::Turn(_) => None,
        }
    }

    fn retried(&mut self, retry: Retry, now: Instant) -> Vec<ProtocolEffect> {
        let Some(turn) = self.turn() else { return Vec::new() };
        turn.retries();
        let mut effects = emit(vec![AgentEvent::Retrying(trouble(retry.cause.clone()))]);
        if retry.attempt >= ATTEMPTS || retry.wait.is_some_and(|wait| wait > WAIT) {
            effects.extend(self.leave(failed(retry.cause), now));
        }
        effects
    }

    fn cause(&self, error: &RpcError) -> FailureCause {
        errors::cause(error, self.door.model(), (self.clock)())
    }
}

impl Protocol for Acp {
    fn begin(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let introduce = self.ask(Purpose::Introduce, introduction(), now);
        vec![ProtocolEffect::Launch(self.launch.clone()), introduce]
    }

    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(order) => self.order(order, now),
            ProtocolEvent::Line(line) => self.line(line, now),
            ProtocolEvent::Exited(exit) => fail(errors::ended(&exit)),
            ProtocolEvent::Tick => self.tick(now),
        }
    }

    fn owes_turn(&self) -> bool {
        matches!(self.work, Work::Turn(_)) || !self.queue.is_empty()
    }

    fn overhear(&mut self, line: &str, now: Instant) -> Vec<ProtocolEffect> {
        match self.retries.take(line, (self.clock)()) {
            Some(retry) => self.retried(retry, now),
            None => Vec::new(),
        }
    }

    fn wake(&self) -> Option<Instant> {
        let own = [self.rpc.next_deadline(), self.settled_by(), self.door.deadline()];
        own.into_iter().flatten().min()
    }
}

fn emit(events: Vec<AgentEvent>) -> Vec<ProtocolEffect> {
    events.into_iter().map(ProtocolEffect::Emit).collect()
}

fn fail(cause: FailureCause) -> Vec<ProtocolEffect> {
    vec![ProtocolEffect::Fail(trouble(cause))]
}
