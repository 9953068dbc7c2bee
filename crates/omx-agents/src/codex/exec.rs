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
use crate::agent::{ConversationId, Message, Order, Start};
use crate::event::{Answer, Delivery, Event};
use crate::protocol::{Effect, Exit, Input};
use crate::trouble::Cause;

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
    queue: VecDeque<Message>,
    items: Items,
    spent: Spent,
    /// Whether the sum of what was spent before is known.
    is_settled: bool,
    /// By when a new conversation must have a first message: until then it
    /// has no id, and an owner who waits for it would wait for ever.
    patience: Option<Instant>,
    /// How the app-server ended.
    why: Option<Exit>,
}

impl Exec {
    pub(super) fn new(setup: Setup, queue: VecDeque<Message>, why: Option<Exit>) -> Self {
        let thread = match &setup.start {
            Start::New => None,
            Start::Resume(id) => Some(id.clone()),
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

    pub(super) fn begin(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects = match self.thread.clone() {
            Some(id) => self.started(id),
            None => {
                self.patience = Some(now + self.setup.limits.start);
                vec![Effect::Emit(Event::Listening)]
            }
        };
        effects.extend(self.next());
        effects
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        self.patience
    }

    pub(super) fn handle(&mut self, input: Input, now: Instant) -> Vec<Effect> {
        match input {
            Input::Order(Order::Send(message)) => self.send(message),
            Input::Order(Order::Steer(text)) => self.send(Message::text(text)),
            Input::Order(Order::Interrupt) => self.interrupt(),
            Input::Order(Order::Answer(..)) => Vec::new(),
            Input::Order(Order::End) => vec![Effect::CloseInput],
            Input::Line(line) => self.told(&line),
            Input::Exited(exit) => self.exited(&exit),
            Input::Tick if self.patience.is_some_and(|patience| patience <= now) => {
                self.patience = None;
                let told = self.why.as_ref().map(|exit| exit.stderr.as_str()).unwrap_or_default();
                let detail = format!("its app-server does not work. {told}");
                vec![Effect::Fail(trouble(Cause::Protocol { detail }))]
            }
            Input::Tick => Vec::new(),
        }
    }

    pub(super) fn owes_turn(&self) -> bool {
        self.is_busy() || !self.queue.is_empty()
    }

    fn is_busy(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.progress != Progress::Over)
    }

    fn send(&mut self, message: Message) -> Vec<Effect> {
        self.queue.push_back(message);
        if self.is_busy() {
            return vec![Effect::Emit(Event::Delivered(Delivery::Queued))];
        }
        self.next()
    }

    /// Begins the next turn, if one waits. A process that has told the end of
    /// its turn makes room.
    fn next(&mut self) -> Vec<Effect> {
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
            Effect::Launch(self.setup.exec(self.thread.as_ref())),
            Effect::WriteText(message.text),
            Effect::CloseInput,
        ]
    }

    fn interrupt(&mut self) -> Vec<Effect> {
        match &mut self.turn {
            Some(turn) if turn.progress == Progress::Running => {
                turn.progress = Progress::Stopping;
                vec![Effect::Stop]
            }
            _ => Vec::new(),
        }
    }

    fn told(&mut self, line: &Value) -> Vec<Effect> {
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
            "turn.started" => vec![Effect::Emit(Event::Delivered(Delivery::Turn))],
            "item.started" => emit(self.items.started(&line["item"])),
            "item.completed" => {
                let words = items::words(&line["item"]).map(str::to_owned);
                turn.last_words = words.clone().or(turn.last_words.take());
                let mut effects = emit(words.map(Event::Text));
                effects.extend(emit(self.items.completed(&line["item"])));
                effects
            }
            "error" => {
                let message = line["message"].as_str().unwrap_or_default();
                // Reconnecting... 1/5 (why)
                match message.strip_prefix("Reconnecting").and_then(|rest| rest.split_once(" (")) {
                    Some((_, why)) => {
                        let cause = self.cause(why.trim_end_matches(')'));
                        vec![Effect::Emit(Event::Retrying(trouble(cause)))]
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
                self.over(Event::TurnFailed(trouble(cause)))
            }
            _ => Vec::new(),
        }
    }

    fn started(&mut self, conversation: ConversationId) -> Vec<Effect> {
        self.thread = Some(conversation.clone());
        let model = self.setup.model.clone();
        vec![Effect::Emit(Event::Started { conversation, model })]
    }

    fn finished(&mut self, usage: &Value) -> Vec<Effect> {
        let sum = exec_sum(usage);
        let mut effects = Vec::new();
        // The first sum of a conversation that is gone on with holds all that
        // was spent before, and nothing tells how much that was.
        if std::mem::replace(&mut self.is_settled, true) {
            effects.extend(emit(self.spent.since("", sum).map(Event::Usage)));
        } else {
            self.spent.settle("", sum);
        }
        let Some(turn) = &mut self.turn else { return effects };
        let text = turn.last_words.take().unwrap_or_default();
        let structured =
            if turn.has_schema { serde_json::from_str(text.trim()).ok() } else { None };
        effects.extend(self.over(Event::TurnFinished(Answer { text, structured })));
        effects
    }

    /// The turn is over; the process goes by itself.
    fn over(&mut self, event: Event) -> Vec<Effect> {
        if let Some(turn) = &mut self.turn {
            turn.progress = Progress::Over;
        }
        let mut effects = vec![Effect::Emit(event)];
        effects.extend(self.next());
        effects
    }

    fn exited(&mut self, exit: &Exit) -> Vec<Effect> {
        match self.turn.take().map(|turn| turn.progress) {
            // The app-server, or a process whose turn was over.
            None | Some(Progress::Over) => self.next(),
            Some(Progress::Stopping) => {
                let mut effects = vec![Effect::Emit(Event::TurnInterrupted)];
                effects.extend(self.next());
                effects
            }
            Some(Progress::Running) => {
                let cause = match not_opened(&exit.stderr) {
                    unknown @ Cause::UnknownConversation { .. } => unknown,
                    _ => crashed(exit),
                };
                vec![Effect::Fail(trouble(cause))]
            }
        }
    }

    fn cause(&self, message: &str) -> Cause {
        let known =
            Known { model: self.setup.model.as_deref(), resets: Resets::UNKNOWN, told: None };
        errors::cause(&json!({"message": message}), known)
    }
}

fn emit(events: impl IntoIterator<Item = Event>) -> Vec<Effect> {
    events.into_iter().map(Effect::Emit).collect()
}
