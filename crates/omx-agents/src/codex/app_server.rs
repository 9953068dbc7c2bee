//! The protocol of `codex app-server`: JSON-RPC lines in both directions.
//!
//! After an interrupt, codex leaves the turn's commands running. So the driver
//! terminates the process once the turn is over and resumes the conversation in
//! a new one.

mod commands;
mod notifications;
mod request;
mod turn;

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};

use self::request::AppServerRequest;
use self::turn::{CodexTurn, TurnEnd, TurnNumber, TurnOrigin};
use super::approvals::PendingApprovals;
use super::errors::{self, ErrorContext, classify_open_error, codex_failure, crash_cause};
use super::items::TurnItems;
use super::limit_resets::LimitResets;
use super::options::CodexOptions;
use super::usage::UsageTotals;
use crate::agent::{AgentMessage, ApprovalDecision, ConversationId, ConversationStart};
use crate::event::{AgentEvent, Delivery};
use crate::failure::FailureCause;
use crate::protocol::{AgentExit, ProtocolEffect, ProtocolEvent};
use crate::rpc::{Rpc, RpcFailure, RpcIncoming};

/// The state of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AppServerState {
    /// It has not responded yet.
    Starting,
    /// It speaks the protocol; the thread is being opened.
    Opening,
    /// Turns can be started.
    Open,
    /// It is being terminated and will be restarted. The end of an interrupted
    /// turn of the owner is reported then.
    Stopping(TurnOrigin),
    /// It does not speak the protocol.
    Unusable,
}

/// The state machine.
pub(super) struct AppServer {
    options: CodexOptions,
    rpc: Rpc<AppServerRequest>,
    state: AppServerState,
    /// The thread, once it is known.
    thread: Option<ConversationId>,
    /// Whether the owner has received `Started`.
    is_announced: bool,
    /// Whether it exited before responding and was started again.
    was_restarted: bool,
    turn: Option<CodexTurn>,
    last_turn: TurnNumber,
    queue: VecDeque<AgentMessage>,
    items: TurnItems,
    approvals: PendingApprovals,
    usage: UsageTotals,
    resets: LimitResets,
}

impl AppServer {
    pub(super) fn new(setup: CodexOptions) -> Self {
        let thread = match &setup.start {
            ConversationStart::New => None,
            ConversationStart::Resume(id) => Some(id.clone()),
        };
        Self {
            rpc: Rpc::unversioned(setup.limits.request),
            options: setup,
            state: AppServerState::Starting,
            thread,
            is_announced: false,
            was_restarted: false,
            turn: None,
            last_turn: TurnNumber::default(),
            queue: VecDeque::new(),
            items: TurnItems::default(),
            approvals: PendingApprovals::default(),
            usage: UsageTotals::default(),
            resets: LimitResets::UNKNOWN,
        }
    }

    pub(super) fn begin(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.launch(now)
    }

    /// Whether this codex has no usable app-server.
    pub(super) fn is_unusable(&self) -> bool {
        self.state == AppServerState::Unusable
    }

    /// Hands over the options and the messages that were not sent.
    pub(super) fn take_remaining(&mut self) -> (CodexOptions, VecDeque<AgentMessage>) {
        (self.options.clone(), std::mem::take(&mut self.queue))
    }

