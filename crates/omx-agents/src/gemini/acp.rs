//! The Agent Client Protocol as gemini speaks it: JSON-RPC lines.
//!
//! The driver opens a session (`initialize`, then `session/new` or
//! `session/load`) and runs one turn at a time (`session/prompt`, which gemini
//! answers at the end of the turn). During a turn, gemini sends `session/update`
//! and asks with `session/request_permission`.

mod commands;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use omx_kernel::Timestamp;
use serde_json::Value;

use super::errors::{self, cut_off, gemini_failure, turn_failed};
use super::retries::{RetryAttempt, RetryLog};
use super::session::{AcpCall, GeminiSession, initialize_call};
use super::turn::GeminiTurn;
use crate::agent::ConversationStart;
use crate::event::AgentEvent;
use crate::failure::FailureCause;
use crate::limits::AgentLimits;
use crate::protocol::{Launch, Protocol, ProtocolEffect, ProtocolEvent};
use crate::rpc::{Rpc, RpcFailure, RpcIncoming};

/// The failed attempt at which the driver stops gemini's own retries.
const ATTEMPTS: u32 = 3;
/// The longest pause between retries that the driver tolerates.
const WAIT: Duration = Duration::from_secs(30);
/// How long gemini may take to abandon a request. While it selects a model, it
/// checks for cancellation only every 40 seconds.
const SETTLE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AcpRequest {
    Initialize,
    Open,
    LogIn,
    SetMode,
    Prompt,
}

impl AcpRequest {
    fn during(self) -> &'static str {
        match self {
            Self::Initialize => "starting",
            Self::Open | Self::LogIn | Self::SetMode => "opening the conversation",
            Self::Prompt => "working",
        }
    }
}

/// What gemini is doing.
#[derive(Debug)]
enum AcpActivity {
    /// Nothing.
    Idle,
    /// A turn is running.
    Turn(GeminiTurn),
    /// The turn was abandoned; gemini must notice by then.
    Settling(Instant),
}

/// One conversation with gemini.
#[derive(Debug)]
pub(super) struct AcpProtocol {
    rpc: Rpc<AcpRequest>,
    launch: Launch,
    limits: AgentLimits,
    clock: fn() -> Timestamp,
    session: GeminiSession,
    /// The role, until a turn with it has finished: gemini forgets interrupted
    /// turns.
    role: Option<String>,
    queue: VecDeque<String>,
    activity: AcpActivity,
    retries: RetryLog,
}

impl AcpProtocol {
    pub(super) fn new(
        launch: Launch,
        session: GeminiSession,
        limits: AgentLimits,
        clock: fn() -> Timestamp,
    ) -> Self {
        let spec = session.spec();
        let role = if spec.start == ConversationStart::New { spec.role.clone() } else { None };
        Self {
            rpc: Rpc::version_2(limits.request),
            launch,
            limits,
            clock,
            session,
            role,
            queue: VecDeque::new(),
            activity: AcpActivity::Idle,
            retries: RetryLog::default(),
        }
    }

    fn turn(&mut self) -> Option<&mut GeminiTurn> {
        match &mut self.activity {
            AcpActivity::Turn(turn) => Some(turn),
            AcpActivity::Idle | AcpActivity::Settling(_) => None,
        }
    }

    fn handle_line(&mut self, line: Value, now: Instant) -> Vec<ProtocolEffect> {
        match self.rpc.parse_incoming(line) {
            RpcIncoming::Response(purpose, answer) => self.handle_response(purpose, answer, now),
            RpcIncoming::Request { id, method, params } => {
                self.handle_request(id, &method, &params)
            }
            RpcIncoming::Notification { method, params } if method == "session/update" => {
                self.handle_update(&params["update"], now)
            }
            RpcIncoming::Notification { .. } | RpcIncoming::Unknown(_) => Vec::new(),
        }
    }

