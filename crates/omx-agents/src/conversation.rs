//! A conversation with a real process: one thread that feeds a protocol from
//! one channel, carries out what it wants, and keeps every deadline.

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
use crate::protocol::{Launch, Protocol, ProtocolEffect, ProtocolEvent};
use omx_process::{GuardedProcess, ProcessEvent};

/// An open conversation. Dropping it ends it.
#[derive(Debug)]
pub struct Conversation {
    orders: Sender<LoopEvent>,
}

impl Agent for Conversation {
    fn command(&self, command: AgentCommand) {
        let _ = self.orders.send(LoopEvent::Order(command));
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.orders.send(LoopEvent::Order(AgentCommand::End));
    }
}

/// Opens a conversation; what happens in it is told to `tell`, in order, from
/// a thread of its own. That it could not be opened is told as well.
pub fn open(
    driver: &dyn Driver,
    installation: &AgentInstallation,
    spec: &ConversationSpec,
    env: &AgentEnv,
    limits: AgentLimits,
    tell: impl FnMut(AgentEvent) + Send + 'static,
) -> Result<Conversation, Failure> {
    let protocol = driver.protocol(spec, installation, env, &limits)?;
    let (orders, heard) = channel();
    let mut lead = ConversationLoop {
        agent: driver.kind(),
        protocol,
        limits,
        omx: env.omx.clone(),
        worker_variable: env.worker_variable.clone(),
        noises: orders.clone(),
        emit_to: Box::new(tell),
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
    start.spawn(move || lead.run(&heard)).map_err(|error| {
        Failure::new(driver.kind(), FailureCause::CannotStart { detail: error.to_string() })
    })?;
    Ok(Conversation { orders })
}

enum LoopEvent {
    Order(AgentCommand),
    Noise(ProcessGeneration, ProcessEvent),
}

/// Whether a turn runs, as far as the owner was told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnState {
    None,
    Running,
    Interrupting,
}

/// Why the conversation is over: ordered, or trouble.
type EndReason = Option<Failure>;

struct ConversationLoop {
    agent: AgentKind,
    protocol: Box<dyn Protocol>,
    limits: AgentLimits,
    omx: PathBuf,
    worker_variable: String,
    noises: Sender<LoopEvent>,
    emit_to: Box<dyn FnMut(AgentEvent) + Send>,
    running: Option<RunningProcess>,
    generation: ProcessGeneration,
    /// Effects that wait until the process before is gone; the first is a launch.
    deferred: VecDeque<ProtocolEffect>,
    deadlines: ConversationDeadlines,
    /// Whether the owner knows that the conversation is open.
    opened: bool,
    turn: TurnState,
    approvals: BTreeSet<ApprovalId>,
    /// How many processes would not end.
    processes_left: usize,
    over: Option<EndReason>,
}

impl ConversationLoop {
    fn run(&mut self, heard: &Receiver<LoopEvent>) {
        let now = Instant::now();
        let effects = self.protocol.start(now);
        self.carry_out(effects, now);
        while !(self.over.is_some() && self.running.is_none()) {
            let next = self.next_deadline();
            let now = Instant::now();
            let heard = match next {
                Some(next) => heard.recv_timeout(next.saturating_duration_since(now)),
                None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let now = Instant::now();
            match heard {
                Ok(LoopEvent::Order(command)) => self.handle_command(command, now),
                Ok(LoopEvent::Noise(generation, noise)) => {
                    self.handle_output(generation, noise, now)
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Not possible: this loop holds a sender itself.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.check_deadlines(Instant::now());
        }
        if let Some(why) = self.over.take() {
            let count = self.processes_left;
            let left = (count > 0).then(|| self.failure(FailureCause::ProcessesLeft { count }));
            (self.emit_to)(AgentEvent::Ended(why.or(left)));
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
        let (generation, noises) = (self.generation, self.noises.clone());
        let tell = move |noise| {
            let _ = noises.send(LoopEvent::Noise(generation, noise));
        };
        let mark = launch.environment.get(std::ffi::OsStr::new(&self.worker_variable));
        let mark = mark.map(|mark| mark.to_string_lossy().into_owned());
        match GuardedProcess::start(launch, &self.omx, self.limits.line, tell) {
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
                // Another process of the same conversation is no news.
                if std::mem::replace(&mut self.opened, true) {
                    return;
                }
            }
            AgentEvent::Delivered(Delivery::Turn) => self.begin_turn(now),
            AgentEvent::ApprovalNeeded { approval, .. } => {
                self.approvals.insert(approval.clone());
                // It waits for us now, not we for it.
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
        (self.emit_to)(event);
    }

    fn handle_output(&mut self, generation: ProcessGeneration, noise: ProcessEvent, now: Instant) {
        if generation != self.generation {
            return;
        }
        let Some(running) = &mut self.running else { return };
        if let ProcessEvent::Line(line) | ProcessEvent::ErrorLine(line) = &noise {
            running.process.acknowledge(line);
        }
        match running.record(&noise) {
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
        match noise {
            ProcessEvent::Line(line) if self.over.is_none() => self.handle_line(&line, now),
            // What a dismissed process still says is not told.
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
                    // One that goes on with an open conversation need only speak.
                    self.deadlines.clear(DeadlineKind::Start);
                }
                self.restart_silence_timer(now);
                // What a dismissed process still says is not told.
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
