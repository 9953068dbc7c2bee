//! One git process from start to end, with a deadline.
//!
//! It stands in a process group of its own: a key pressed in the terminal does
//! not cut it off in the middle, and a deadline reaches its hooks too. When
//! omx is killed, git goes on to its end: half a merge would be worse.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// How much of standard error is kept: its end.
const ERRORS_KEPT: usize = 16 << 10;
/// How long a process that was asked to end has.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long is waited for the end of the output when the process is gone: what
/// a hook left in the background may hold it open for ever.
const AFTERWARDS: Duration = Duration::from_millis(300);

/// What a process said.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// How it ended; `None` if it was stopped at its deadline.
    pub status: Option<ExitStatus>,
    /// The beginning of standard output.
    pub output: Vec<u8>,
    /// How long all of it was.
    pub output_length: usize,
    /// The end of standard error.
    pub errors: Vec<u8>,
}

/// Runs a command to its end and keeps so many bytes of its output.
pub(super) fn run(command: &mut Command, deadline: Duration, keep: usize) -> io::Result<Said> {
    let mut child = command.spawn()?;
    let mut said = Said::default();
    let done = listen(&mut child, Instant::now() + deadline, keep, &mut said);
    if !matches!(done, Ok(true)) {
        stop(&mut child)?;
        return done.map(|_| said);
    }
    said.status = Some(child.wait()?);
    Ok(said)
}

/// Reads until the process has ended; whether it did before the deadline.
fn listen(child: &mut Child, deadline: Instant, keep: usize, said: &mut Said) -> io::Result<bool> {
    let handle = pidfd_open(pid(child)?, PidfdFlags::empty())?;
    let (mut output, mut errors) = (child.stdout.take(), child.stderr.take());
    let mut ended: Option<Instant> = None;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let until = ended.map_or(deadline, |at| deadline.min(at + AFTERWARDS));
        let process = ended.is_none().then(|| handle.as_fd());
        let waiting = [process, fd(&output), fd(&errors)];
        if waiting.iter().all(Option::is_none) {
            return Ok(true);
        }
        let ready = ready(waiting, until.saturating_duration_since(Instant::now()))?;
        if ready == [false; 3] {
            return Ok(ended.is_some());
        }
        if ready[0] {
            ended = Some(Instant::now());
        }
        if ready[1] {
            read(&mut output, &mut buffer, |bytes| {
                said.output_length += bytes.len();
                let room = keep.saturating_sub(said.output.len()).min(bytes.len());
                said.output.extend_from_slice(&bytes[..room]);
            })?;
        }
        if ready[2] {
            read(&mut errors, &mut buffer, |bytes| {
                said.errors.extend_from_slice(bytes);
                let over = said.errors.len().saturating_sub(ERRORS_KEPT);
                said.errors.drain(..over);
            })?;
        }
    }
}

fn fd<T: AsFd>(stream: &Option<T>) -> Option<BorrowedFd<'_>> {
    stream.as_ref().map(AsFd::as_fd)
}

/// Which of these can be read; none if the time is over.
fn ready(waiting: [Option<BorrowedFd<'_>>; 3], patience: Duration) -> io::Result<[bool; 3]> {
    let mut places = Vec::new();
    let mut polled = Vec::new();
    for (place, fd) in waiting.into_iter().enumerate() {
        if let Some(fd) = fd {
            places.push(place);
            polled.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        }
    }
    let timeout = Timespec::try_from(patience).ok();
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => {}
        // Looked at once more: the caller counts the time.
        Err(rustix::io::Errno::INTR) => return ready(waiting, patience),
        Err(error) => return Err(error.into()),
    }
    let mut ready = [false; 3];
    for (place, fd) in places.into_iter().zip(&polled) {
        ready[place] = !fd.revents().is_empty();
    }
    Ok(ready)
}

fn read(
    stream: &mut Option<impl Read>,
    buffer: &mut [u8],
    mut keep: impl FnMut(&[u8]),
) -> io::Result<()> {
    let Some(open) = stream else { return Ok(()) };
    match open.read(buffer) {
        Ok(0) => *stream = None,
        Ok(length) => keep(&buffer[..length]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Ends a process and its group: git removes its locks when it is asked, and
/// only then. The process is waited for last, so its number is its own.
fn stop(child: &mut Child) -> io::Result<()> {
    let group = pid(child)?;
    let _ = kill_process_group(group, Signal::TERM);
    let handle = pidfd_open(group, PidfdFlags::empty())?;
    ready([Some(handle.as_fd()), None, None], PATIENCE)?;
    let _ = kill_process_group(group, Signal::KILL);
    child.wait().map(drop)
}

fn pid(child: &Child) -> io::Result<Pid> {
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    number.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
