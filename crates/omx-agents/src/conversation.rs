//! A conversation with a real process: one thread that feeds a protocol from
//! one channel, carries out what it wants, and keeps every deadline.

mod deadlines;
mod ending;
mod running;
mod time;

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use self::deadlines::{Deadlines, Due};
use self::running::{Generation, Running, State};
use self::time::{GUARD, LIMBO};
use crate::agent::{Agent, AgentCommand, ConversationSpec};
use crate::driver::{AgentEnv, AgentKind, Driver, Installation};
use crate::event::{AgentEvent, ApprovalId, Delivery};
use crate::failure::{Failure, FailureCause};
use crate::limits::AgentLimits;
use crate::protocol::{Launch, Protocol, ProtocolEffect, ProtocolEvent};
use omx_process::{GuardedProcess, ProcessEvent};

/// An open conversation. Dropping it ends it.
#[derive(Debug)]
pub struct Conversation {
    orders: Sender<Heard>,
}

impl Agent for Conversation {
    fn command(&self, order: AgentCommand) {
        let _ = self.orders.send(Heard::Order(order));
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.orders.send(Heard::Order(AgentCommand::End));
    }
}

/// Opens a conversation; what happens in it is told to `tell`, in order, from
/// a thread of its own. That it could not be opened is told as well.
pub fn open(
    driver: &dyn Driver,
    installation: &Installation,
    opening: &ConversationSpec,
    surroundings: &AgentEnv,
    limits: AgentLimits,
    tell: impl FnMut(AgentEvent) + Send + 'static,
) -> Result<Conversation, Failure> {
    let protocol = driver.protocol(opening, installation, surroundings, &limits)?;
    let (orders, heard) = channel();
    let mut lead = Lead {
        agent: driver.kind(),
        protocol,
        limits,
        omx: surroundings.omx.clone(),
        worker_variable: surroundings.worker_variable.clone(),
        noises: orders.clone(),
        tell: Box::new(tell),
        running: None,
        generation: Generation::default(),
        held: VecDeque::new(),
        deadlines: Deadlines::default(),
        opened: false,
        turn: Turn::None,
        approvals: BTreeSet::new(),
        outlived: 0,
        over: None,
    };
    let start = std::thread::Builder::new().name(format!("{}-agent", driver.kind()));
    start.spawn(move || lead.run(&heard)).map_err(|error| {
        Failure::new(driver.kind(), FailureCause::CannotStart { detail: error.to_string() })
    })?;
    Ok(Conversation { orders })
}

enum Heard {
    Order(AgentCommand),
    Noise(Generation, ProcessEvent),
}

/// Whether a turn runs, as far as the owner was told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    None,
    Running,
    Interrupting,
}

/// Why the conversation is over: ordered, or trouble.
type Why = Option<Failure>;

struct Lead {
    agent: AgentKind,
    protocol: Box<dyn Protocol>,
    limits: AgentLimits,
    omx: PathBuf,
    worker_variable: String,
    noises: Sender<Heard>,
    tell: Box<dyn FnMut(AgentEvent) + Send>,
    running: Option<Running>,
    generation: Generation,
    /// Effects that wait until the process before is gone; the first is a launch.
    held: VecDeque<ProtocolEffect>,
    deadlines: Deadlines,
    /// Whether the owner knows that the conversation is open.
    opened: bool,
    turn: Turn,
    approvals: BTreeSet<ApprovalId>,
    /// How many processes would not end.
    outlived: usize,
    over: Option<Why>,
}

