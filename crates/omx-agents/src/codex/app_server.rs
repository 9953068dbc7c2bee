//! The protocol of `codex app-server`: JSON lines, requests both ways.
//!
//! An interrupt ends codex's process once the turn is over, and opens the
//! conversation again in a new one: codex leaves the commands of an
//! interrupted turn running.

mod orders;
mod told;
mod turn;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::turn::{Ending, Origin, Turn, TurnNumber};
use super::approvals::{Approvals, Waiting};
use super::errors::{self, Known, crashed, not_opened, trouble};
use super::items::Items;
use super::reset::Resets;
use super::setup::Setup;
use super::spent::Spent;
use crate::agent::{AgentMessage, ApprovalDecision, ConversationId, ConversationStart};
use crate::event::{AgentEvent, Delivery};
use crate::failure::FailureCause;
use crate::protocol::{AgentExit, ProtocolEffect, ProtocolEvent};
use crate::rpc::{Rpc, RpcError, RpcIncoming};

/// What a request of ours is for.
#[derive(Debug)]
enum Purpose {
    Initialize,
    Login,
    Open,
    Turn(TurnNumber),
    /// Words for the turn that runs.
    Steer(String),
    /// The reason of a refusal, which this approval then gets.
    Reason(Waiting),
    Interrupt,
}

/// How far the process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has not answered yet.
    Starting,
    /// It speaks the protocol; the conversation is being opened.
    Opening,
    /// Turns can be begun.
    Open,
    /// It was stopped and will be started anew. The end of a turn that was
    /// ordered is told then.
    Stopping(Origin),
    /// It does not speak the protocol.
    Useless,
}

/// The machine.
pub(super) struct AppServer {
    setup: Setup,
    rpc: Rpc<Purpose>,
    state: State,
    /// The conversation, once it is known.
    thread: Option<ConversationId>,
    /// Whether the owner knows it.
    is_told: bool,
    /// It ended before it spoke, and was started once more.
    is_second_try: bool,
    turn: Option<Turn>,
    last_turn: TurnNumber,
    queue: VecDeque<AgentMessage>,
    items: Items,
    approvals: Approvals,
    spent: Spent,
    resets: Resets,
}

impl AppServer {
    pub(super) fn new(setup: Setup) -> Self {
        let thread = match &setup.start {
            ConversationStart::New => None,
            ConversationStart::Resume(id) => Some(id.clone()),
        };
        Self {
            rpc: Rpc::unversioned(setup.limits.request),
            setup,
            state: State::Starting,
            thread,
            is_told: false,
            is_second_try: false,
            turn: None,
            last_turn: TurnNumber::default(),
            queue: VecDeque::new(),
            items: Items::default(),
            approvals: Approvals::default(),
            spent: Spent::default(),
            resets: Resets::UNKNOWN,
        }
    }

    pub(super) fn begin(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.launch(now)
    }

    /// Whether this program has no app-server that could be spoken with.
    pub(super) fn is_useless(&self) -> bool {
        self.state == State::Useless
    }

    /// Hands over what was not begun.
    pub(super) fn take_rest(&mut self) -> (Setup, VecDeque<AgentMessage>) {
        (self.setup.clone(), std::mem::take(&mut self.queue))
    }

