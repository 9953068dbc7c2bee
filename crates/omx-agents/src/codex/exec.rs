//! The protocol of `codex exec --json`, for a codex without an app-server: one
//! process per turn, the prompt on standard input, events as JSON lines. A
//! running turn takes no more input and cannot ask for approval; a new
//! conversation gets its id only when its first turn starts.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};

use super::errors::{self, ErrorContext, classify_open_error, codex_failure, crash_cause};
use super::items::{self, TurnItems};
use super::limit_resets::LimitResets;
use super::options::CodexOptions;
use super::usage::{UsageTotals, parse_exec_usage};
use crate::agent::{AgentCommand, AgentMessage, ConversationId, ConversationStart};
use crate::event::{AgentEvent, Delivery, TurnAnswer};
use crate::failure::FailureCause;
use crate::protocol::{AgentExit, ProtocolEffect, ProtocolEvent};

/// The progress of the running process's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExecProgress {
    /// Under way.
    Running,
    /// Its end was reported; the process is exiting.
    Over,
    /// It was interrupted; its end is reported when the process exits.
    Stopping,
}

#[derive(Debug)]
struct ExecTurn {
    progress: ExecProgress,
    /// Whether the process has named its conversation.
    is_named: bool,
    has_schema: bool,
    last_message: Option<String>,
    /// The last error that was reported.
    error: Option<String>,
}

/// The state machine.
pub(super) struct ExecProtocol {
    options: CodexOptions,
    thread: Option<ConversationId>,
    /// The turn of the running process.
    turn: Option<ExecTurn>,
    queue: VecDeque<AgentMessage>,
    items: TurnItems,
    usage: UsageTotals,
    /// Whether the usage before this conversation was resumed is known.
    has_baseline: bool,
    /// When a new conversation must have its first message. It has no id until
    /// then, and an owner waiting for the id would wait forever.
    first_message_by: Option<Instant>,
    /// How the app-server ended.
    app_server_exit: Option<AgentExit>,
}

impl ExecProtocol {
    pub(super) fn new(
        setup: CodexOptions,
        queue: VecDeque<AgentMessage>,
        why: Option<AgentExit>,
    ) -> Self {
        let thread = match &setup.start {
            ConversationStart::New => None,
            ConversationStart::Resume(id) => Some(id.clone()),
        };
        Self {
            has_baseline: thread.is_none(),
            options: setup,
            thread,
            turn: None,
            queue,
            items: TurnItems::default(),
            usage: UsageTotals::default(),
            first_message_by: None,
            app_server_exit: why,
        }
    }