    pub(super) fn owes_turn(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.origin == TurnOrigin::Owner)
            || self.state == AppServerState::Stopping(TurnOrigin::Owner)
            || !self.queue.is_empty()
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        self.rpc.next_deadline()
    }

    pub(super) fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(command) => self.handle_command(command, now),
            ProtocolEvent::Line(_) if self.state == AppServerState::Unusable => Vec::new(),
            ProtocolEvent::Line(line) if matches!(self.state, AppServerState::Stopping(_)) => {
                self.handle_line_while_stopping(line)
            }
            ProtocolEvent::Line(line) => match self.rpc.parse_incoming(line) {
                RpcIncoming::Response(purpose, answer) => {
                    self.handle_response(purpose, answer, now)
                }
                RpcIncoming::Request { id, method, params } => {
                    self.handle_request(id, &method, &params)
                }
                RpcIncoming::Notification { method, params } => {
                    self.handle_notification(&method, &params, now)
                }
                RpcIncoming::Unknown(_) => Vec::new(),
            },
            ProtocolEvent::Exited(exit) => self.handle_exit(&exit, now),
            ProtocolEvent::Tick => match self.rpc.take_expired(now) {
                Some(purpose) => {
                    let cause = purpose.timeout_cause(&self.options.limits);
                    vec![ProtocolEffect::Fail(codex_failure(cause))]
                }
                None => Vec::new(),
            },
        }
    }

    /// Handles output of a process that is being terminated. Only the delivery of
    /// steering text still matters.
    fn handle_line_while_stopping(&mut self, line: Value) -> Vec<ProtocolEffect> {
        match self.rpc.parse_incoming(line) {
            RpcIncoming::Response(AppServerRequest::Steer(_), Ok(_)) => {
                vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Steered))]
            }
            RpcIncoming::Response(AppServerRequest::Steer(text), Err(_)) => {
                self.queue.push_back(AgentMessage::text(text));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn launch(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.state = AppServerState::Starting;
        // The previous process will not respond any more. Text that may not have
        // reached it is sent again, before everything else.
        for purpose in self.rpc.take_pending().into_iter().rev() {
            if let AppServerRequest::Steer(text) = purpose {
                self.queue.push_front(AgentMessage::text(text));
            }
        }
        self.rpc = Rpc::unversioned(self.options.limits.request);
        self.items = TurnItems::default();
        self.approvals.clear();
        let params = json!({
            "clientInfo": {"name": "omx", "title": "omx", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {
                "experimentalApi": true,
                "requestAttestation": false,
                // It repeats the whole diff of the turn with every change.
                "optOutNotificationMethods": ["turn/diff/updated"],
            },
        });
        let deadline = now + self.options.limits.start;
        let hello =
            self.rpc.request_until(AppServerRequest::Initialize, "initialize", params, deadline);
        vec![ProtocolEffect::Launch(self.options.app_server_launch()), ProtocolEffect::Write(hello)]
    }

    fn handle_exit(&mut self, exit: &AgentExit, now: Instant) -> Vec<ProtocolEffect> {
        match self.state {
            // Processes that start together in a new home disturb each other,
            // so try twice. A usage error means that there is no app-server.
            AppServerState::Starting
                if !self.is_announced && !self.was_restarted && !is_usage_error(exit) =>
            {
                self.was_restarted = true;
                self.launch(now)
            }
            AppServerState::Starting if !self.is_announced => {
                self.state = AppServerState::Unusable;
                Vec::new()
            }
            AppServerState::Stopping(TurnOrigin::Codex) => self.launch(now),
            AppServerState::Stopping(TurnOrigin::Owner) => {
                let mut effects = vec![ProtocolEffect::Emit(AgentEvent::TurnInterrupted)];
                effects.extend(self.launch(now));
                effects
            }
            _ => vec![ProtocolEffect::Fail(codex_failure(crash_cause(exit)))],
        }
    }

    fn handle_response(
        &mut self,
        purpose: AppServerRequest,
        answer: Result<Value, RpcFailure>,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        match (purpose, answer) {
            (AppServerRequest::Initialize, Ok(_)) => self.initialized(now),
            (AppServerRequest::Initialize, Err(_)) if !self.is_announced => {
                self.state = AppServerState::Unusable;
                vec![ProtocolEffect::Stop]
            }
            (AppServerRequest::Login, Ok(_)) => vec![self.open_thread(now)],
            (AppServerRequest::Open, Ok(answer)) => self.thread_opened(&answer, now),
            (AppServerRequest::Login, Err(error)) => {
                let detail = error.message;
                vec![ProtocolEffect::Fail(codex_failure(FailureCause::NotLoggedIn { detail }))]
            }
            (AppServerRequest::Initialize | AppServerRequest::Open, Err(error)) => {
                vec![ProtocolEffect::Fail(codex_failure(classify_open_error(&error.message)))]
            }
            (AppServerRequest::Turn(number), Ok(answer)) => {
                self.turn_accepted(number, answer["turn"]["id"].as_str())
            }
            (AppServerRequest::Turn(number), Err(error)) => self.turn_rejected(number, &error, now),
            (AppServerRequest::Steer(_), Ok(_)) => {
                vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Steered))]
            }
            // The turn has ended, or does not take text.
            (AppServerRequest::Steer(text), Err(_)) => self.send(AgentMessage::text(text), now),
            (AppServerRequest::Reason(waiting), _) => {
                let answer = waiting.response(&ApprovalDecision::Deny(String::new()));
                vec![ProtocolEffect::Write(self.rpc.response(&waiting.request, answer))]
            }
            // The end of the turn is reported separately.
            (AppServerRequest::Interrupt, _) => Vec::new(),
        }
    }

    /// The process speaks the protocol: log in if needed, then open the thread.
    fn initialized(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.state = AppServerState::Opening;
        let ready = ProtocolEffect::Write(self.rpc.notification("initialized", json!({})));
        let next = match self.options.api_key() {
            Some(key) => {
                let params = json!({"type": "apiKey", "apiKey": key});
                let login = "account/login/start";
                ProtocolEffect::Write(self.rpc.request(AppServerRequest::Login, login, params, now))
            }
            None => self.open_thread(now),
        };
        vec![ready, next]
    }

    fn open_thread(&mut self, now: Instant) -> ProtocolEffect {
        let params = self.options.thread_params(self.thread.as_ref());
        let method = if self.thread.is_some() { "thread/resume" } else { "thread/start" };
        ProtocolEffect::Write(self.rpc.request(AppServerRequest::Open, method, params, now))
    }

    fn thread_opened(&mut self, answer: &Value, now: Instant) -> Vec<ProtocolEffect> {
        let thread = answer["thread"]["id"].as_str().and_then(ConversationId::new);
        let expected = thread.as_ref().filter(|id| self.thread.iter().all(|known| known == *id));
        let Some(conversation) = expected.cloned() else {
            let detail = format!("codex opened another thread: {}", answer["thread"]["id"]);
            return vec![ProtocolEffect::Fail(codex_failure(FailureCause::Protocol { detail }))];
        };
        self.resets.learn_clock(&answer["thread"]);
        self.thread = thread;
        self.state = AppServerState::Open;
        self.is_announced = true;
        let model = answer["model"].as_str().map(str::to_owned);
        let mut effects = vec![ProtocolEffect::Emit(AgentEvent::Started { conversation, model })];
        effects.extend(self.start_next_turn(now));
        effects
    }

    /// Codex has accepted a message. Its turn starts a little later.
    fn turn_accepted(&mut self, number: TurnNumber, id: Option<&str>) -> Vec<ProtocolEffect> {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.number == number) else {
            return Vec::new();
        };
        let Some(id) = id else {
            let detail = "codex accepted a turn without an id".to_owned();
            return vec![ProtocolEffect::Fail(codex_failure(FailureCause::Protocol { detail }))];
        };
        turn.id = Some(id.to_owned());
        turn.is_delivered = true;
        vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn))]
    }

    /// The turn is running and takes the text that came too early for it.
    fn turn_running(&mut self, id: &str, now: Instant) -> Vec<ProtocolEffect> {
        let Some(turn) = &mut self.turn else { return Vec::new() };
        turn.id = Some(id.to_owned());
        turn.is_running = true;
        if turn.is_interrupted {
            return vec![self.interrupt_turn(id, now)];
        }
        let early = std::mem::take(&mut turn.early_steers);
        early.into_iter().flat_map(|words| self.steer(words, now)).collect()
    }

    fn turn_rejected(
        &mut self,
        number: TurnNumber,
        error: &RpcFailure,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let Some(turn) = self.turn.take_if(|turn| turn.number == number) else {
            return Vec::new();
        };
        let event = if turn.is_interrupted {
            AgentEvent::TurnInterrupted
        } else {
            let error = json!({"message": error.message});
            AgentEvent::TurnFailed(codex_failure(errors::classify(
                &error,
                self.error_context(None),
            )))
        };
        let mut effects = vec![ProtocolEffect::Emit(event)];
        effects.extend(self.start_next_after(turn, now));
        effects
    }

    /// Starts the next turn. Text that came too early for the last one goes first.
    fn start_next_after(&mut self, turn: CodexTurn, now: Instant) -> Vec<ProtocolEffect> {
        for words in turn.early_steers.into_iter().rev() {
            self.queue.push_front(AgentMessage::text(words));
        }
        self.start_next_turn(now)
    }

    /// Reports the end of one of our turns.
    fn turn_ended(
        &mut self,
        turn: CodexTurn,
        ending: TurnEnd,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let mut effects = Vec::new();
        if !turn.is_delivered {
            effects.push(ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn)));
        }
        match ending {
            TurnEnd::Interrupted => {
                // Terminating the process also ends the turn's commands.
                self.state = AppServerState::Stopping(turn.origin);
                effects.push(ProtocolEffect::Stop);
            }
            TurnEnd::Finished(answer) => {
                effects.push(ProtocolEffect::Emit(AgentEvent::TurnFinished(answer)))
            }
            TurnEnd::Failed(cause) => {
                effects.push(ProtocolEffect::Emit(AgentEvent::TurnFailed(codex_failure(cause))));
            }
        }
        effects.extend(self.start_next_after(turn, now));
        effects
    }

    fn error_context(&self, reported: Option<omx_kernel::Timestamp>) -> ErrorContext<'_> {
        ErrorContext {
            model: self.options.model.as_deref(),
            resets: self.resets,
            reported_at: reported,
        }
    }
}

/// Whether a program rejected its command line.
fn is_usage_error(exit: &AgentExit) -> bool {
    exit.code == Some(2)
}
