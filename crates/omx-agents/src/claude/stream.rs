//! The protocol of claude's JSON stream.
//!
//! Claude queues messages that arrive during a turn and gives them to the model
//! with the next step, or as a separate turn after this one. So a message that
//! must be its own turn waits here. Text for the running turn is written at
//! once; claude repeats its id when the model receives it.

mod handlers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use omx_kernel::Timestamp;

use super::errors::{ClaudeError, classify_exit, claude_failure};
use super::launch::{ClaudeLauncher, SavedHistory};
use super::lines;
use super::usage::UsageCounter;
use crate::agent::{
    AgentCommand, AgentMessage, ApprovalDecision, ConversationId, ConversationSpec,
    ConversationStart,
};
use crate::driver::{AgentEnv, AgentInstallation};
use crate::event::{AgentEvent, ApprovalId, CallId, Delivery, ToolAction};
use crate::failure::FailureCause;
use crate::limits::AgentLimits;
use crate::protocol::{Protocol, ProtocolEffect, ProtocolEvent};

/// Whether the process accepts messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaudePhase {
    /// Not yet; it must by then.
    Starting(Instant),
    Ready,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaudeTurn {
    /// No turn.
    None,
    /// Claude has a message but has not started on it.
    Sent,
    Running,
    /// Claude works on its own; nobody waits for its end.
    Unrequested,
}

/// An interrupt that is not complete.
#[derive(Clone, Copy, Debug)]
struct PendingInterrupt {
    requested_at: Instant,
    acknowledged: bool,
    /// A tool was running and may have left processes behind.
    in_tool: bool,
}

/// Text written during a turn that the model has not received yet.
#[derive(Debug)]
struct PendingSteer {
    id: String,
    text: String,
    is_reported: bool,
    /// Claude returned it.
    is_withdrawn: bool,
}

/// A pending control request.
#[derive(Debug)]
enum ControlRequest {
    Initialize,
    Interrupt,
    /// Its response shows that claude has read the text before it.
    Fence(String),
    /// Withdraws text.
    Withdraw(String),
}

/// A tool call that waits for approval.
#[derive(Debug)]
struct PendingToolUse {
    call: CallId,
    input: Value,
}

#[derive(Debug)]
pub(super) struct ClaudeProtocol {
    launcher: ClaudeLauncher,
    folder: PathBuf,
    conversation: ConversationId,
    /// How long the end of an interrupted turn may be delayed.
    interrupt_grace: Duration,
    /// How long a process may take to become ready.
    start_timeout: Duration,
    history: SavedHistory,
    /// The schema the process was started with.
    schema: Option<Value>,
    phase: ClaudePhase,
    turn: ClaudeTurn,
    /// The id of the message that claude has not started on.
    sent_id: Option<String>,
    queue: VecDeque<AgentMessage>,
    steers: Vec<PendingSteer>,
    interrupt: Option<PendingInterrupt>,
    /// An interrupted turn whose end is reported when its processes are gone,
    /// and by then at the latest.
    interrupt_due: Option<Instant>,
    calls: BTreeMap<CallId, ToolAction>,
    pending_approvals: BTreeMap<ApprovalId, PendingToolUse>,
    requests: BTreeMap<String, ControlRequest>,
    last_request: u64,
    usage: UsageCounter,
    limited_until: Option<Timestamp>,
    last_error: Option<ClaudeError>,
    model: Option<String>,
    effects: Vec<ProtocolEffect>,
}

impl ClaudeProtocol {
    pub(super) fn new(
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        env: &AgentEnv,
        limits: &AgentLimits,
    ) -> Self {
        let (conversation, record) = match &spec.start {
            ConversationStart::New => (ConversationId::random(), SavedHistory::Empty),
            ConversationStart::Resume(id) => (id.clone(), SavedHistory::Saved),
        };
        Self {
            launcher: ClaudeLauncher::new(spec, installation, env, &conversation),
            folder: spec.folder.clone(),
            conversation,
            // Shorter than the loop's own deadline, which ends the conversation.
            interrupt_grace: limits.interrupt * 3 / 4,
            start_timeout: limits.start,
            history: record,
            schema: spec.schema.clone(),
            phase: ClaudePhase::Ready,
            turn: ClaudeTurn::None,
            sent_id: None,
            queue: VecDeque::new(),
            steers: Vec::new(),
            interrupt: None,
            interrupt_due: None,
            calls: BTreeMap::new(),
            pending_approvals: BTreeMap::new(),
            requests: BTreeMap::new(),
            last_request: 0,
            usage: UsageCounter::default(),
            limited_until: None,
            last_error: None,
            model: spec.model.clone(),
            effects: Vec::new(),
        }
    }

    /// Starts a process. Text that did not reach the previous one is sent again.
    fn launch(&mut self, now: Instant) {
        let unheard = std::mem::take(&mut self.steers).into_iter().rev();
        for steer in unheard {
            self.queue.push_front(AgentMessage::text(steer.text));
        }
        self.phase = ClaudePhase::Starting(now + self.start_timeout);
        self.turn = ClaudeTurn::None;
        self.sent_id = None;
        self.interrupt = None;
        self.limited_until = None;
        self.calls.clear();
        self.pending_approvals.clear();
        self.requests.clear();
        self.usage.restart();
        let launch = self.launcher.launch(self.history, self.schema.as_ref());
        self.effects.push(ProtocolEffect::Launch(launch));
        self.request(ControlRequest::Initialize, json!({"subtype": "initialize"}));
    }

