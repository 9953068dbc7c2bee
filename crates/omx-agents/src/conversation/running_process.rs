//! What is known of the process that runs now.

use omx_process::guard::GuardReport;
use omx_process::{GuardedProcess, ProcessEvent};

/// Tells the noises of one process from those of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessGeneration(u64);

impl ProcessGeneration {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// How a process is after a noise.
pub(super) enum ProcessState {
    Lives,
    /// It closed this stream and may live on.
    HalfClosed(&'static str),
    /// The program is gone; its guard ends what it left behind.
    Leaving,
    /// The tree is gone and every stream is closed.
    Gone,
}

pub(super) struct RunningProcess {
    pub(super) process: GuardedProcess,
    /// The program's name.
    pub(super) program: String,
    /// The mark in the environment of all it starts.
    pub(super) mark: Option<String>,
    pub(super) unwritten: usize,
    pub(super) garbage: GarbageLines,
    pub(super) exit_code: Option<i32>,
    pub(super) cannot_start: Option<i32>,
    /// The program is gone, or its guard was told to end it.
    pub(super) is_ending: bool,
    /// How many processes would not die, as far as the guard could tell.
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
            is_ending: false,
            left: None,
            guard_gone: false,
            half_closed: None,
            output_closed: false,
            errors_closed: false,
        }
    }

    /// Takes a noise into account.
    pub(super) fn record(&mut self, noise: &ProcessEvent) -> ProcessState {
        let mut state = ProcessState::Lives;
        match noise {
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
            ProcessEvent::Guard(GuardReport::Gone) => self.left = Some(0),
            ProcessEvent::Guard(GuardReport::Left(count)) => self.left = Some(*count),
            ProcessEvent::GuardGone => {
                self.guard_gone = true;
                state = ProcessState::HalfClosed("standard output");
            }
            // It is read no more.
            ProcessEvent::LineTooLong => self.output_closed = true,
            ProcessEvent::Line(_)
            | ProcessEvent::ErrorLine(_)
            | ProcessEvent::Guard(GuardReport::Running(_)) => {}
        }
        match state {
            _ if self.guard_gone && self.output_closed && self.errors_closed => ProcessState::Gone,
            // A program that is about to go closes its streams.
            ProcessState::HalfClosed(_) if self.is_ending && !self.guard_gone => {
                ProcessState::Lives
            }
            state => state,
        }
    }
}

/// Lines in a row that are not JSON.
#[derive(Debug, Default)]
pub(super) struct GarbageLines {
    lines: usize,
    first: String,
}

/// How much of a line that cannot be understood is shown.
const SAMPLE: usize = 200;

impl GarbageLines {
    pub(super) fn add(&mut self, line: &[u8]) {
        if self.lines == 0 {
            let shown = line.get(..SAMPLE).unwrap_or(line);
            self.first = String::from_utf8_lossy(shown).trim().to_owned();
        }
        self.lines += 1;
    }

    pub(super) fn clear(&mut self) {
        self.lines = 0;
    }

    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// The first of them, if there are any.
    pub(super) fn sample(&self) -> Option<String> {
        (self.lines > 0).then(|| self.first.clone())
    }
}
