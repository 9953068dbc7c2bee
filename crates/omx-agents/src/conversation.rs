//! A conversation over a real process: one thread feeds a protocol from one
//! channel, carries out its effects, and enforces every deadline.

mod deadlines;
mod running_process;
mod shutdown;
mod timeouts;

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use self::deadlines::{ConversationDeadlines, DeadlineKind};
use self::running_process::{ProcessGeneration, ProcessState, RunningProcess};
use self::timeouts::{DRAIN_TIMEOUT, GUARD_TIMEOUT};
use crate::agent::{Agent, AgentCommand, ConversationSpec};
use crate::driver::{AgentEnv, AgentInstallation, AgentKind, Driver};
use crate::event::{AgentEvent, ApprovalId, Delivery};
use crate::failure::{Failure, FailureCause};
use crate::limits::AgentLimits;
use crate::protocol::{Confinement, Launch, Protocol, ProtocolEffect, ProtocolEvent};
use crate::sandbox::AgentSandbox;
use omx_process::{GuardedProcess, ProcessEvent};

/// An open conversation. Dropping it ends it.
#[derive(Debug)]
pub struct Conversation {
    commands: Sender<LoopEvent>,
}

impl Agent for Conversation {
    fn command(&self, command: AgentCommand) {
        let _ = self.commands.send(LoopEvent::Command(command));
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.commands.send(LoopEvent::Command(AgentCommand::End));
    }
}

/// Opens a conversation. Its events go to `emit`, in order, from a thread of its
/// own; a failure to open is an event as well.
pub fn open(
    driver: &dyn Driver,
    installation: &AgentInstallation,
    spec: &ConversationSpec,
    env: &AgentEnv,
    limits: AgentLimits,
    emit: impl FnMut(AgentEvent) + Send + 'static,
) -> Result<Conversation, Failure> {
    let protocol = driver.protocol(spec, installation, env, &limits)?;
    let mut sandbox = spec.sandbox.clone();
    let confinement = sandbox
        .confinement(driver, env)
        .map_err(|detail| Failure::new(driver.kind(), FailureCause::CannotStart { detail }))?;
    let (commands, received) = channel();
    let mut lead = ConversationLoop {
        agent: driver.kind(),
        protocol,
        limits,
        sandbox,
        confinement,
        omx: env.omx.clone(),
        worker_variable: env.worker_variable.clone(),
        sender: commands.clone(),
        listener: Box::new(emit),
        running: None,
        generation: ProcessGeneration::default(),
        deferred: VecDeque::new(),
        deadlines: ConversationDeadlines::default(),
        opened: false,
        turn: TurnState::None,
        approvals: BTreeSet::new(),
        processes_left: 0,
        over: None,
    };
    let start = std::thread::Builder::new().name(format!("{}-agent", driver.kind()));
    start.spawn(move || lead.run(&received)).map_err(|error| {
        Failure::new(driver.kind(), FailureCause::CannotStart { detail: error.to_string() })
    })?;
    Ok(Conversation { commands })
}

enum LoopEvent {
    Command(AgentCommand),
    Process(ProcessGeneration, ProcessEvent),
}

/// The turn, as far as the owner knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnState {
    None,
    Running,
    Interrupting,
}

/// Why the conversation ended: none if it was commanded.
type EndReason = Option<Failure>;

struct ConversationLoop {
    agent: AgentKind,
    protocol: Box<dyn Protocol>,
    limits: AgentLimits,
    sandbox: AgentSandbox,
    confinement: Confinement,
    omx: PathBuf,
    worker_variable: String,
    sender: Sender<LoopEvent>,
    listener: Box<dyn FnMut(AgentEvent) + Send>,
    running: Option<RunningProcess>,
    generation: ProcessGeneration,
    /// Effects that wait until the previous process is gone, starting with a launch.
    deferred: VecDeque<ProtocolEffect>,
    deadlines: ConversationDeadlines,
    /// Whether the owner has received `Started`.
    opened: bool,
    turn: TurnState,
    approvals: BTreeSet<ApprovalId>,
    /// How many processes could not be terminated.
    processes_left: usize,
    over: Option<EndReason>,
}

