//! A process under guard: one thread serves its streams and reports everything that
//! happens to one callback.

mod pipes;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use self::pipes::{PipeRequest, Pipes};
use crate::guard::{self, FOR_FLAG, GuardCommand, GuardReport, LeftoverTraces};
use crate::launch::Launch;

/// How many bytes of lines may wait for their acknowledgment before reading pauses.
const READ_AHEAD: usize = 1 << 20;
/// How long a killed guard may take to exit.
const GUARD_EXIT: Duration = Duration::from_secs(1);

/// What a waiting line costs. An empty one also takes memory.
fn weight(line: &[u8]) -> usize {
    line.len() + 64
}

/// What happens to a guarded process.
#[derive(Debug)]
pub enum ProcessEvent {
    /// A line of standard output. Reading pauses when too many lines have not been
    /// acknowledged ([`GuardedProcess::acknowledge`]).
    Line(Vec<u8>),
    /// A line was too long; standard output is no longer read.
    LineTooLong,
    /// A line of standard error, cut if it is long. Also to be acknowledged; dropped while
    /// too much waits.
    ErrorLine(Vec<u8>),
    /// Standard output was closed.
    OutputClosed,
    /// Standard error was closed.
    ErrorsClosed,
    /// The process has taken one written chunk.
    Written,
    /// The process closed its standard input.
    InputClosed,
    /// A report of the guard.
    Guard(GuardReport),
    /// The guard itself is gone.
    GuardGone,
}

/// The length of a line of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineLimit {
    /// A longer line ends the reading.
    Refuse(usize),
    /// A longer line is reported in pieces.
    Split(usize),
}

/// A process under guard. Dropping it makes the guard terminate the process, without
/// waiting for it; only [`GuardedProcess::reap`] leaves nothing behind.
#[derive(Debug)]
pub struct GuardedProcess {
    guard: Child,
    control: UnixStream,
    requests: Sender<PipeRequest>,
    /// A byte wakes the thread; closing it ends the thread.
    waker: UnixStream,
    thread: JoinHandle<()>,
    /// The weight of lines that were reported and not yet acknowledged.
    pending: Arc<AtomicUsize>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl GuardedProcess {
    /// Starts a process under guard and reports its events from another thread. Lines of
    /// standard output have at most `max_line` bytes.
    pub fn start<Report>(
        launch: &Launch,
        guard_program: &Path,
        max_line: usize,
        report: Report,
    ) -> io::Result<Self>
    where
        Report: Fn(ProcessEvent) + Send + 'static,
    {
        Self::start_with(launch, guard_program, LineLimit::Refuse(max_line), report)
    }

    /// The same, with a choice of what happens to longer lines.
    pub(crate) fn start_with<Report>(
        launch: &Launch,
        guard_program: &Path,
        line_limit: LineLimit,
        report: Report,
    ) -> io::Result<Self>
    where
        Report: Fn(ProcessEvent) + Send + 'static,
    {
        let (control, guard_end) = UnixStream::pair()?;
        let (waker, wakeups) = UnixStream::pair()?;
        let (input, writer) = io::pipe()?;
        let reports = control.try_clone()?;
        for end in [&waker, &wakeups] {
            end.set_nonblocking(true)?;
        }
        // Only this end: the process sees an ordinary pipe.
        rustix::io::ioctl_fionbio(&writer, true)?;
        let confinement = &launch.confinement;
        guard::send_setup(&control, input.as_fd(), confinement.guard_rules())?;
        drop(input);
        let mut guard = Command::new(guard_program)
            .arg("guard")
            .args(launch.context().into_iter().flat_map(|context| [FOR_FLAG.as_ref(), context]))
            .arg("--")
            .args(confinement.command_line(&launch.program, &launch.args))
            .env_clear()
            .envs(&launch.environment)
            .current_dir(&launch.folder)
            .stdin(OwnedFd::from(guard_end))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (requests, received) = channel();
        let (pending, stderr) = (Arc::default(), Arc::default());
        let pipes = Pipes {
            output: guard.stdout.take().map(OwnedFd::from),
            errors: guard.stderr.take().map(OwnedFd::from),
            input: Some(writer.into()),
            guard: Some(reports),
            wakeups,
            requests: received,
            line_limit,
            pending: Arc::clone(&pending),
            stderr: Arc::clone(&stderr),
            report,
        };
        let name = "agent-pipes".to_owned();
        match std::thread::Builder::new().name(name).spawn(move || pipes.serve()) {
            Ok(thread) => Ok(Self { guard, control, requests, waker, thread, pending, stderr }),
            Err(error) => {
                // The guard sees the socket close and terminates the process.
                drop(control);
                let _ = guard.wait();
                Err(error)
            }
        }
    }

    /// Queues bytes for standard input.
    pub fn write(&self, bytes: Vec<u8>) {
        self.request(PipeRequest::Write(bytes));
    }

    /// Closes standard input once everything is written.
    pub fn close_input(&self) {
        self.request(PipeRequest::CloseInput);
    }

    /// Acknowledges a line, so that more can be read.
    pub fn acknowledge(&self, line: &[u8]) {
        if self.pending.fetch_sub(weight(line), Ordering::AcqRel) >= READ_AHEAD {
            self.wake();
        }
    }

    fn request(&self, request: PipeRequest) {
        let _ = self.requests.send(request);
        self.wake();
    }

    /// A write that fails because the socket is full is fine: the thread is already woken.
    fn wake(&self) {
        let _ = (&self.waker).write(&[0]);
    }

    /// Sends a command to the guard, and wakes a guard that was suspended.
    pub fn send_command(&self, command: GuardCommand) {
        let _ = (&self.control).write_all(format!("{command}\n").as_bytes());
        let _ = kill_process(Pid::from_child(&self.guard), Signal::CONT);
    }

    /// The end of what the process wrote to standard error.
    pub fn stderr(&self) -> String {
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// Finds and kills what is left of the tree of a guard that is dead or unresponsive.
    /// `mark` is the environment variable, with its value, that marks the tree. Returns
    /// how many processes are left.
    pub fn kill_leftovers(&self, mark: Option<(&str, &str)>, deadline: Duration) -> usize {
        guard::kill_leftovers(LeftoverTraces { guard: self.guard.id(), mark }, deadline)
    }

    /// Kills the guard if it still runs, reaps it, and ends the thread.
    pub fn reap(self) {
        let Self { mut guard, control, requests, waker, thread, .. } = self;
        drop((control, requests, waker));
        let _ = thread.join();
        let _ = guard.kill();
        let deadline = Instant::now() + GUARD_EXIT;
        while matches!(guard.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
