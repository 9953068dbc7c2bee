//! The thread that serves the pipes of a guarded process. It never blocks on a pipe,
//! reads only as far ahead as lines are acknowledged, and ends on request, whoever may
//! still hold the other ends.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::{LineLimit, ProcessEvent, READ_AHEAD, weight};
use crate::guard::GuardReport;

/// How much of standard error is kept.
const STDERR_TAIL: usize = 4 << 10;
/// How much of a line of standard error is reported.
const MAX_ERROR_LINE: usize = 4 << 10;
/// How much is read in one call.
const CHUNK: usize = 64 << 10;

/// What the owner asks of the thread.
#[derive(Debug)]
pub(super) enum PipeRequest {
    Write(Vec<u8>),
    CloseInput,
}

/// Our ends of everything that leads to the process. A closed one is `None`.
pub(super) struct Pipes<Report> {
    pub(super) output: Option<OwnedFd>,
    pub(super) errors: Option<OwnedFd>,
    pub(super) input: Option<OwnedFd>,
    pub(super) guard: Option<UnixStream>,
    pub(super) wakeups: UnixStream,
    pub(super) requests: Receiver<PipeRequest>,
    pub(super) line_limit: LineLimit,
    pub(super) pending: Arc<AtomicUsize>,
    pub(super) stderr: Arc<Mutex<VecDeque<u8>>>,
    pub(super) report: Report,
}

/// Data that is not complete yet.
#[derive(Default)]
struct PartialData {
    line: Vec<u8>,
    error_line: Vec<u8>,
    report: Vec<u8>,
    /// Chunks to write, and how much of the first one is written.
    unwritten: VecDeque<Vec<u8>>,
    written: usize,
    closing: bool,
}

impl<Report: Fn(ProcessEvent)> Pipes<Report> {
    /// Serves until the owner closes the waker.
    pub(super) fn serve(mut self) {
        let mut partial = PartialData::default();
        let mut buffer = vec![0; CHUNK];
        loop {
            let [woken, output, errors, reports, input] = self.wait_ready(&partial);
            if woken && !self.take_requests(&mut partial) {
                return;
            }
            if output {
                self.read_output(&mut buffer, &mut partial.line);
            }
            if errors {
                self.read_errors(&mut buffer, &mut partial.error_line);
            }
            if reports {
                self.read_reports(&mut buffer, &mut partial.report);
            }
            if input {
                self.write_input(&mut partial);
            }
            if partial.closing && partial.unwritten.is_empty() {
                self.input = None;
            }
        }
    }

    /// Waits until something can be done and returns what.
    fn wait_ready(&self, partial: &PartialData) -> [bool; 5] {
        let has_room = self.pending.load(Ordering::Acquire) < READ_AHEAD;
        let sources = [
            Some(PollFd::new(&self.wakeups, PollFlags::IN)),
            self.output.as_ref().filter(|_| has_room).map(|end| PollFd::new(end, PollFlags::IN)),
            self.errors.as_ref().map(|end| PollFd::new(end, PollFlags::IN)),
            self.guard.as_ref().map(|end| PollFd::new(end, PollFlags::IN)),
            self.input
                .as_ref()
                .filter(|_| !partial.unwritten.is_empty())
                .map(|end| PollFd::new(end, PollFlags::OUT)),
        ];
        let places: Vec<usize> =
            (0..sources.len()).filter(|&place| sources[place].is_some()).collect();
        let mut polled: Vec<PollFd<'_>> = sources.into_iter().flatten().collect();
        let mut ready = [false; 5];
        if poll(&mut polled, None).is_ok() {
            for (place, source) in places.into_iter().zip(polled) {
                ready[place] = !source.revents().is_empty();
            }
        }
        ready
    }

    /// Takes the requests of the owner. Returns whether there may be more.
    fn take_requests(&self, partial: &mut PartialData) -> bool {
        let mut bytes = [0; 64];
        let open = loop {
            match (&self.wakeups).read(&mut bytes) {
                Ok(0) => break false,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
            }
        };
        for request in self.requests.try_iter() {
            match request {
                PipeRequest::CloseInput => partial.closing = true,
                PipeRequest::Write(bytes) if self.input.is_some() && !partial.closing => {
                    partial.unwritten.push_back(bytes);
                }
                PipeRequest::Write(_) => {}
            }
        }
        open
    }