impl ConversationLoop {
    fn run(&mut self, received: &Receiver<LoopEvent>) {
        let now = Instant::now();
        let effects = self.protocol.start(now);
        self.carry_out(effects, now);
        while !(self.over.is_some() && self.running.is_none()) {
            let next = self.next_deadline();
            let now = Instant::now();
            let received = match next {
                Some(next) => received.recv_timeout(next.saturating_duration_since(now)),
                None => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let now = Instant::now();
            match received {
                Ok(LoopEvent::Command(command)) => self.handle_command(command, now),
                Ok(LoopEvent::Process(generation, event)) => {
                    self.handle_process_event(generation, event, now)
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Unreachable: this loop holds a sender itself.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.check_deadlines(Instant::now());
        }
        if let Some(why) = self.over.take() {
            let count = self.processes_left;
            let left = (count > 0).then(|| self.failure(FailureCause::ProcessesLeft { count }));
            (self.listener)(AgentEvent::Ended(why.or(left)));
        }
    }

    fn handle_command(&mut self, command: AgentCommand, now: Instant) {
        if self.over.is_some() {
            return;
        }
        match &command {
            AgentCommand::Send(_) | AgentCommand::Steer(_) => self.begin_turn(now),
            AgentCommand::Interrupt if self.turn == TurnState::Running => {
                self.turn = TurnState::Interrupting;
                self.deadlines.set(DeadlineKind::Interrupt, now + self.limits.interrupt);
            }
            AgentCommand::Answer(approval, _) => {
                self.approvals.remove(approval);
                self.restart_silence_timer(now);
            }
            AgentCommand::Interrupt | AgentCommand::End => {}
        }
        let ends = command == AgentCommand::End;
        self.feed(ProtocolEvent::Command(command), now);
        if ends && self.over.is_none() {
            self.finish(None, now);
        }
    }

    fn feed(&mut self, input: ProtocolEvent, now: Instant) {
        let effects = self.protocol.handle(input, now);
        self.carry_out(effects, now);
    }

    fn carry_out(&mut self, effects: Vec<ProtocolEffect>, now: Instant) {
        for effect in effects {
            if self.over.is_some() {
                return;
            }
            let waits = !self.deferred.is_empty()
                || (matches!(effect, ProtocolEffect::Launch(_)) && self.running.is_some());
            match effect {
                ProtocolEffect::Emit(event) => self.emit(event, now),
                ProtocolEffect::Fail(failure) => self.finish(Some(failure), now),
                effect if waits => {
                    if self.deferred.is_empty() {
                        self.replace_process(now);
                    }
                    self.deferred.push_back(effect);
                }
                ProtocolEffect::Launch(launch) => self.launch(&launch, now),
                ProtocolEffect::Write(line) => self.write(format!("{line}\n"), now),
                ProtocolEffect::WriteText(text) => self.write(text, now),
                ProtocolEffect::Stop => self.stop_process(now),
                ProtocolEffect::CloseInput => {
                    if let Some(running) = &mut self.running {
                        running.process.close_input();
                    }
                }
            }
        }
    }

    fn launch(&mut self, launch: &Launch, now: Instant) {
        self.generation = self.generation.next();
        let (generation, sender) = (self.generation, self.sender.clone());
        let emit = move |event| {
            let _ = sender.send(LoopEvent::Process(generation, event));
        };
        let mark = launch.environment.get(std::ffi::OsStr::new(&self.worker_variable));
        let mark = mark.map(|mark| mark.to_string_lossy().into_owned());
        let launch = &self.sandbox.enclose(launch, &self.confinement);
        match GuardedProcess::start(launch, &self.omx, self.limits.line, emit) {
            Ok(process) => {
                let program = launch.program.display().to_string();
                self.running = Some(RunningProcess::new(process, program, mark));
                self.deadlines.set(DeadlineKind::Start, now + self.limits.start);
            }
            Err(error) => {
                let detail = format!("{}: {error}", launch.program.display());
                self.finish(Some(self.failure(FailureCause::CannotStart { detail })), now);
            }
        }
    }

    fn write(&mut self, text: String, now: Instant) {
        let Some(running) = &mut self.running else { return };
        if running.unwritten == 0 {
            self.deadlines.set(DeadlineKind::Write, now + self.limits.write);
        }
        running.unwritten += 1;
        running.process.write(text.into_bytes());
    }

    fn begin_turn(&mut self, now: Instant) {
        if self.turn == TurnState::None {
            self.turn = TurnState::Running;
            self.restart_silence_timer(now);
        }
    }

    fn emit(&mut self, event: AgentEvent, now: Instant) {
        match &event {
            AgentEvent::Started { .. } => {
                self.deadlines.clear(DeadlineKind::Start);
                // A new process of the same conversation is not a new conversation.
                if std::mem::replace(&mut self.opened, true) {
                    return;
                }
            }
            AgentEvent::Delivered(Delivery::Turn) => self.begin_turn(now),
            AgentEvent::ApprovalNeeded { approval, .. } => {
                self.approvals.insert(approval.clone());
                // The agent now waits for the owner, so silence is expected.
                self.deadlines.clear(DeadlineKind::Silence);
            }
            AgentEvent::TurnFinished(_)
            | AgentEvent::TurnInterrupted
            | AgentEvent::TurnFailed(_) => {
                self.turn = TurnState::None;
                self.approvals.clear();
                self.deadlines.clear(DeadlineKind::Silence);
                self.deadlines.clear(DeadlineKind::Interrupt);
            }
            _ => {}
        }
        (self.listener)(event);
    }

    fn handle_process_event(
        &mut self,
        generation: ProcessGeneration,
        event: ProcessEvent,
        now: Instant,
    ) {
        if generation != self.generation {
            return;
        }
        let Some(running) = &mut self.running else { return };
        if let ProcessEvent::Line(line) | ProcessEvent::ErrorLine(line) = &event {
            running.process.acknowledge(line);
        }
        match running.record(&event) {
            ProcessState::Lives => {}
            ProcessState::Leaving => {
                self.deadlines.program_gone(now + GUARD_TIMEOUT);
            }
            ProcessState::HalfClosed(which) => {
                running.half_closed = Some(which);
                self.deadlines.set_once(DeadlineKind::Drain, now + DRAIN_TIMEOUT);
            }
            ProcessState::Gone => return self.process_ended(now),
        }
        match event {
            ProcessEvent::Line(line) if self.over.is_none() => self.handle_line(&line, now),
            // Output of a process that is being replaced is discarded.
            ProcessEvent::ErrorLine(line) if self.over.is_none() && self.deferred.is_empty() => {
                let effects = self.protocol.handle_stderr(&String::from_utf8_lossy(&line), now);
                self.carry_out(effects, now);
            }
            ProcessEvent::LineTooLong => {
                let cause = FailureCause::LineTooLong { limit: self.limits.line };
                self.finish(Some(self.failure(cause)), now);
            }
            ProcessEvent::Written if running.unwritten == 0 => {
                self.deadlines.clear(DeadlineKind::Write)
            }
            ProcessEvent::Written => {
                self.deadlines.set(DeadlineKind::Write, now + self.limits.write)
            }
            _ => {}
        }
    }

    fn handle_line(&mut self, line: &[u8], now: Instant) {
        let Some(running) = &mut self.running else { return };
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(value) => {
                running.garbage.clear();
                if self.opened {
                    // A restarted process only has to respond.
                    self.deadlines.clear(DeadlineKind::Start);
                }
                self.restart_silence_timer(now);
                // Output of a process that is being replaced is discarded.
                if self.deferred.is_empty() {
                    self.feed(ProtocolEvent::Line(value), now);
                }
            }
            Err(_) => {
                running.garbage.add(line);
                if running.garbage.lines() > self.limits.garbage {
                    let sample = running.garbage.sample().unwrap_or_default();
                    self.finish(Some(self.failure(FailureCause::Garbage { sample })), now);
                }
            }
        }
    }

    fn failure(&self, cause: FailureCause) -> Failure {
        Failure::new(self.agent, cause)
    }
}