impl Lead {
    fn run(&mut self, heard: &Receiver<Heard>) {
        let now = Instant::now();
        let effects = self.protocol.begin(now);
        self.carry_out(effects, now);
        while !(self.over.is_some() && self.running.is_none()) {
            let next = self.next_moment();
            let now = Instant::now();
            let heard = match next {
                Some(next) => heard.recv_timeout(next.saturating_duration_since(now)),
                None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let now = Instant::now();
            match heard {
                Ok(Heard::Order(order)) => self.obey(order, now),
                Ok(Heard::Noise(generation, noise)) => self.hear(generation, noise, now),
                Err(RecvTimeoutError::Timeout) => {}
                // Not possible: this loop holds a sender itself.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.keep_time(Instant::now());
        }
        if let Some(why) = self.over.take() {
            let count = self.outlived;
            let left = (count > 0).then(|| self.trouble(FailureCause::Outlived { count }));
            (self.tell)(AgentEvent::Ended(why.or(left)));
        }
    }

    fn obey(&mut self, order: AgentCommand, now: Instant) {
        if self.over.is_some() {
            return;
        }
        match &order {
            AgentCommand::Send(_) | AgentCommand::Steer(_) => self.begin_turn(now),
            AgentCommand::Interrupt if self.turn == Turn::Running => {
                self.turn = Turn::Interrupting;
                self.deadlines.set(Due::Interrupt, now + self.limits.interrupt);
            }
            AgentCommand::Answer(approval, _) => {
                self.approvals.remove(approval);
                self.expect_more(now);
            }
            AgentCommand::Interrupt | AgentCommand::End => {}
        }
        let ends = order == AgentCommand::End;
        self.feed(ProtocolEvent::Command(order), now);
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
            let waits = !self.held.is_empty()
                || (matches!(effect, ProtocolEffect::Launch(_)) && self.running.is_some());
            match effect {
                ProtocolEffect::Emit(event) => self.emit(event, now),
                ProtocolEffect::Fail(trouble) => self.finish(Some(trouble), now),
                effect if waits => {
                    if self.held.is_empty() {
                        self.dismiss(now);
                    }
                    self.held.push_back(effect);
                }
                ProtocolEffect::Launch(launch) => self.launch(&launch, now),
                ProtocolEffect::Write(line) => self.write(format!("{line}\n"), now),
                ProtocolEffect::WriteText(text) => self.write(text, now),
                ProtocolEffect::Stop => self.stop(now),
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
            let _ = noises.send(Heard::Noise(generation, noise));
        };
        let mark = launch.environment.get(std::ffi::OsStr::new(&self.worker_variable));
        let mark = mark.map(|mark| mark.to_string_lossy().into_owned());
        match GuardedProcess::start(launch, &self.omx, self.limits.line, tell) {
            Ok(process) => {
                let program = launch.program.display().to_string();
                self.running = Some(Running::new(process, program, mark));
                self.deadlines.set(Due::Start, now + self.limits.start);
            }
            Err(error) => {
                let detail = format!("{}: {error}", launch.program.display());
                self.finish(Some(self.trouble(FailureCause::CannotStart { detail })), now);
            }
        }
    }

    fn write(&mut self, text: String, now: Instant) {
        let Some(running) = &mut self.running else { return };
        if running.unwritten == 0 {
            self.deadlines.set(Due::Write, now + self.limits.write);
        }
        running.unwritten += 1;
        running.process.write(text.into_bytes());
    }

    fn begin_turn(&mut self, now: Instant) {
        if self.turn == Turn::None {
            self.turn = Turn::Running;
            self.expect_more(now);
        }
    }

    fn emit(&mut self, event: AgentEvent, now: Instant) {
        match &event {
            AgentEvent::Started { .. } => {
                self.deadlines.clear(Due::Start);
                // Another process of the same conversation is no news.
                if std::mem::replace(&mut self.opened, true) {
                    return;
                }
            }
            AgentEvent::Delivered(Delivery::Turn) => self.begin_turn(now),
            AgentEvent::ApprovalNeeded { approval, .. } => {
                self.approvals.insert(approval.clone());
                // It waits for us now, not we for it.
                self.deadlines.clear(Due::Silence);
            }
            AgentEvent::TurnFinished(_)
            | AgentEvent::TurnInterrupted
            | AgentEvent::TurnFailed(_) => {
                self.turn = Turn::None;
                self.approvals.clear();
                self.deadlines.clear(Due::Silence);
                self.deadlines.clear(Due::Interrupt);
            }
            _ => {}
        }
        (self.tell)(event);
    }

    fn hear(&mut self, generation: Generation, noise: ProcessEvent, now: Instant) {
        if generation != self.generation {
            return;
        }
        let Some(running) = &mut self.running else { return };
        if let ProcessEvent::Line(line) | ProcessEvent::ErrorLine(line) = &noise {
            running.process.acknowledge(line);
        }
        match running.note(&noise) {
            State::Lives => {}
            State::Leaving => {
                self.deadlines.expect_of_guard_alone(now + GUARD);
            }
            State::HalfClosed(which) => {
                running.half_closed = Some(which);
                self.deadlines.set_once(Due::Limbo, now + LIMBO);
            }
            State::Gone => return self.bury(now),
        }
        match noise {
            ProcessEvent::Line(line) if self.over.is_none() => self.take_line(&line, now),
            // What a dismissed process still says is not told.
            ProcessEvent::ErrorLine(line) if self.over.is_none() && self.held.is_empty() => {
                let effects = self.protocol.overhear(&String::from_utf8_lossy(&line), now);
                self.carry_out(effects, now);
            }
            ProcessEvent::LineTooLong => {
                let cause = FailureCause::LineTooLong { limit: self.limits.line };
                self.finish(Some(self.trouble(cause)), now);
            }
            ProcessEvent::Written if running.unwritten == 0 => self.deadlines.clear(Due::Write),
            ProcessEvent::Written => self.deadlines.set(Due::Write, now + self.limits.write),
            _ => {}
        }
    }

    fn take_line(&mut self, line: &[u8], now: Instant) {
        let Some(running) = &mut self.running else { return };
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(value) => {
                running.garbage.clear();
                if self.opened {
                    // One that goes on with an open conversation need only speak.
                    self.deadlines.clear(Due::Start);
                }
                self.expect_more(now);
                // What a dismissed process still says is not told.
                if self.held.is_empty() {
                    self.feed(ProtocolEvent::Line(value), now);
                }
            }
            Err(_) => {
                running.garbage.add(line);
                if running.garbage.lines() > self.limits.garbage {
                    let sample = running.garbage.sample().unwrap_or_default();
                    self.finish(Some(self.trouble(FailureCause::Garbage { sample })), now);
                }
            }
        }
    }

    fn trouble(&self, cause: FailureCause) -> Failure {
        Failure::new(self.agent, cause)
    }
}