    fn read_output(&mut self, buffer: &mut [u8], line: &mut Vec<u8>) {
        match read(self.output.as_ref(), buffer) {
            Some([]) => {
                if !line.is_empty() {
                    // The last line has no line end.
                    self.report_line(std::mem::take(line));
                }
                self.output = None;
                (self.report)(ProcessEvent::OutputClosed);
            }
            Some(mut bytes) => {
                let max_line = match self.line_limit {
                    LineLimit::Refuse(max_line) => max_line,
                    LineLimit::Split(_) => usize::MAX,
                };
                while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
                    let (rest_of_line, rest) = bytes.split_at(end);
                    line.extend(rest_of_line);
                    bytes = rest.get(1..).unwrap_or_default();
                    if line.len() > max_line {
                        break;
                    }
                    self.report_line(std::mem::take(line));
                }
                line.extend(bytes);
                match self.line_limit {
                    LineLimit::Refuse(max_line) if line.len() > max_line => {
                        self.output = None;
                        *line = Vec::new();
                        (self.report)(ProcessEvent::LineTooLong);
                    }
                    LineLimit::Split(max_line) if line.len() > max_line => {
                        self.report_line(std::mem::take(line));
                    }
                    LineLimit::Refuse(_) | LineLimit::Split(_) => {}
                }
            }
            None => {}
        }
    }

    fn report_line(&self, line: Vec<u8>) {
        self.pending.fetch_add(weight(&line), Ordering::AcqRel);
        (self.report)(ProcessEvent::Line(line));
    }

    fn report_error_line(&self, line: Vec<u8>) {
        if self.pending.load(Ordering::Acquire) < READ_AHEAD {
            self.pending.fetch_add(weight(&line), Ordering::AcqRel);
            (self.report)(ProcessEvent::ErrorLine(line));
        }
    }

    /// Always reads, so that the process never blocks on standard error, and keeps the end.
    fn read_errors(&mut self, buffer: &mut [u8], partial: &mut Vec<u8>) {
        match read(self.errors.as_ref(), buffer) {
            Some([]) => {
                self.errors = None;
                (self.report)(ProcessEvent::ErrorsClosed);
            }
            Some(bytes) => {
                let mut tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend(bytes);
                let over = tail.len().saturating_sub(STDERR_TAIL);
                tail.drain(..over);
                drop(tail);
                for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
                    let line = piece.strip_suffix(b"\n").unwrap_or(piece);
                    let room = MAX_ERROR_LINE.saturating_sub(partial.len());
                    partial.extend(line.iter().take(room));
                    if line.len() < piece.len() {
                        self.report_error_line(std::mem::take(partial));
                    }
                }
            }
            None => {}
        }
    }

    fn read_reports(&mut self, buffer: &mut [u8], partial: &mut Vec<u8>) {
        match read(self.guard.as_ref(), buffer) {
            Some([]) => {
                self.guard = None;
                (self.report)(ProcessEvent::GuardGone);
            }
            Some(bytes) => {
                partial.extend(bytes);
                while let Some(end) = partial.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = partial.drain(..=end).collect();
                    if let Some(report) =
                        GuardReport::parse(String::from_utf8_lossy(&line).trim_end())
                    {
                        (self.report)(ProcessEvent::Guard(report));
                    }
                }
            }
            None => {}
        }
    }

    fn write_input(&mut self, partial: &mut PartialData) {
        let (Some(pipe), Some(line)) = (&self.input, partial.unwritten.front()) else { return };
        match rustix::io::write(pipe, line.get(partial.written..).unwrap_or_default()) {
            Ok(written) => {
                partial.written += written;
                if partial.written >= line.len() {
                    partial.unwritten.pop_front();
                    partial.written = 0;
                    (self.report)(ProcessEvent::Written);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => {
                self.input = None;
                partial.unwritten.clear();
                (self.report)(ProcessEvent::InputClosed);
            }
        }
    }
}

/// Reads what is available: empty at the end of the stream, `None` if there is nothing
/// at the moment.
fn read(end: Option<impl AsFd>, buffer: &mut [u8]) -> Option<&[u8]> {
    match rustix::io::read(end?, &mut *buffer) {
        Ok(read) => buffer.get(..read),
        Err(Errno::INTR | Errno::AGAIN) => None,
        Err(_) => Some(&[]),
    }
}
