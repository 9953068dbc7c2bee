//! The state of the running process.

use omx_process::guard::GuardReport;
use omx_process::{GuardedProcess, ProcessEvent};

/// Distinguishes the output of one process from that of its predecessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessGeneration(u64);

impl ProcessGeneration {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The state of a process after an event.
pub(super) enum ProcessState {
    Lives,
    /// It closed this stream and may still be running.
    HalfClosed(&'static str),
    /// The program exited; its guard terminates what it left behind.
    Leaving,
    /// The process tree is gone and every stream is closed.
    Gone,
}

pub(super) struct RunningProcess {
    pub(super) process: GuardedProcess,
    /// The program's name.
    pub(super) program: String,
    /// The mark in the environment of everything it starts.
    pub(super) mark: Option<String>,
    pub(super) unwritten: usize,
    pub(super) garbage: GarbageLines,
    pub(super) exit_code: Option<i32>,
    pub(super) cannot_start: Option<i32>,
    /// It was not started because it cannot be confined.
    pub(super) cannot_confine: bool,
    /// The program exited, or its guard was told to terminate it.
    pub(super) is_ending: bool,
    /// How many processes could not be terminated, as the guard reported.
    pub(super) left: Option<usize>,
    pub(super) guard_gone: bool,
    pub(super) half_closed: Option<&'static str>,
    output_closed: bool,
    errors_closed: bool,
}

impl RunningProcess {
    pub(super) fn new(process: GuardedProcess, program: String, mark: Option<String>) -> Self {
        Self {
            process,
            program,
            mark,
            unwritten: 0,
            garbage: GarbageLines::default(),
            exit_code: None,
            cannot_start: None,
            cannot_confine: false,
            is_ending: false,
            left: None,
            guard_gone: false,
            half_closed: None,
            output_closed: false,
            errors_closed: false,
        }
    }

    /// Updates the state after an event of the process.
    pub(super) fn record(&mut self, event: &ProcessEvent) -> ProcessState {
        let mut state = ProcessState::Lives;
        match event {
            ProcessEvent::Written => self.unwritten = self.unwritten.saturating_sub(1),
            ProcessEvent::InputClosed => state = ProcessState::HalfClosed("standard input"),
            ProcessEvent::OutputClosed => {
                self.output_closed = true;
                state = ProcessState::HalfClosed("standard output");
            }
            ProcessEvent::ErrorsClosed => self.errors_closed = true,
            ProcessEvent::Guard(GuardReport::Exited(code)) => {
                self.exit_code = *code;
                self.is_ending = true;
                state = ProcessState::Leaving;
            }
            ProcessEvent::Guard(GuardReport::CannotStart(number)) => {
                self.cannot_start = Some(*number);
                self.left = Some(0);
            }
            ProcessEvent::Guard(GuardReport::CannotConfine) => {
                self.cannot_confine = true;
                self.left = Some(0);
            }
            ProcessEvent::Guard(GuardReport::Gone) => self.left = Some(0),
            ProcessEvent::Guard(GuardReport::Left(count)) => self.left = Some(*count),
            ProcessEvent::GuardGone => {
                self.guard_gone = true;
                state = ProcessState::HalfClosed("standard output");
            }
            // Nothing more is read from it.
            ProcessEvent::LineTooLong => self.output_closed = true,
            ProcessEvent::Line(_)
            | ProcessEvent::ErrorLine(_)
            | ProcessEvent::Guard(GuardReport::Running(_)) => {}
        }
        match state {
            _ if self.guard_gone && self.output_closed && self.errors_closed => ProcessState::Gone,
            // A program that is exiting closes its streams.
            ProcessState::HalfClosed(_) if self.is_ending && !self.guard_gone => {
                ProcessState::Lives
            }
            state => state,
        }
    }
}

/// Consecutive lines that are not JSON.
#[derive(Debug, Default)]
pub(super) struct GarbageLines {
    lines: usize,
    first: String,
}

/// How much of such a line a message shows, in bytes.
const SAMPLE: usize = 200;

impl GarbageLines {
    pub(super) fn add(&mut self, line: &[u8]) {
        if self.lines == 0 {
            let excerpt = line.get(..SAMPLE).unwrap_or(line);
            self.first = String::from_utf8_lossy(excerpt).trim().to_owned();
        }
        self.lines += 1;
    }

    pub(super) fn clear(&mut self) {
        self.lines = 0;
    }

    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// The beginning of the first one, if there is one.
    pub(super) fn sample(&self) -> Option<String> {
        (self.lines > 0).then(|| self.first.clone())
    }
}
