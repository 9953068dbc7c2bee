//! The protocol: a machine between orders and claude's lines.
//!
//! Claude keeps messages it gets during a turn and gives them to the model
//! with the next step, or as a turn of their own after this one. So a message
//! that is to be its own turn waits here; words for the running turn are
//! written at once, and what became of them is told by the id claude repeats.

mod hear;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use omx_kernel::Timestamp;

use super::errors::{Fault, of_exit, trouble};
use super::launch::{Launcher, Record};
use super::lines;
use super::tally::Tally;
use crate::agent::{
    AgentCommand, AgentMessage, ApprovalDecision, ConversationId, ConversationSpec,
    ConversationStart,
};
use crate::driver::{AgentEnv, Installation};
use crate::event::{AgentEvent, ApprovalId, CallId, Delivery, ToolAction};
use crate::failure::FailureCause;
use crate::limits::AgentLimits;
use crate::protocol::{Protocol, ProtocolEffect, ProtocolEvent};

/// Whether the process takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not yet; by then it must.
    Starting(Instant),
    Ready,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing to do.
    None,
    /// Claude has a message and has not begun with it.
    Ahead,
    Running,
    /// Claude works though nobody asked it to; its end is nobody's turn.
    Unasked,
}

/// An order to interrupt.
#[derive(Clone, Copy, Debug)]
struct Interrupt {
    ordered: Instant,
    acknowledged: bool,
    /// A tool was at work: it may have left something behind.
    in_tool: bool,
}

/// Words that were written during a turn and that no model has heard yet.
#[derive(Debug)]
struct Steer {
    id: String,
    text: String,
    told: bool,
    /// Claude gave them back.
    withdrawn: bool,
}

/// What a request of ours is for.
#[derive(Debug)]
enum Purpose {
    Initialize,
    Interrupt,
    /// Answered after claude has read the words before it.
    Fence(String),
    /// Takes words back.
    Withdraw(String),
}

/// An approval that waits: the tool call, and its input.
#[derive(Debug)]
struct Asked {
    call: CallId,
    input: Value,
}

#[derive(Debug)]
pub(super) struct Stream {
    launcher: Launcher,
    folder: PathBuf,
    conversation: ConversationId,
    /// How long the end of an interrupted turn may be held back.
    patience: Duration,
    /// How long a process may take to be ready.
    start: Duration,
    record: Record,
    /// The schema the process was started with.
    schema: Option<Value>,
    phase: Phase,
    turn: Turn,
    /// The message that is ahead.
    sent: Option<String>,
    queue: VecDeque<AgentMessage>,
    steers: Vec<Steer>,
    interrupt: Option<Interrupt>,
    /// An interrupted turn whose end is told when nothing of it is left, and
    /// at the latest then.
    owed: Option<Instant>,
    calls: BTreeMap<CallId, ToolAction>,
    asked: BTreeMap<ApprovalId, Asked>,
    requests: BTreeMap<String, Purpose>,
    last_request: u64,
    tally: Tally,
    limited_until: Option<Timestamp>,
    fault: Option<Fault>,
    model: Option<String>,
    effects: Vec<ProtocolEffect>,
}

impl Stream {
    pub(super) fn new(
        opening: &ConversationSpec,
        installation: &Installation,
        surroundings: &AgentEnv,
        limits: &AgentLimits,
    ) -> Self {
        let (conversation, record) = match &opening.start {
            ConversationStart::New => (ConversationId::random(), Record::Empty),
            ConversationStart::Resume(id) => (id.clone(), Record::Kept),
        };
        Self {
            launcher: Launcher::new(opening, installation, surroundings, &conversation),
            folder: opening.folder.clone(),
            conversation,
            // Short of the loop's own deadline, which ends the conversation.
            patience: limits.interrupt * 3 / 4,
            start: limits.start,
            record,
            schema: opening.schema.clone(),
            phase: Phase::Ready,
            turn: Turn::None,
            sent: None,
            queue: VecDeque::new(),
            steers: Vec::new(),
            interrupt: None,
            owed: None,
            calls: BTreeMap::new(),
            asked: BTreeMap::new(),
            requests: BTreeMap::new(),
            last_request: 0,
            tally: Tally::default(),
            limited_until: None,
            fault: None,
            model: opening.model.clone(),
            effects: Vec::new(),
        }
    }

    /// Starts a process; what the one before had not heard is said again.
    fn launch(&mut self, now: Instant) {
        let unheard = std::mem::take(&mut self.steers).into_iter().rev();
        for steer in unheard {
            self.queue.push_front(AgentMessage::text(steer.text));
        }
        self.phase = Phase::Starting(now + self.start);
        self.turn = Turn::None;
        self.sent = None;
        self.interrupt = None;
        self.limited_until = None;
        self.calls.clear();
        self.asked.clear();
        self.requests.clear();
        self.tally.restart();
        let launch = self.launcher.launch(self.record, self.schema.as_ref());
        self.effects.push(ProtocolEffect::Launch(launch));
        self.request(Purpose::Initialize, json!({"subtype": "initialize"}));
    }

