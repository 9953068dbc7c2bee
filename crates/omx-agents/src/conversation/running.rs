//! What is known of the process that runs now.

use crate::guard::wire::Report;
use crate::process::{Noise, Process};

/// Tells the noises of one process from those of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Generation(u64);

impl Generation {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// How a process is after a noise.
pub(super) enum State {
    Lives,
    /// It closed this stream and may live on.
    HalfClosed(&'static str),
    /// The tree is gone and every stream is closed.
    Gone,
}

pub(super) struct Running {
    pub(super) process: Process,
    /// The mark in the environment of all it starts.
    pub(super) mark: Option<String>,
    pub(super) unwritten: usize,
    pub(super) garbage: Garbage,
    pub(super) exit_code: Option<i32>,
    pub(super) cannot_start: Option<i32>,
    /// The program is gone, or its guard was told to end it.
    pub(super) is_ending: bool,
    pub(super) guard_reported_end: bool,
    pub(super) guard_gone: bool,
    pub(super) half_closed: Option<&'static str>,
    output_closed: bool,
    errors_closed: bool,
}

impl Running {
    pub(super) fn new(process: Process, mark: Option<String>) -> Self {
        Self {
            process,
            mark,
            unwritten: 0,
            garbage: Garbage::default(),
            exit_code: None,
            cannot_start: None,
            is_ending: false,
            guard_reported_end: false,
            guard_gone: false,
            half_closed: None,
            output_closed: false,
            errors_closed: false,
        }
    }

    /// Takes a noise into account.
    pub(super) fn note(&mut self, noise: &Noise) -> State {
        let mut state = State::Lives;
        match noise {
            Noise::Written => self.unwritten = self.unwritten.saturating_sub(1),
            Noise::InputClosed => state = State::HalfClosed("standard input"),
            Noise::OutputClosed => {
                self.output_closed = true;
                state = State::HalfClosed("standard output");
            }
            Noise::ErrorsClosed => self.errors_closed = true,
            Noise::Guard(Report::Exited(code)) => {
                self.exit_code = *code;
                self.is_ending = true;
            }
            Noise::Guard(Report::CannotStart(number)) => {
                self.cannot_start = Some(*number);
                self.guard_reported_end = true;
            }
            Noise::Guard(Report::Gone | Report::Left(_)) => self.guard_reported_end = true,
            Noise::GuardGone => {
                self.guard_gone = true;
                state = State::HalfClosed("standard output");
            }
            Noise::Line(_)
            | Noise::LineTooLong
            | Noise::Complaint(_)
            | Noise::Guard(Report::Running(_)) => {}
        }
        if self.guard_gone && self.output_closed && self.errors_closed {
            State::Gone
        } else {
            state
        }
    }
}

/// Lines in a row that are not JSON.
#[derive(Debug, Default)]
pub(super) struct Garbage {
    lines: usize,
    first: String,
}

/// How much of a line that cannot be understood is shown.
const SAMPLE: usize = 200;

impl Garbage {
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

    pub(super) fn sample(&self) -> String {
        self.first.clone()
    }
}
