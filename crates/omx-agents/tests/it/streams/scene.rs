//! Runs a protocol between a simulated owner and a simulated program, with a
//! simulated clock. It acts like the loop of a conversation and checks every effect.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use omx_agents::Failure;
use omx_agents::agent::{
    AgentCommand, AgentMessage, ApprovalDecision, ConversationId, ConversationStart,
};
use omx_agents::event::{AgentEvent, ApprovalId, Delivery};
use omx_agents::protocol::{AgentExit, Protocol, ProtocolEffect, ProtocolEvent};
use omx_kernel::approval::AllowLevel;
use omx_testkit::fuzz::{Random, json_value, mutated};
use serde_json::{Value, json};

use super::open::protocol;
use super::row::{DriverRow, ProgramMemory};
use super::warp::warped;

/// The most effects of one input: what waits is bounded by the commands.
const MOST_EFFECTS: usize = 200;
/// A passed deadline is handled within this many ticks.
const MOST_TICKS: usize = 200;

/// The running program.
struct Program {
    mind: ProgramMemory,
    /// The lines it has yet to write.
    lines: VecDeque<Value>,
    /// Whether its input was closed.
    is_stopped: bool,
}

pub struct Scene {
    row: &'static DriverRow,
    protocol: Box<dyn Protocol>,
    now: Instant,
    /// One in this many lines goes wrong.
    calm: usize,
    program: Option<Program>,
    starts_since_launch: usize,
    /// Commanded turns that have not ended.
    open_turns: usize,
    /// Whether the owner knows of a running turn.
    in_turn: bool,
    approvals: Vec<ApprovalId>,
    over: bool,
    /// All events.
    pub events: Vec<AgentEvent>,
    trace: Vec<String>,
}

impl Scene {
    /// A conversation without damage.
    pub fn plain(row: &'static DriverRow) -> Self {
        Self::opened(row, ConversationStart::New, AllowLevel::Edits)
    }

    /// An arbitrary conversation.
    pub fn any(row: &'static DriverRow, rng: &mut Random) -> Self {
        let id = || ConversationId::new("01a1df44-58d4-7310-91d0-ac6d5f4ecbb8").unwrap();
        let start =
            if rng.one_in(3) { ConversationStart::Resume(id()) } else { ConversationStart::New };
        let mut scene = Self::opened(row, start, *rng.choose(&AllowLevel::ALL));
        scene.calm = *rng.choose(&[4, 12, 40, 150]);
        scene
    }

    fn opened(row: &'static DriverRow, start: ConversationStart, allow: AllowLevel) -> Self {
        Self::with(row, protocol(row.kind, start, allow))
    }

    /// A conversation with this protocol.
    pub fn with(row: &'static DriverRow, protocol: Box<dyn Protocol>) -> Self {
        let mut scene = Self {
            row,
            protocol,
            now: Instant::now(),
            calm: usize::MAX,
            program: None,
            starts_since_launch: 0,
            open_turns: 0,
            in_turn: false,
            approvals: Vec::new(),
            over: false,
            events: Vec::new(),
            trace: Vec::new(),
        };
        let effects = scene.protocol.start(scene.now);
        scene.carry_out(effects);
        assert!(scene.program.is_some(), "{}: it begins with a launch", row.kind);
        scene
    }

    pub fn count(&self, fits: impl Fn(&AgentEvent) -> bool) -> usize {
        self.events.iter().filter(|event| fits(event)).count()
    }

    pub fn send(&mut self, text: &str) {
        self.send_command(AgentCommand::Send(AgentMessage::text(text)));
    }

    /// Passes on every line of the program undamaged and allows every request.
    pub fn receive_all(&mut self) {
        while let Some(program) = &mut self.program {
            match program.lines.pop_front() {
                Some(line) => self.receive(line),
                None if program.is_stopped => {
                    self.exit(AgentExit { code: None, stderr: String::new() })
                }
                None => return,
            }
            while let Some(approval) = self.approvals.pop() {
                self.send_command(AgentCommand::Answer(approval, ApprovalDecision::Allow));
            }
        }
    }

    /// Makes one random thing happen.
    pub fn step(&mut self, rng: &mut Random) {
        if self.over {
            return;
        }
        match rng.below(10) {
            0..6 => self.receive_next(rng),
            6 | 7 => {
                let command = self.any_command(rng);
                self.send_command(command);
            }
            8 => self.now += Duration::from_millis(rng.below(900) as u64),
            _ if self.is_rough(rng) || self.is_rough(rng) => self.something_odd(rng),
            _ => {}
        }
        if self.program.as_ref().is_some_and(|program| program.is_stopped) && rng.one_in(3) {
            self.exit_somehow(rng);
        }
        self.keep_time();
    }