    fn obey(&mut self, order: AgentCommand, now: Instant) {
        match order {
            AgentCommand::Send(message) => self.send(message, now),
            AgentCommand::Steer(text) => self.steer(text, now),
            AgentCommand::Interrupt => self.cut_short(now),
            AgentCommand::Answer(approval, decision) => self.answer(&approval, decision),
            AgentCommand::End => self.effects.push(ProtocolEffect::CloseInput),
        }
    }

    fn send(&mut self, message: AgentMessage, now: Instant) {
        let waits = self.turn != Turn::None || self.owed.is_some() || !self.queue.is_empty();
        self.queue.push_back(message);
        if waits {
            self.emit(AgentEvent::Delivered(Delivery::Queued));
        }
        self.next(now);
    }

    /// Begins the next turn if it can be begun.
    fn next(&mut self, now: Instant) {
        if self.phase != Phase::Ready || self.turn != Turn::None {
            return;
        }
        let Some(message) = self.queue.pop_front() else { return };
        if message.schema != self.schema {
            // A schema is for the life of a process.
            self.schema.clone_from(&message.schema);
            self.queue.push_front(message);
            return self.launch(now);
        }
        let id = Uuid::new_v4().to_string();
        self.effects.push(ProtocolEffect::Write(lines::message(&message.text, &id)));
        self.sent = Some(id);
        self.turn = Turn::Ahead;
    }

    fn steer(&mut self, text: String, now: Instant) {
        let reaches = matches!(self.turn, Turn::Ahead | Turn::Running) && self.interrupt.is_none();
        if !reaches {
            return self.send(AgentMessage::text(text), now);
        }
        let id = Uuid::new_v4().to_string();
        self.effects.push(ProtocolEffect::Write(lines::message(&text, &id)));
        // Claude says nothing of words it keeps; an answer to a later line
        // shows that it has them.
        let fence = Purpose::Fence(id.clone());
        self.request(fence, json!({"subtype": "get_binary_version"}));
        self.steers.push(Steer { id, text, told: false, withdrawn: false });
    }

    fn cut_short(&mut self, now: Instant) {
        let begins = self.phase != Phase::Ready && self.owed.is_none();
        if self.turn == Turn::None && begins && self.queue.pop_front().is_some() {
            // Ordered, and not yet said to anyone.
            return self.emit(AgentEvent::TurnInterrupted);
        }
        if self.turn == Turn::None || self.interrupt.is_some() {
            return;
        }
        // What claude still keeps would begin a turn as soon as this one is over.
        let kept: Vec<String> = self.steers.iter().map(|steer| steer.id.clone()).collect();
        for id in kept {
            let withdrawal = json!({"subtype": "cancel_async_message", "message_uuid": id});
            self.request(Purpose::Withdraw(id), withdrawal);
        }
        self.request(Purpose::Interrupt, json!({"subtype": "interrupt"}));
        let waiting: Vec<&CallId> = self.asked.values().map(|asked| &asked.call).collect();
        let in_tool = self.calls.keys().any(|call| !waiting.contains(&call));
        self.interrupt = Some(Interrupt { ordered: now, acknowledged: false, in_tool });
    }

    fn answer(&mut self, approval: &ApprovalId, decision: ApprovalDecision) {
        let Some(asked) = self.asked.remove(approval) else { return };
        let input = if asked.input.is_object() { asked.input } else { json!({}) };
        self.effects.push(ProtocolEffect::Write(lines::decision(&approval.0, input, decision)));
    }

    fn request(&mut self, purpose: Purpose, request: Value) {
        self.last_request += 1;
        let id = format!("request-{}", self.last_request);
        self.effects.push(ProtocolEffect::Write(lines::request(&id, request)));
        self.requests.insert(id, purpose);
    }

    /// When the process must be ready.
    fn ready_by(&self) -> Option<Instant> {
        match self.phase {
            Phase::Starting(moment) => Some(moment),
            Phase::Ready => None,
        }
    }

    fn keep_time(&mut self, now: Instant) {
        if self.owed.is_some_and(|moment| moment <= now) {
            self.settle();
        }
        if self.ready_by().is_some_and(|moment| moment <= now) {
            self.fail(FailureCause::Silent { waited: self.start, during: "starting" });
        }
    }

    /// Tells the end of an interrupted turn that was held back.
    fn settle(&mut self) {
        if self.owed.take().is_some() {
            self.emit(AgentEvent::TurnInterrupted);
        }
    }

    fn emit(&mut self, event: AgentEvent) {
        self.effects.push(ProtocolEffect::Emit(event));
    }

    fn fail(&mut self, cause: FailureCause) {
        self.effects.push(ProtocolEffect::Fail(trouble(cause)));
    }
}

impl Protocol for Stream {
    fn begin(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.launch(now);
        std::mem::take(&mut self.effects)
    }

    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(order) => self.obey(order, now),
            ProtocolEvent::Line(line) => self.hear(&line, now),
            ProtocolEvent::Exited(exit) => self.fail(of_exit(exit)),
            ProtocolEvent::Tick => self.keep_time(now),
        }
        std::mem::take(&mut self.effects)
    }

    fn owes_turn(&self) -> bool {
        let runs = matches!(self.turn, Turn::Ahead | Turn::Running);
        runs || self.owed.is_some() || !self.queue.is_empty() || !self.steers.is_empty()
    }

    fn wake(&self) -> Option<Instant> {
        [self.owed, self.ready_by()].into_iter().flatten().min()
    }
}
