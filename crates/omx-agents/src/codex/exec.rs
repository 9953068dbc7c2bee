//! The protocol of `codex exec --json`: one process for each turn, its words
//! on standard input, events as JSON lines. The way for a codex without an
//! app-server. Nothing can be said to a running turn and nobody can be asked;
//! a new conversation has its id only when its first turn has begun.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};

use super::errors::{self, Known, crashed, not_opened, trouble};
use super::items::{self, Items};
use super::reset::Resets;
use super::setup::Setup;
use super::spent::{Spent, exec_sum};
use crate::agent::{AgentCommand, AgentMessage, ConversationId, ConversationStart};
use crate::event::{AgentEvent, Delivery, TurnAnswer};
use crate::failure::FailureCause;
use crate::protocol::{AgentExit, ProtocolEffect, ProtocolEvent};

/// How far the turn of the process that runs is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Under way.
    Running,
    /// Its end was told; the process is on its way out.
    Over,
    /// It was interrupted; its end is told with the process's.
    Stopping,
}

#[derive(Debug)]
struct Turn {
    progress: Progress,
    /// Its process has said which conversation it is in.
    is_named: bool,
    has_schema: bool,
    last_words: Option<String>,
    /// The last error that was told.
    error: Option<String>,
}

/// The machine.
pub(super) struct Exec {
    setup: Setup,
    thread: Option<ConversationId>,
    /// The turn of the process that runs.
    turn: Option<Turn>,
    queue: VecDeque<AgentMessage>,
    items: Items,
    spent: Spent,
    /// Whether the sum of what was spent before is known.
    is_settled: bool,
    /// By when a new conversation must have a first message: until then it
    /// has no id, and an owner who waits for it would wait for ever.
    patience: Option<Instant>,
    /// How the app-server ended.
    why: Option<AgentExit>,
}

impl Exec {
    pub(super) fn new(setup: Setup, queue: VecDeque<AgentMessage>, why: Option<AgentExit>) -> Self {
        let thread = match &setup.start {
            ConversationStart::New => None,
            ConversationStart::Resume(id) => Some(id.clone()),
        };
        Self {
            is_settled: thread.is_none(),
            setup,
            thread,
            turn: None,
            queue,
            items: Items::default(),
            spent: Spent::default(),
            patience: None,
            why,
        }
    }

    pub(super) fn begin(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let mut effects = match self.thread.clone() {
            Some(id) => self.started(id),
            None => {
                self.patience = Some(now + self.setup.limits.start);
                vec![ProtocolEffect::Emit(AgentEvent::Listening)]
            }
        };
        effects.extend(self.next());
        effects
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        self.patience
    }