    pub(super) fn owes_turn(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.origin == Origin::Ordered)
            || self.state == State::Stopping(Origin::Ordered)
            || !self.queue.is_empty()
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        self.rpc.next_deadline()
    }

    pub(super) fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(order) => self.obey(order, now),
            ProtocolEvent::Line(_) if self.state == State::Useless => Vec::new(),
            ProtocolEvent::Line(line) if matches!(self.state, State::Stopping(_)) => {
                self.last_said(line)
            }
            ProtocolEvent::Line(line) => match self.rpc.incoming(line) {
                RpcIncoming::Answer(purpose, answer) => self.answered(purpose, answer, now),
                RpcIncoming::Request { id, method, params } => self.asked(id, &method, &params),
                RpcIncoming::Notification { method, params } => self.told(&method, &params, now),
                RpcIncoming::Unknown(_) => Vec::new(),
            },
            ProtocolEvent::Exited(exit) => self.exited(&exit, now),
            ProtocolEvent::Tick => match self.rpc.expired(now) {
                Some(purpose) => vec![self.silent(&purpose)],
                None => Vec::new(),
            },
        }
    }

    /// What a process still says on its way out means nothing, but that it
    /// has heard words.
    fn last_said(&mut self, line: Value) -> Vec<ProtocolEffect> {
        match self.rpc.incoming(line) {
            RpcIncoming::Answer(Purpose::Steer(_), Ok(_)) => {
                vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Steered))]
            }
            RpcIncoming::Answer(Purpose::Steer(text), Err(_)) => {
                self.queue.push_back(AgentMessage::text(text));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn launch(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.state = State::Starting;
        // Answers of the process before will not come. Words it may not have
        // heard are said again, before all others.
        for purpose in self.rpc.give_up().into_iter().rev() {
            if let Purpose::Steer(text) = purpose {
                self.queue.push_front(AgentMessage::text(text));
            }
        }
        self.rpc = Rpc::unversioned(self.setup.limits.request);
        self.items = Items::default();
        self.approvals.forget();
        let params = json!({
            "clientInfo": {"name": "omx", "title": "omx", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {
                "experimentalApi": true,
                "requestAttestation": false,
                // The whole difference since the turn began, again and again.
                "optOutNotificationMethods": ["turn/diff/updated"],
            },
        });
        let deadline = now + self.setup.limits.start;
        let hello = self.rpc.request_until(Purpose::Initialize, "initialize", params, deadline);
        vec![ProtocolEffect::Launch(self.setup.app_server()), ProtocolEffect::Write(hello)]
    }

    fn exited(&mut self, exit: &AgentExit, now: Instant) -> Vec<ProtocolEffect> {
        match self.state {
            // Several that begin in a new home at the same time disturb each
            // other; only one that does not know the word has no app-server.
            State::Starting if !self.is_told && !self.is_second_try && !is_usage(exit) => {
                self.is_second_try = true;
                self.launch(now)
            }
            State::Starting if !self.is_told => {
                self.state = State::Useless;
                Vec::new()
            }
            State::Stopping(Origin::Codex) => self.launch(now),
            State::Stopping(Origin::Ordered) => {
                let mut effects = vec![ProtocolEffect::Emit(AgentEvent::TurnInterrupted)];
                effects.extend(self.launch(now));
                effects
            }
            _ => vec![ProtocolEffect::Fail(trouble(crashed(exit)))],
        }
    }

    fn silent(&self, purpose: &Purpose) -> ProtocolEffect {
        let limits = self.setup.limits;
        let (waited, during): (Duration, _) = match purpose {
            Purpose::Initialize => (limits.start, "starting"),
            Purpose::Login | Purpose::Open => (limits.request, "opening the conversation"),
            Purpose::Turn(_) => (limits.request, "taking a message"),
            Purpose::Steer(_) | Purpose::Reason(_) => (limits.request, "taking words"),
            Purpose::Interrupt => (limits.request, "being interrupted"),
        };
        ProtocolEffect::Fail(trouble(FailureCause::Silent { waited, during }))
    }

    fn answered(
        &mut self,
        purpose: Purpose,
        answer: Result<Value, RpcError>,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        match (purpose, answer) {
            (Purpose::Initialize, Ok(_)) => self.welcome(now),
            (Purpose::Initialize, Err(_)) if !self.is_told => {
                self.state = State::Useless;
                vec![ProtocolEffect::Stop]
            }
            (Purpose::Login, Ok(_)) => vec![self.open(now)],
            (Purpose::Open, Ok(answer)) => self.opened(&answer, now),
            (Purpose::Login, Err(error)) => {
                let detail = error.message;
                vec![ProtocolEffect::Fail(trouble(FailureCause::NotLoggedIn { detail }))]
            }
            (Purpose::Initialize | Purpose::Open, Err(error)) => {
                vec![ProtocolEffect::Fail(trouble(not_opened(&error.message)))]
            }
            (Purpose::Turn(number), Ok(answer)) => {
                self.taken(number, answer["turn"]["id"].as_str())
            }
            (Purpose::Turn(number), Err(error)) => self.not_begun(number, &error, now),
            (Purpose::Steer(_), Ok(_)) => {
                vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Steered))]
            }
            // The turn was over, or is none that hears.
            (Purpose::Steer(text), Err(_)) => self.send(AgentMessage::text(text), now),
            (Purpose::Reason(waiting), _) => {
                let answer = waiting.answer(&ApprovalDecision::Deny(String::new()));
                vec![ProtocolEffect::Write(self.rpc.answer(&waiting.request, answer))]
            }
            // Its end is told as the turn's.
            (Purpose::Interrupt, _) => Vec::new(),
        }
    }

    /// The process speaks the protocol.
    fn welcome(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.state = State::Opening;
        let ready = ProtocolEffect::Write(self.rpc.notification("initialized", json!({})));
        let next = match self.setup.key() {
            Some(key) => {
                let params = json!({"type": "apiKey", "apiKey": key});
                let login = "account/login/start";
                ProtocolEffect::Write(self.rpc.request(Purpose::Login, login, params, now))
            }
            None => self.open(now),
        };
        vec![ready, next]
    }

    fn open(&mut self, now: Instant) -> ProtocolEffect {
        let params = self.setup.conversation(self.thread.as_ref());
        let method = if self.thread.is_some() { "thread/resume" } else { "thread/start" };
        ProtocolEffect::Write(self.rpc.request(Purpose::Open, method, params, now))
    }

    fn opened(&mut self, answer: &Value, now: Instant) -> Vec<ProtocolEffect> {
        let thread = answer["thread"]["id"].as_str().and_then(ConversationId::new);
        let expected = thread.as_ref().filter(|id| self.thread.iter().all(|known| known == *id));
        let Some(conversation) = expected.cloned() else {
            let detail = format!("opened the conversation {}", answer["thread"]["id"]);
            return vec![ProtocolEffect::Fail(trouble(FailureCause::Protocol { detail }))];
        };
        self.resets.learn_clock(&answer["thread"]);
        self.thread = thread;
        self.state = State::Open;
        self.is_told = true;
        let model = answer["model"].as_str().map(str::to_owned);
        let mut effects = vec![ProtocolEffect::Emit(AgentEvent::Started { conversation, model })];
        effects.extend(self.next(now));
        effects
    }

    /// Codex has taken a message. Its turn begins a little later.
    fn taken(&mut self, number: TurnNumber, id: Option<&str>) -> Vec<ProtocolEffect> {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.number == number) else {
            return Vec::new();
        };
        let Some(id) = id else {
            let detail = "a turn without a name".to_owned();
            return vec![ProtocolEffect::Fail(trouble(FailureCause::Protocol { detail }))];
        };
        turn.id = Some(id.to_owned());
        turn.is_delivered = true;
        vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn))]
    }

    /// The turn runs: now it hears what it was told before.
    fn begun(&mut self, id: &str, now: Instant) -> Vec<ProtocolEffect> {
        let Some(turn) = &mut self.turn else { return Vec::new() };
        turn.id = Some(id.to_owned());
        turn.is_running = true;
        if turn.is_interrupted {
            return vec![self.interrupt_turn(id, now)];
        }
        let early = std::mem::take(&mut turn.early_words);
        early.into_iter().flat_map(|words| self.steer(words, now)).collect()
    }

    fn not_begun(
        &mut self,
        number: TurnNumber,
        error: &RpcError,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let Some(turn) = self.turn.take_if(|turn| turn.number == number) else {
            return Vec::new();
        };
        let event = if turn.is_interrupted {
            AgentEvent::TurnInterrupted
        } else {
            let error = json!({"message": error.message});
            AgentEvent::TurnFailed(trouble(errors::cause(&error, self.known(None))))
        };
        let mut effects = vec![ProtocolEffect::Emit(event)];
        effects.extend(self.after(turn, now));
        effects
    }

    /// What comes after a turn: words that came too early for it are the next.
    fn after(&mut self, turn: Turn, now: Instant) -> Vec<ProtocolEffect> {
        for words in turn.early_words.into_iter().rev() {
            self.queue.push_front(AgentMessage::text(words));
        }
        self.next(now)
    }

    /// A turn of ours is over.
    fn ended(&mut self, turn: Turn, ending: Ending, now: Instant) -> Vec<ProtocolEffect> {
        let mut effects = Vec::new();
        if !turn.is_delivered {
            effects.push(ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn)));
        }
        match ending {
            Ending::Interrupted => {
                // What its commands left is gone when the process is.
                self.state = State::Stopping(turn.origin);
                effects.push(ProtocolEffect::Stop);
            }
            Ending::Finished(answer) => {
                effects.push(ProtocolEffect::Emit(AgentEvent::TurnFinished(answer)))
            }
            Ending::Failed(cause) => {
                effects.push(ProtocolEffect::Emit(AgentEvent::TurnFailed(trouble(cause))));
            }
        }
        effects.extend(self.after(turn, now));
        effects
    }

    fn known(&self, told: Option<omx_kernel::Timestamp>) -> Known<'_> {
        Known { model: self.setup.model.as_deref(), resets: self.resets, told }
    }
}

/// Whether a program ended because it did not understand its command line.
fn is_usage(exit: &AgentExit) -> bool {
    exit.code == Some(2)
}