    fn handle_request(&mut self, id: Value, method: &str, params: &Value) -> Vec<ProtocolEffect> {
        if method != "session/request_permission" {
            return vec![ProtocolEffect::Write(self.rpc.reject(
                &id,
                -32601,
                "not supported by this client",
            ))];
        }
        let requested = match &mut self.activity {
            AcpActivity::Turn(turn) => turn.request_permission(id, params, self.session.spec()),
            AcpActivity::Idle | AcpActivity::Settling(_) => Err(id),
        };
        match requested {
            Ok(events) => emit(events),
            Err(id) => vec![ProtocolEffect::Write(self.cancelled_permission(&id))],
        }
    }

    fn handle_update(&mut self, update: &Value, now: Instant) -> Vec<ProtocolEffect> {
        if !self.session.is_open() {
            self.session.handle_replay(update);
            return self.start_if_open(now);
        }
        match &mut self.activity {
            AcpActivity::Turn(turn) => emit(turn.update(update, self.session.spec())),
            AcpActivity::Idle | AcpActivity::Settling(_) => Vec::new(),
        }
    }

    fn handle_response(
        &mut self,
        purpose: AcpRequest,
        answer: Result<Value, RpcFailure>,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let next = match (purpose, answer) {
            (AcpRequest::Prompt, answer) => return self.turn_ended(answer, now),
            (AcpRequest::Initialize, Ok(result)) => {
                self.session.initialized(&result).map(|asking| Some((AcpRequest::Open, asking)))
            }
            (AcpRequest::Open, Ok(result)) => self
                .session
                .opened(&result, now)
                .map(|asking| asking.map(|asking| (AcpRequest::SetMode, asking))),
            (AcpRequest::SetMode, Ok(_)) => {
                self.session.mode_set();
                Ok(None)
            }
            (AcpRequest::LogIn, Ok(_)) => {
                Ok(self.session.take_open_call().map(|asking| (AcpRequest::Open, asking)))
            }
            (AcpRequest::Open, Err(error)) => self.open_rejected(&error),
            (AcpRequest::Initialize | AcpRequest::LogIn | AcpRequest::SetMode, Err(error)) => {
                Err(self.failure_cause(&error))
            }
        };
        match next {
            Ok(Some((purpose, asking))) => vec![self.send_call(purpose, asking, now)],
            Ok(None) => self.start_if_open(now),
            Err(cause) => fail(cause),
        }
    }

    fn send_call(
        &mut self,
        purpose: AcpRequest,
        (method, params): AcpCall,
        now: Instant,
    ) -> ProtocolEffect {
        ProtocolEffect::Write(self.rpc.request(purpose, method, params, now))
    }

    fn open_rejected(
        &mut self,
        error: &RpcFailure,
    ) -> Result<Option<(AcpRequest, AcpCall)>, FailureCause> {
        match (self.failure_cause(error), &self.session.spec().start) {
            (FailureCause::NotLoggedIn { detail }, _) => match self.session.login_call() {
                Some(asking) => Ok(Some((AcpRequest::LogIn, asking))),
                None => Err(FailureCause::NotLoggedIn { detail }),
            },
            (FailureCause::Protocol { detail }, ConversationStart::Resume(_)) => {
                Err(FailureCause::UnknownConversation { detail })
            }
            (cause, _) => Err(cause),
        }
    }

    fn start_if_open(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let Some(started) = self.session.try_open() else { return Vec::new() };
        let mut effects = vec![ProtocolEffect::Emit(started)];
        effects.extend(self.next_turn(now));
        effects
    }

    /// Gemini has answered a prompt: the turn is over.
    fn turn_ended(
        &mut self,
        answer: Result<Value, RpcFailure>,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let mut events = Vec::new();
        if let AcpActivity::Turn(mut turn) =
            std::mem::replace(&mut self.activity, AcpActivity::Idle)
        {
            events = turn.close(answer.as_ref().unwrap_or(&Value::Null));
            let last = self.turn_outcome(&mut turn, answer, &mut events);
            events.push(last);
        }
        let mut effects = emit(events);
        effects.extend(self.next_turn(now));
        effects
    }