    fn handle_command(&mut self, command: AgentCommand, now: Instant) {
        match command {
            AgentCommand::Send(message) => self.send(message, now),
            AgentCommand::Steer(text) => self.steer(text, now),
            AgentCommand::Interrupt => self.interrupt_turn(now),
            AgentCommand::Answer(approval, decision) => self.answer(&approval, decision),
            AgentCommand::End => self.effects.push(ProtocolEffect::CloseInput),
        }
    }

    fn send(&mut self, message: AgentMessage, now: Instant) {
        let waits =
            self.turn != ClaudeTurn::None || self.interrupt_due.is_some() || !self.queue.is_empty();
        self.queue.push_back(message);
        if waits {
            self.emit(AgentEvent::Delivered(Delivery::Queued));
        }
        self.start_next_turn(now);
    }

    /// Starts the next turn if possible.
    fn start_next_turn(&mut self, now: Instant) {
        if self.phase != ClaudePhase::Ready || self.turn != ClaudeTurn::None {
            return;
        }
        let Some(message) = self.queue.pop_front() else { return };
        if message.schema != self.schema {
            // A process has one schema for its whole life.
            self.schema.clone_from(&message.schema);
            self.queue.push_front(message);
            return self.launch(now);
        }
        let id = Uuid::new_v4().to_string();
        self.effects.push(ProtocolEffect::Write(lines::message(&message.text, &id)));
        self.sent_id = Some(id);
        self.turn = ClaudeTurn::Sent;
    }

    fn steer(&mut self, text: String, now: Instant) {
        let reaches =
            matches!(self.turn, ClaudeTurn::Sent | ClaudeTurn::Running) && self.interrupt.is_none();
        if !reaches {
            return self.send(AgentMessage::text(text), now);
        }
        let id = Uuid::new_v4().to_string();
        self.effects.push(ProtocolEffect::Write(lines::message(&text, &id)));
        // Claude does not confirm queued text; the response to a later request
        // shows that it has read it.
        let fence = ControlRequest::Fence(id.clone());
        self.request(fence, json!({"subtype": "get_binary_version"}));
        self.steers.push(PendingSteer { id, text, is_reported: false, is_withdrawn: false });
    }

    fn interrupt_turn(&mut self, now: Instant) {
        let begins = self.phase != ClaudePhase::Ready && self.interrupt_due.is_none();
        if self.turn == ClaudeTurn::None && begins && self.queue.pop_front().is_some() {
            // Ordered, and not yet said to anyone.
            return self.emit(AgentEvent::TurnInterrupted);
        }
        if self.turn == ClaudeTurn::None || self.interrupt.is_some() {
            return;
        }
        // What claude still keeps would begin a turn as soon as this one is over.
        let kept: Vec<String> = self.steers.iter().map(|steer| steer.id.clone()).collect();
        for id in kept {
            let withdrawal = json!({"subtype": "cancel_async_message", "message_uuid": id});
            self.request(ControlRequest::Withdraw(id), withdrawal);
        }
        self.request(ControlRequest::Interrupt, json!({"subtype": "interrupt"}));
        let waiting: Vec<&CallId> =
            self.pending_approvals.values().map(|requested| &requested.call).collect();
        let in_tool = self.calls.keys().any(|call| !waiting.contains(&call));
        self.interrupt = Some(PendingInterrupt { requested_at: now, acknowledged: false, in_tool });
    }

    fn answer(&mut self, approval: &ApprovalId, decision: ApprovalDecision) {
        let Some(asked) = self.pending_approvals.remove(approval) else { return };
        let input = if asked.input.is_object() { asked.input } else { json!({}) };
        self.effects.push(ProtocolEffect::Write(lines::decision(&approval.0, input, decision)));
    }

    fn request(&mut self, purpose: ControlRequest, request: Value) {
        self.last_request += 1;
        let id = format!("request-{}", self.last_request);
        self.effects.push(ProtocolEffect::Write(lines::request(&id, request)));
        self.requests.insert(id, purpose);
    }

    /// The deadline for the process to become ready.
    fn ready_by(&self) -> Option<Instant> {
        match self.phase {
            ClaudePhase::Starting(moment) => Some(moment),
            ClaudePhase::Ready => None,
        }
    }

    fn check_deadlines(&mut self, now: Instant) {
        if self.interrupt_due.is_some_and(|moment| moment <= now) {
            self.report_interrupt();
        }
        if self.ready_by().is_some_and(|moment| moment <= now) {
            self.fail(FailureCause::Silent { waited: self.start_timeout, during: "starting" });
        }
    }

    /// Reports the delayed end of an interrupted turn.
    fn report_interrupt(&mut self) {
        if self.interrupt_due.take().is_some() {
            self.emit(AgentEvent::TurnInterrupted);
        }
    }

    fn emit(&mut self, event: AgentEvent) {
        self.effects.push(ProtocolEffect::Emit(event));
    }

    fn fail(&mut self, cause: FailureCause) {
        self.effects.push(ProtocolEffect::Fail(claude_failure(cause)));
    }
}

impl Protocol for ClaudeProtocol {
    fn start(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        self.launch(now);
        std::mem::take(&mut self.effects)
    }

    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(command) => self.handle_command(command, now),
            ProtocolEvent::Line(line) => self.handle_line(&line, now),
            ProtocolEvent::Exited(exit) => self.fail(classify_exit(exit)),
            ProtocolEvent::Tick => self.check_deadlines(now),
        }
        std::mem::take(&mut self.effects)
    }

    fn has_pending_turn(&self) -> bool {
        let runs = matches!(self.turn, ClaudeTurn::Sent | ClaudeTurn::Running);
        runs || self.interrupt_due.is_some() || !self.queue.is_empty() || !self.steers.is_empty()
    }

    fn next_tick(&self) -> Option<Instant> {
        [self.interrupt_due, self.ready_by()].into_iter().flatten().min()
    }
}