    pub(super) fn begin(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        let mut effects = match self.thread.clone() {
            Some(id) => self.thread_started(id),
            None => {
                self.first_message_by = Some(now + self.options.limits.start);
                vec![ProtocolEffect::Emit(AgentEvent::Listening)]
            }
        };
        effects.extend(self.start_next_turn());
        effects
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        self.first_message_by
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
            ProtocolEvent::Line(line) => self.handle_line(&line),
            ProtocolEvent::Exited(exit) => self.handle_exit(&exit),
            ProtocolEvent::Tick
                if self.first_message_by.is_some_and(|patience| patience <= now) =>
            {
                self.first_message_by = None;
                let stderr = self
                    .app_server_exit
                    .as_ref()
                    .map(|exit| exit.stderr.as_str())
                    .unwrap_or_default();
                let detail = format!("its app-server does not work: {stderr}");
                vec![ProtocolEffect::Fail(codex_failure(FailureCause::Protocol { detail }))]
            }
            ProtocolEvent::Tick => Vec::new(),
        }
    }

    pub(super) fn owes_turn(&self) -> bool {
        self.is_busy() || !self.queue.is_empty()
    }

    fn is_busy(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.progress != ExecProgress::Over)
    }

    fn send(&mut self, message: AgentMessage) -> Vec<ProtocolEffect> {
        self.queue.push_back(message);
        if self.is_busy() {
            return vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Queued))];
        }
        self.start_next_turn()
    }

    /// Starts the next waiting turn. A process whose turn has ended is replaced.
    fn start_next_turn(&mut self) -> Vec<ProtocolEffect> {
        if self.is_busy() {
            return Vec::new();
        }
        let Some(message) = self.queue.pop_front() else { return Vec::new() };
        self.first_message_by = None;
        self.items = TurnItems::default();
        self.turn = Some(ExecTurn {
            is_named: false,
            progress: ExecProgress::Running,
            has_schema: message.schema.is_some(),
            last_message: None,
            error: None,
        });
        vec![
            ProtocolEffect::Launch(self.options.exec_launch(self.thread.as_ref())),
            ProtocolEffect::WriteText(message.text),
            ProtocolEffect::CloseInput,
        ]
    }

    fn interrupt(&mut self) -> Vec<ProtocolEffect> {
        match &mut self.turn {
            Some(turn) if turn.progress == ExecProgress::Running => {
                turn.progress = ExecProgress::Stopping;
                vec![ProtocolEffect::Stop]
            }
            _ => Vec::new(),
        }
    }

    fn handle_line(&mut self, line: &Value) -> Vec<ProtocolEffect> {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.progress == ExecProgress::Running)
        else {
            return Vec::new();
        };
        match line["type"].as_str().unwrap_or_default() {
            "thread.started" => {
                let id = line["thread_id"].as_str().and_then(ConversationId::new);
                match id {
                    Some(id) if !std::mem::replace(&mut turn.is_named, true) => {
                        self.thread_started(id)
                    }
                    _ => Vec::new(),
                }
            }
            "turn.started" => vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn))],
            "item.started" => emit(self.items.started(&line["item"])),
            "item.completed" => {
                let words = items::message_text(&line["item"]).map(str::to_owned);
                turn.last_message = words.clone().or(turn.last_message.take());
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
                        vec![ProtocolEffect::Emit(AgentEvent::Retrying(codex_failure(cause)))]
                    }
                    None => {
                        turn.error = Some(message.to_owned());
                        Vec::new()
                    }
                }
            }
            "turn.completed" => self.turn_completed(&line["usage"]),
            "turn.failed" => {
                let message = line["error"]["message"].as_str().map(str::to_owned);
                let message = message.or(turn.error.take()).unwrap_or_default();
                let cause = self.cause(&message);
                self.turn_ended(AgentEvent::TurnFailed(codex_failure(cause)))
            }
            _ => Vec::new(),
        }
    }

    fn thread_started(&mut self, conversation: ConversationId) -> Vec<ProtocolEffect> {
        self.thread = Some(conversation.clone());
        let model = self.options.model.clone();
        vec![ProtocolEffect::Emit(AgentEvent::Started { conversation, model })]
    }

    fn turn_completed(&mut self, usage: &Value) -> Vec<ProtocolEffect> {
        let sum = parse_exec_usage(usage);
        let mut effects = Vec::new();
        // The first total of a resumed conversation includes everything used
        // before, and codex does not report how much that was.
        if std::mem::replace(&mut self.has_baseline, true) {
            effects.extend(emit(self.usage.add_total("", sum).map(AgentEvent::Usage)));
        } else {
            self.usage.set_baseline("", sum);
        }
        let Some(turn) = &mut self.turn else { return effects };
        let text = turn.last_message.take().unwrap_or_default();
        let structured =
            if turn.has_schema { serde_json::from_str(text.trim()).ok() } else { None };
        effects.extend(self.turn_ended(AgentEvent::TurnFinished(TurnAnswer { text, structured })));
        effects
    }

    /// Reports the end of the turn; the process exits on its own.
    fn turn_ended(&mut self, event: AgentEvent) -> Vec<ProtocolEffect> {
        if let Some(turn) = &mut self.turn {
            turn.progress = ExecProgress::Over;
        }
        let mut effects = vec![ProtocolEffect::Emit(event)];
        effects.extend(self.start_next_turn());
        effects
    }

    fn handle_exit(&mut self, exit: &AgentExit) -> Vec<ProtocolEffect> {
        match self.turn.take().map(|turn| turn.progress) {
            // The app-server, or a process whose turn had ended.
            None | Some(ExecProgress::Over) => self.start_next_turn(),
            Some(ExecProgress::Stopping) => {
                let mut effects = vec![ProtocolEffect::Emit(AgentEvent::TurnInterrupted)];
                effects.extend(self.start_next_turn());
                effects
            }
            Some(ExecProgress::Running) => {
                let cause = match classify_open_error(&exit.stderr) {
                    unknown @ FailureCause::UnknownConversation { .. } => unknown,
                    _ => crash_cause(exit),
                };
                vec![ProtocolEffect::Fail(codex_failure(cause))]
            }
        }
    }

    fn cause(&self, message: &str) -> FailureCause {
        let known = ErrorContext {
            model: self.options.model.as_deref(),
            resets: LimitResets::UNKNOWN,
            reported_at: None,
        };
        errors::classify(&json!({"message": message}), known)
    }
}

fn emit(events: impl IntoIterator<Item = AgentEvent>) -> Vec<ProtocolEffect> {
    events.into_iter().map(ProtocolEffect::Emit).collect()
}