    /// Lets time pass without output: every deadline passes.
    pub fn wait_long(&mut self) {
        while self.program.as_ref().is_some_and(|program| program.is_stopped) {
            self.exit(AgentExit { code: None, stderr: String::new() });
        }
        for _ in 0..100 {
            self.now += Duration::from_secs(24 * 3_600);
            self.keep_time();
        }
        let waits = self.protocol.next_tick();
        assert!(
            self.over || waits.is_none(),
            "it still waits after months; {}",
            self.format_trace()
        );
        // Otherwise a hanging program would go unnoticed.
        let is_watched = self.in_turn || self.protocol.has_pending_turn();
        let is_noticed = self.over || self.open_turns == 0 || is_watched;
        assert!(is_noticed, "an order is forgotten; {}", self.format_trace());
    }

    fn is_rough(&self, rng: &mut Random) -> bool {
        rng.one_in(self.calm)
    }

    fn something_odd(&mut self, rng: &mut Random) {
        match rng.below(9) {
            0..5 => {
                let line = rng.choose(&self.row.unsolicited_lines()).clone();
                self.receive_maybe_warped(rng, line);
            }
            5 => {
                if let Ok(line) = serde_json::from_str(&json_value(rng, 4)) {
                    self.receive(line);
                }
            }
            6 => self.receive_stderr(rng),
            7 => self.now += Duration::from_secs(*rng.choose(&[4, 29, 31, 61, 3_600])),
            _ => self.exit_somehow(rng),
        }
    }

    /// The next line; in a rough scene it may be late, repeated, lost or damaged.
    fn receive_next(&mut self, rng: &mut Random) {
        let (late, twice, never) = (self.is_rough(rng), self.is_rough(rng), self.is_rough(rng));
        let Some(Program { lines, .. }) = &mut self.program else { return };
        if lines.is_empty() {
            return;
        }
        let at = if late { rng.below(lines.len()) } else { 0 };
        let line = if twice { lines[at].clone() } else { lines.remove(at).unwrap() };
        if !never {
            self.receive_maybe_warped(rng, line);
        }
    }

    fn receive_maybe_warped(&mut self, rng: &mut Random, line: Value) {
        let line = if self.is_rough(rng) { warped(rng, &line) } else { Some(line) };
        if let Some(line) = line {
            self.receive(line);
        }
    }

    fn any_command(&self, rng: &mut Random) -> AgentCommand {
        let decision = if rng.one_in(2) {
            ApprovalDecision::Allow
        } else {
            ApprovalDecision::Deny("no".to_owned())
        };
        match rng.below(10) {
            0..4 => {
                let mut message = AgentMessage::text("go");
                message.schema = rng.one_in(3).then(|| json!({"type": "object"}));
                AgentCommand::Send(message)
            }
            4 | 5 => AgentCommand::Steer("this way".to_owned()),
            6 | 7 => AgentCommand::Interrupt,
            8 if !self.approvals.is_empty() => {
                AgentCommand::Answer(rng.choose(&self.approvals).clone(), decision)
            }
            8 => AgentCommand::Answer(ApprovalId("nobody".to_owned()), decision),
            _ if rng.one_in(8) => AgentCommand::End,
            _ => AgentCommand::Steer(String::new()),
        }
    }

    /// The owner sends a command.
    pub fn send_command(&mut self, command: AgentCommand) {
        if matches!(command, AgentCommand::Send(_) | AgentCommand::Steer(_)) {
            self.open_turns += 1;
        }
        let ends = command == AgentCommand::End;
        self.feed(ProtocolEvent::Command(command));
        // The loop then terminates the process and does not call the protocol again.
        self.over |= ends;
    }

    pub fn receive(&mut self, line: Value) {
        if self.program.is_some() {
            self.feed(ProtocolEvent::Line(line));
        }
    }

    /// The program writes to standard error.
    fn receive_stderr(&mut self, rng: &mut Random) {
        if self.row.stderr_lines.is_empty() || self.program.is_none() {
            return;
        }
        let line = rng.pick(self.row.stderr_lines).to_owned();
        let line = if self.is_rough(rng) { mutated(rng, line.as_bytes()) } else { line.into() };
        let line = String::from_utf8_lossy(&line).into_owned();
        self.trace.push(format!("overheard {line:?}"));
        let effects = self.protocol.handle_stderr(&line, self.now);
        self.carry_out(effects);
    }