    /// How a turn ended. Adds the remaining text to the events.
    fn turn_outcome(
        &mut self,
        turn: &mut GeminiTurn,
        answer: Result<Value, RpcFailure>,
        events: &mut Vec<AgentEvent>,
    ) -> AgentEvent {
        let result = match answer {
            Err(_) if turn.is_interrupted() => return AgentEvent::TurnInterrupted,
            Err(error) => return turn_failed(self.failure_cause(&error)),
            Ok(result) => result,
        };
        match result["stopReason"].as_str() {
            Some("cancelled") if turn.is_interrupted() => AgentEvent::TurnInterrupted,
            Some("cancelled") => cut_off("gemini ended the turn on its own"),
            Some("end_turn") => match turn.finish(&result) {
                Some((pieces, answer)) => {
                    self.role = None;
                    events.splice(0..0, pieces);
                    AgentEvent::TurnFinished(answer)
                }
                None => cut_off("the answer is incomplete"),
            },
            Some(reason) => turn_failed(FailureCause::Rejected {
                detail: format!("gemini stopped with the reason {reason}"),
            }),
            None => turn_failed(FailureCause::Protocol {
                detail: "a turn ended without a stop reason".to_owned(),
            }),
        }
    }

    fn tick(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        if let Some(purpose) = self.rpc.take_expired(now) {
            let (waited, during) = (self.limits.request, purpose.during());
            return fail(FailureCause::Silent { waited, during });
        }
        if self.settled_by().is_some_and(|deadline| deadline <= now) {
            return fail(FailureCause::Silent { waited: SETTLE, during: "cancelling a request" });
        }
        if self.session.replay_deadline().is_some_and(|deadline| deadline <= now) {
            self.session.end_replay();
        }
        self.start_if_open(now)
    }

    fn settled_by(&self) -> Option<Instant> {
        match self.activity {
            AcpActivity::Settling(deadline) => Some(deadline),
            AcpActivity::Idle | AcpActivity::Turn(_) => None,
        }
    }

    fn handle_retry(&mut self, retry: RetryAttempt, now: Instant) -> Vec<ProtocolEffect> {
        let Some(turn) = self.turn() else { return Vec::new() };
        turn.note_retry();
        let mut effects = emit(vec![AgentEvent::Retrying(gemini_failure(retry.cause.clone()))]);
        if retry.attempt >= ATTEMPTS || retry.wait.is_some_and(|wait| wait > WAIT) {
            effects.extend(self.abandon_turn(turn_failed(retry.cause), now));
        }
        effects
    }

    fn failure_cause(&self, error: &RpcFailure) -> FailureCause {
        errors::classify(error, self.session.model(), (self.clock)())
    }
}

impl Protocol for AcpProtocol {
    fn start(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let introduce = self.send_call(AcpRequest::Initialize, initialize_call(), now);
        vec![ProtocolEffect::Launch(self.launch.clone()), introduce]
    }

    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(command) => self.handle_command(command, now),
            ProtocolEvent::Line(line) => self.handle_line(line, now),
            ProtocolEvent::Exited(exit) => fail(errors::classify_exit(&exit)),
            ProtocolEvent::Tick => self.tick(now),
        }
    }

    fn has_pending_turn(&self) -> bool {
        matches!(self.activity, AcpActivity::Turn(_)) || !self.queue.is_empty()
    }

    fn handle_stderr(&mut self, line: &str, now: Instant) -> Vec<ProtocolEffect> {
        match self.retries.read_line(line, (self.clock)()) {
            Some(retry) => self.handle_retry(retry, now),
            None => Vec::new(),
        }
    }

    fn next_tick(&self) -> Option<Instant> {
        let own = [self.rpc.next_deadline(), self.settled_by(), self.session.replay_deadline()];
        own.into_iter().flatten().min()
    }
}

fn emit(events: Vec<AgentEvent>) -> Vec<ProtocolEffect> {
    events.into_iter().map(ProtocolEffect::Emit).collect()
}

fn fail(cause: FailureCause) -> Vec<ProtocolEffect> {
    vec![ProtocolEffect::Fail(gemini_failure(cause))]
}