    pub(super) fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(AgentCommand::Send(message)) => self.send(message),
            ProtocolEvent::Command(AgentCommand::Steer(text)) => {
                self.send(AgentMessage::text(text))
            }
            ProtocolEvent::Command(AgentCommand::Interrupt) => self.interrupt(),
            ProtocolEvent::Command(AgentCommand::Answer(..)) => Vec::new(),
            ProtocolEvent::Command(AgentCommand::End) => vec![ProtocolEffect::CloseInput],
            ProtocolEvent::Line(line) => self.told(&line),
            ProtocolEvent::Exited(exit) => self.exited(&exit),
            ProtocolEvent::Tick if self.patience.is_some_and(|patience| patience <= now) => {
                self.patience = None;
                let told = self.why.as_ref().map(|exit| exit.stderr.as_str()).unwrap_or_default();
                let detail = format!("its app-server does not work. {told}");
                vec![ProtocolEffect::Fail(trouble(FailureCause::Protocol { detail }))]
            }
            ProtocolEvent::Tick => Vec::new(),
        }
    }

    pub(super) fn owes_turn(&self) -> bool {
        self.is_busy() || !self.queue.is_empty()
    }

    fn is_busy(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.progress != Progress::Over)
    }

    fn send(&mut self, message: AgentMessage) -> Vec<ProtocolEffect> {
        self.queue.push_back(message);
        if self.is_busy() {
            return vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Queued))];
        }
        self.next()
    }

    /// Begins the next turn, if one waits. A process that has told the end of
    /// its turn makes room.
    fn next(&mut self) -> Vec<ProtocolEffect> {
        if self.is_busy() {
            return Vec::new();
        }
        let Some(message) = self.queue.pop_front() else { return Vec::new() };
        self.patience = None;
        self.items = Items::default();
        self.turn = Some(Turn {
            is_named: false,
            progress: Progress::Running,
            has_schema: message.schema.is_some(),
            last_words: None,
            error: None,
        });
        vec![
            ProtocolEffect::Launch(self.setup.exec(self.thread.as_ref())),
            ProtocolEffect::WriteText(message.text),
            ProtocolEffect::CloseInput,
        ]
    }

    fn interrupt(&mut self) -> Vec<ProtocolEffect> {
        match &mut self.turn {
            Some(turn) if turn.progress == Progress::Running => {
                turn.progress = Progress::Stopping;
                vec![ProtocolEffect::Stop]
            }
            _ => Vec::new(),
        }
    }

    fn told(&mut self, line: &Value) -> Vec<ProtocolEffect> {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.progress == Progress::Running)
        else {
            return Vec::new();
        };
        match line["type"].as_str().unwrap_or_default() {
            "thread.started" => {
                let id = line["thread_id"].as_str().and_then(ConversationId::new);
                match id {
                    Some(id) if !std::mem::replace(&mut turn.is_named, true) => self.started(id),
                    _ => Vec::new(),
                }
            }
            "turn.started" => vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn))],
            "item.started" => emit(self.items.started(&line["item"])),
            "item.completed" => {
                let words = items::words(&line["item"]).map(str::to_owned);
                turn.last_words = words.clone().or(turn.last_words.take());
                let mut effects = emit(words.map(AgentEvent::Text));
                effects.extend(emit(self.items.completed(&line["item"])));
                effects
            }
            "error" => {
                let message = line["message"].as_str().unwrap_or_default();
                // Reconnecting... 1/5 (why)
                match message.strip_prefix("Reconnecting").and_then(|rest| rest.split_once(" (")) {
                    Some((_, why)) => {
                        let cause = self.cause(why.trim_end_matches(')'));
                        vec![ProtocolEffect::Emit(AgentEvent::Retrying(trouble(cause)))]
                    }
                    None => {
                        turn.error = Some(message.to_owned());
                        Vec::new()
                    }
                }
            }
            "turn.completed" => self.finished(&line["usage"]),
            "turn.failed" => {
                let message = line["error"]["message"].as_str().map(str::to_owned);
                let message = message.or(turn.error.take()).unwrap_or_default();
                let cause = self.cause(&message);
                self.over(AgentEvent::TurnFailed(trouble(cause)))
            }
            _ => Vec::new(),
        }
    }

    fn started(&mut self, conversation: ConversationId) -> Vec<ProtocolEffect> {
        self.thread = Some(conversation.clone());
        let model = self.setup.model.clone();
        vec![ProtocolEffect::Emit(AgentEvent::Started { conversation, model })]
    }

    fn finished(&mut self, usage: &Value) -> Vec<ProtocolEffect> {
        let sum = exec_sum(usage);
        let mut effects = Vec::new();
        // The first sum of a conversation that is gone on with holds all that
        // was spent before, and nothing tells how much that was.
        if std::mem::replace(&mut self.is_settled, true) {
            effects.extend(emit(self.spent.since("", sum).map(AgentEvent::Usage)));
        } else {
            self.spent.settle("", sum);
        }
        let Some(turn) = &mut self.turn else { return effects };
        let text = turn.last_words.take().unwrap_or_default();
        let structured =
            if turn.has_schema { serde_json::from_str(text.trim()).ok() } else { None };
        effects.extend(self.over(AgentEvent::TurnFinished(TurnAnswer { text, structured })));
        effects
    }

    /// The turn is over; the process goes by itself.
    fn over(&mut self, event: AgentEvent) -> Vec<ProtocolEffect> {
        if let Some(turn) = &mut self.turn {
            turn.progress = Progress::Over;
        }
        let mut effects = vec![ProtocolEffect::Emit(event)];
        effects.extend(self.next());
        effects
    }

    fn exited(&mut self, exit: &AgentExit) -> Vec<ProtocolEffect> {
        match self.turn.take().map(|turn| turn.progress) {
            // The app-server, or a process whose turn was over.
            None | Some(Progress::Over) => self.next(),
            Some(Progress::Stopping) => {
                let mut effects = vec![ProtocolEffect::Emit(AgentEvent::TurnInterrupted)];
                effects.extend(self.next());
                effects
            }
            Some(Progress::Running) => {
                let cause = match not_opened(&exit.stderr) {
                    unknown @ FailureCause::UnknownConversation { .. } => unknown,
                    _ => crashed(exit),
                };
                vec![ProtocolEffect::Fail(trouble(cause))]
            }
        }
    }

    fn cause(&self, message: &str) -> FailureCause {
        let known =
            Known { model: self.setup.model.as_deref(), resets: Resets::UNKNOWN, told: None };
        errors::cause(&json!({"message": message}), known)
    }
}

fn emit(events: impl IntoIterator<Item = AgentEvent>) -> Vec<ProtocolEffect> {
    events.into_iter().map(ProtocolEffect::Emit).collect()
}
