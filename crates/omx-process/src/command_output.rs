//! Runs a program with a deadline and returns what it printed.
//!
//! The program gets its own process group, so that a key pressed in the terminal does not
//! reach it and a deadline also ends what it started. No guard watches it: if omx is
//! killed, the program finishes by itself. Use [`GuardedRun`](crate::GuardedRun) for a
//! program that must not outlive omx.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::platform::ProcessHandle;

/// Which part of an output stream is kept in memory. The rest is read and dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptOutput {
    /// At most this many bytes from the beginning.
    First(usize),
    /// At most this many bytes from the end.
    Last(usize),
}

/// What happens to processes that the program left in its group when it exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// They keep running.
    Keep,
    /// They are killed.
    Kill,
}

/// How long a program may run, and how much of its output is kept.
#[derive(Clone, Copy, Debug)]
pub struct CommandLimits {
    /// When it is terminated.
    pub deadline: Duration,
    /// How long it may take to exit after SIGTERM; zero kills it at once.
    pub grace: Duration,
    /// How long its streams may stay open after it exited, within the deadline: a
    /// background process that it left may hold them forever.
    pub drain: Duration,
    /// How much of standard output is kept.
    pub stdout: KeptOutput,
    /// How much of standard error is kept.
    pub stderr: KeptOutput,
    /// What happens to the processes it leaves behind.
    pub leftovers: Leftovers,
}

/// What a program printed, and how it ended.
#[derive(Debug, Default)]
pub struct CommandOutput {
    /// How it exited; `None` if it was terminated at the deadline.
    pub status: Option<ExitStatus>,
    /// The kept part of standard output.
    pub stdout: Vec<u8>,
    /// How many bytes it wrote to standard output.
    pub stdout_length: usize,
    /// The kept part of standard error.
    pub stderr: Vec<u8>,
}

/// Runs a command until it exits or its deadline passes. Its standard input is `input`.
pub fn run_with_deadline(
    command: &mut Command,
    input: &[u8],
    limits: CommandLimits,
) -> io::Result<CommandOutput> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let mut output = CommandOutput::default();
    let finished =
        exchange(&mut child, input, Instant::now() + limits.deadline, limits, &mut output);
    match finished {
        Ok(true) => {
            if limits.leftovers == Leftovers::Kill {
                signal_group(&child, Signal::KILL);
            }
            output.status = Some(child.wait()?);
            Ok(output)
        }
        finished => {
            terminate(&mut child, limits.grace)?;
            finished.map(|_| output)
        }
    }
}

/// Kills a child and its process group, and reaps it. For a child that was started with a
/// group of its own.
pub fn kill_group(child: &mut Child) {
    signal_group(child, Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

/// Feeds and reads the streams until the program has exited. Returns whether it did
/// before the deadline.
fn exchange(
    child: &mut Child,
    input: &[u8],
    deadline: Instant,
    limits: CommandLimits,
    output: &mut CommandOutput,
) -> io::Result<bool> {
    let handle = ProcessHandle::open(child.id())?;
    let (mut stdin, mut unwritten) = (child.stdin.take(), input);
    if let Some(stdin) = &stdin {
        rustix::io::ioctl_fionbio(stdin, true)?;
    }
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let mut exited: Option<Instant> = None;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let until = exited.map_or(deadline, |at| deadline.min(at + limits.drain));
        let process = exited.is_none().then(|| handle.as_fd());
        let streams = [process, as_fd(&stdout), as_fd(&stderr)];
        if streams.iter().all(Option::is_none) {
            return Ok(true);
        }
        let writable = as_fd(&stdin).filter(|_| exited.is_none());
        let ready = wait_ready(streams, writable, until)?;
        if ready == [false; 4] {
            return Ok(exited.is_some());
        }
        if ready[0] {
            exited = Some(Instant::now());
        }
        if ready[1] {
            read_into(&mut stdout, &mut buffer, |bytes| {
                output.stdout_length += bytes.len();
                keep(&mut output.stdout, bytes, limits.stdout);
            })?;
        }
        if ready[2] {
            read_into(&mut stderr, &mut buffer, |bytes| {
                keep(&mut output.stderr, bytes, limits.stderr);
            })?;
        }
        if ready[3] {
            write_from(&mut stdin, &mut unwritten);
        }
    }
}

fn as_fd<T: AsFd>(stream: &Option<T>) -> Option<BorrowedFd<'_>> {
    stream.as_ref().map(AsFd::as_fd)
}

/// Waits until a stream can be read or written. All are false once the time is over.
fn wait_ready(
    readable: [Option<BorrowedFd<'_>>; 3],
    writable: Option<BorrowedFd<'_>>,
    until: Instant,
) -> io::Result<[bool; 4]> {
    let mut places = Vec::new();
    let mut polled = Vec::new();
    for (place, fd) in readable.into_iter().chain([writable]).enumerate() {
        if let Some(fd) = fd {
            let flags = if place < 3 { PollFlags::IN } else { PollFlags::OUT };
            places.push(place);
            polled.push(PollFd::from_borrowed_fd(fd, flags));
        }
    }
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match poll(&mut polled, Timespec::try_from(left).ok().as_ref()) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut ready = [false; 4];
    for (place, fd) in places.into_iter().zip(&polled) {
        ready[place] = !fd.revents().is_empty();
    }
    Ok(ready)
}

fn read_into(
    stream: &mut Option<impl Read>,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8]),
) -> io::Result<()> {
    let Some(open) = stream else { return Ok(()) };
    match open.read(buffer) {
        Ok(0) => *stream = None,
        Ok(length) => take(&buffer[..length]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Writes what fits, and closes the stream at the end or when the program closed it.
fn write_from(stdin: &mut Option<ChildStdin>, unwritten: &mut &[u8]) {
    let Some(open) = stdin else { return };
    match open.write(unwritten) {
        Ok(written) => *unwritten = unwritten.get(written..).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
        Err(_) => *unwritten = &[],
    }
    if unwritten.is_empty() {
        *stdin = None;
    }
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8], which: KeptOutput) {
    match which {
        KeptOutput::First(most) => {
            let room = most.saturating_sub(kept.len()).min(bytes.len());
            kept.extend_from_slice(&bytes[..room]);
        }
        KeptOutput::Last(most) => {
            kept.extend_from_slice(bytes);
            let excess = kept.len().saturating_sub(most);
            kept.drain(..excess);
        }
    }
}

/// Ends a program and its group: SIGTERM, so that it can remove its lock files, then
/// SIGKILL. It is reaped last, so that its pid cannot be reused before.
fn terminate(child: &mut Child, grace: Duration) -> io::Result<()> {
    if !grace.is_zero() {
        signal_group(child, Signal::TERM);
        let handle = ProcessHandle::open(child.id())?;
        wait_ready([Some(handle.as_fd()), None, None], None, Instant::now() + grace)?;
    }
    signal_group(child, Signal::KILL);
    child.wait().map(drop)
}

fn signal_group(child: &Child, signal: Signal) {
    let _ = kill_process_group(Pid::from_child(child), signal);
}
