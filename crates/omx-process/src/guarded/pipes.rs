//! The one thread between an agent's pipes and whoever drives it. It never
//! blocks on a pipe, reads no further ahead than is listened to, and ends when
//! it is told to, whoever may still hold the other ends.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::{AHEAD, ProcessEvent, weight};
use crate::guard::GuardReport;

/// How much of standard error is kept.
const STDERR_TAIL: usize = 4 << 10;
/// How much of one line of standard error is told.
const COMPLAINT: usize = 4 << 10;
/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// What is wanted of the thread.
#[derive(Debug)]
pub(super) enum Wish {
    Write(Vec<u8>),
    CloseInput,
}

/// Our ends of everything that leads to the process. One that is closed is none.
pub(super) struct Pipes<Tell> {
    pub(super) output: Option<OwnedFd>,
    pub(super) errors: Option<OwnedFd>,
    pub(super) input: Option<OwnedFd>,
    pub(super) reports: Option<UnixStream>,
    pub(super) door: UnixStream,
    pub(super) wished: Receiver<Wish>,
    pub(super) longest_line: usize,
    pub(super) ahead: Arc<AtomicUsize>,
    pub(super) stderr: Arc<Mutex<VecDeque<u8>>>,
    pub(super) tell: Tell,
}

/// What is half done.
#[derive(Default)]
struct Halves {
    line: Vec<u8>,
    complaint: Vec<u8>,
    report: Vec<u8>,
    /// Lines to be written, and how much of the first one is.
    unwritten: VecDeque<Vec<u8>>,
    written: usize,
    closing: bool,
}

impl<Tell: Fn(ProcessEvent)> Pipes<Tell> {
    /// Serves until the door is closed.
    pub(super) fn serve(mut self) {
        let mut halves = Halves::default();
        let mut buffer = vec![0; CHUNK];
        loop {
            let [door, output, errors, reports, input] = self.ready(&halves);
            if door && !self.open_door(&mut halves) {
                return;
            }
            if output {
                self.read_output(&mut buffer, &mut halves.line);
            }
            if errors {
                self.read_errors(&mut buffer, &mut halves.complaint);
            }
            if reports {
                self.read_reports(&mut buffer, &mut halves.report);
            }
            if input {
                self.write_input(&mut halves);
            }
            if halves.closing && halves.unwritten.is_empty() {
                self.input = None;
            }
        }
    }

    /// Waits until something can be done, and tells what.
    fn ready(&self, halves: &Halves) -> [bool; 5] {
        let heard = self.ahead.load(Ordering::Acquire) < AHEAD;
        let sources = [
            Some(PollFd::new(&self.door, PollFlags::IN)),
            self.output.as_ref().filter(|_| heard).map(|end| PollFd::new(end, PollFlags::IN)),
            self.errors.as_ref().map(|end| PollFd::new(end, PollFlags::IN)),
            self.reports.as_ref().map(|end| PollFd::new(end, PollFlags::IN)),
            self.input
                .as_ref()
                .filter(|_| !halves.unwritten.is_empty())
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

    /// Takes what is wished for; tells whether there may be more.
    fn open_door(&self, halves: &mut Halves) -> bool {
        let mut bytes = [0; 64];
        let open = loop {
            match (&self.door).read(&mut bytes) {
                Ok(0) => break false,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
            }
        };
        for wish in self.wished.try_iter() {
            match wish {
                Wish::CloseInput => halves.closing = true,
                Wish::Write(bytes) if self.input.is_some() && !halves.closing => {
                    halves.unwritten.push_back(bytes);
                }
                Wish::Write(_) => {}
            }
        }
        open
    }

    fn read_output(&mut self, buffer: &mut [u8], line: &mut Vec<u8>) {
        match read(self.output.as_ref(), buffer) {
            Some([]) => {
                if !line.is_empty() {
                    // The last line, without an end.
                    self.tell_line(std::mem::take(line));
                }
                self.output = None;
                (self.tell)(ProcessEvent::OutputClosed);
            }
            Some(mut bytes) => {
                while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
                    let (rest_of_line, rest) = bytes.split_at(end);
                    line.extend(rest_of_line);
                    bytes = rest.get(1..).unwrap_or_default();
                    if line.len() > self.longest_line {
                        break;
                    }
                    self.tell_line(std::mem::take(line));
                }
                line.extend(bytes);
                if line.len() > self.longest_line {
                    self.output = None;
                    *line = Vec::new();
                    (self.tell)(ProcessEvent::LineTooLong);
                }
            }
            None => {}
        }
    }

    fn tell_line(&self, line: Vec<u8>) {
        self.ahead.fetch_add(weight(&line), Ordering::AcqRel);
        (self.tell)(ProcessEvent::Line(line));
    }

    fn tell_complaint(&self, line: Vec<u8>) {
        if self.ahead.load(Ordering::Acquire) < AHEAD {
            self.ahead.fetch_add(weight(&line), Ordering::AcqRel);
            (self.tell)(ProcessEvent::ErrorLine(line));
        }
    }

    /// Always read, so that it never holds the process up; its end is kept.
    fn read_errors(&mut self, buffer: &mut [u8], complaint: &mut Vec<u8>) {
        match read(self.errors.as_ref(), buffer) {
            Some([]) => {
                self.errors = None;
                (self.tell)(ProcessEvent::ErrorsClosed);
            }
            Some(bytes) => {
                let mut tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend(bytes);
                let over = tail.len().saturating_sub(STDERR_TAIL);
                tail.drain(..over);
                drop(tail);
                for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
                    let line = piece.strip_suffix(b"\n").unwrap_or(piece);
                    let room = COMPLAINT.saturating_sub(complaint.len());
                    complaint.extend(line.iter().take(room));
                    if line.len() < piece.len() {
                        self.tell_complaint(std::mem::take(complaint));
                    }
                }
            }
            None => {}
        }
    }

    fn read_reports(&mut self, buffer: &mut [u8], begun: &mut Vec<u8>) {
        match read(self.reports.as_ref(), buffer) {
            Some([]) => {
                self.reports = None;
                (self.tell)(ProcessEvent::GuardGone);
            }
            Some(bytes) => {
                begun.extend(bytes);
                while let Some(end) = begun.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = begun.drain(..=end).collect();
                    if let Some(report) =
                        GuardReport::parse(String::from_utf8_lossy(&line).trim_end())
                    {
                        (self.tell)(ProcessEvent::Guard(report));
                    }
                }
            }
            None => {}
        }
    }

    fn write_input(&mut self, halves: &mut Halves) {
        let (Some(pipe), Some(line)) = (&self.input, halves.unwritten.front()) else { return };
        match rustix::io::write(pipe, line.get(halves.written..).unwrap_or_default()) {
            Ok(written) => {
                halves.written += written;
                if halves.written >= line.len() {
                    halves.unwritten.pop_front();
                    halves.written = 0;
                    (self.tell)(ProcessEvent::Written);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => {
                self.input = None;
                halves.unwritten.clear();
                (self.tell)(ProcessEvent::InputClosed);
            }
        }
    }
}

/// What can be read now: nothing more to come if it is empty, nothing at the
/// moment if it is none.
fn read(end: Option<impl AsFd>, buffer: &mut [u8]) -> Option<&[u8]> {
    match rustix::io::read(end?, &mut *buffer) {
        Ok(read) => buffer.get(..read),
        Err(Errno::INTR | Errno::AGAIN) => None,
        Err(_) => Some(&[]),
    }
}