    fn exit_somehow(&mut self, rng: &mut Random) {
        let code = *rng.choose(&[None, Some(0), Some(1), Some(143), Some(i32::MIN)]);
        let stderr = rng.pick(&["", "Error: boom\n", "No conversation found with session ID: x"]);
        self.exit(AgentExit { code, stderr: stderr.to_owned() });
    }

    /// The program exits.
    pub fn exit(&mut self, exit: AgentExit) {
        if self.program.take().is_none() {
            return;
        }
        self.feed(ProtocolEvent::Exited(exit));
        let goes_on = self.over || self.program.is_some();
        // No deadline would be left to inform the owner.
        assert!(
            goes_on || self.open_turns == 0,
            "a turn outlives its program; {}",
            self.format_trace()
        );
    }

    /// What the loop does at the time of the protocol's next tick.
    fn keep_time(&mut self) {
        for _ in 0..MOST_TICKS {
            if self.over || self.protocol.next_tick().is_none_or(|wake| wake > self.now) {
                return;
            }
            self.feed(ProtocolEvent::Tick);
        }
        panic!("{MOST_TICKS} ticks change nothing; {}", self.format_trace());
    }

    fn feed(&mut self, input: ProtocolEvent) {
        if self.over {
            return;
        }
        let trace_line = format!("{input:?}");
        self.trace.push(trace_line.chars().take(300).collect());
        let effects = self.protocol.handle(input, self.now);
        self.carry_out(effects);
        // Otherwise an idle program would be terminated for its silence.
        let owes_none = self.open_turns > 0 || !self.protocol.has_pending_turn();
        assert!(self.over || owes_none, "a turn nobody ordered is owed; {}", self.format_trace());
    }

    fn carry_out(&mut self, effects: Vec<ProtocolEffect>) {
        assert!(effects.len() < MOST_EFFECTS, "{} effects; {}", effects.len(), self.format_trace());
        for effect in effects {
            if self.over {
                return;
            }
            match effect {
                ProtocolEffect::Launch(launch) => {
                    self.starts_since_launch = 0;
                    let mind = ProgramMemory::from_launch(&launch);
                    self.program =
                        Some(Program { mind, lines: VecDeque::new(), is_stopped: false });
                }
                ProtocolEffect::Write(line) => self.write(&line),
                ProtocolEffect::WriteText(text) => self.write(&text.into()),
                ProtocolEffect::CloseInput => {}
                ProtocolEffect::Stop => {
                    if let Some(program) = &mut self.program {
                        program.is_stopped = true;
                    }
                }
                ProtocolEffect::Emit(event) => self.observe_event(event),
                ProtocolEffect::Fail(failure) => {
                    self.read(&failure);
                    self.over = true;
                }
            }
        }
    }

    fn write(&mut self, line: &Value) {
        if let Some(Program { mind, lines, .. }) = &mut self.program {
            lines.extend((self.row.answer)(mind, line));
        }
    }

    fn observe_event(&mut self, event: AgentEvent) {
        self.trace.push(format!("  told {event:?}").chars().take(300).collect());
        if let AgentEvent::TurnFailed(failure) | AgentEvent::Retrying(failure) = &event {
            self.read(failure);
        }
        match &event {
            AgentEvent::Started { .. } => {
                self.starts_since_launch += 1;
                assert_eq!(self.starts_since_launch, 1, "started twice; {}", self.format_trace());
            }
            AgentEvent::Delivered(Delivery::Turn) => self.in_turn = true,
            // Text that joined a turn starts none.
            AgentEvent::Delivered(Delivery::Steered) => {
                assert!(self.open_turns > 0, "steered into no turn; {}", self.format_trace());
                self.open_turns -= 1;
            }
            AgentEvent::ApprovalNeeded { approval, .. } => self.approvals.push(approval.clone()),
            AgentEvent::TurnFinished(_)
            | AgentEvent::TurnInterrupted
            | AgentEvent::TurnFailed(_) => {
                assert!(self.open_turns > 0, "a turn ended twice; {}", self.format_trace());
                self.open_turns -= 1;
                self.in_turn = false;
                self.approvals.clear();
            }
            AgentEvent::Ended(_) => panic!("only the loop knows the end; {}", self.format_trace()),
            _ => {}
        }
        self.events.push(event);
    }

    /// Formats a failure as a person would see it.
    fn read(&self, failure: &Failure) {
        assert_eq!(failure.agent, self.row.kind);
        assert!(!failure.to_string().is_empty() && !failure.kind().is_empty());
        let _ = failure.remedy();
    }

    fn format_trace(&self) -> String {
        let from = self.trace.len().saturating_sub(40);
        format!("{}:\n{}", self.row.kind, self.trace[from..].join("\n"))
    }
}
