//! An agent's process: started under guard, its streams served by one thread,
//! all of it told to one channel.

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

use self::pipes::{Pipes, Wish};
use crate::guard::{self, LeftoverTraces};
use crate::guard::{GuardCommand, GuardReport};
use crate::launch::Launch;

/// How much is read ahead of whoever listens.
const AHEAD: usize = 1 << 20;
/// How long a killed guard may take to die.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// What a line takes while it waits to be dealt with; an empty one also does.
fn weight(line: &[u8]) -> usize {
    line.len() + 64
}

/// What a process does, as its thread tells it.
#[derive(Debug)]
pub enum ProcessEvent {
    /// A line of standard output. Whoever has dealt with it says so
    /// ([`GuardedProcess::acknowledge`]), or there will be no more.
    Line(Vec<u8>),
    /// A line longer than it may be; standard output is read no more.
    LineTooLong,
    /// A line of standard error, cut if it is long; also to be dealt with.
    /// Where too much waits to be, it is not told.
    ErrorLine(Vec<u8>),
    /// Standard output is closed.
    OutputClosed,
    /// Standard error is closed.
    ErrorsClosed,
    /// A line was taken by the process.
    Written,
    /// Standard input is closed on the other side.
    InputClosed,
    /// A word of the guard.
    Guard(GuardReport),
    /// The guard itself is gone.
    GuardGone,
}

/// A process under guard. Dropping it tells the guard to end it; only
/// [`GuardedProcess::reap`] leaves nothing behind for certain.
#[derive(Debug)]
pub struct GuardedProcess {
    guard: Child,
    control: UnixStream,
    wishes: Sender<Wish>,
    /// A byte wakes the thread; its closing ends it.
    bell: UnixStream,
    thread: JoinHandle<()>,
    /// Bytes of lines that are told and not yet taken.
    ahead: Arc<AtomicUsize>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl GuardedProcess {
    /// Starts a process under guard and tells what it does.
    pub fn start<Tell>(
        launch: &Launch,
        guard_program: &Path,
        longest_line: usize,
        tell: Tell,
    ) -> io::Result<Self>
    where
        Tell: Fn(ProcessEvent) + Send + 'static,
    {
        let (control, theirs) = UnixStream::pair()?;
        let (bell, door) = UnixStream::pair()?;
        let (input, writer) = io::pipe()?;
        let reports = control.try_clone()?;
        for end in [&bell, &door] {
            end.set_nonblocking(true)?;
        }
        // Only this end: what the agent sees is not touched.
        rustix::io::ioctl_fionbio(&writer, true)?;
        guard::send_ahead(&control, input.as_fd())?;
        drop(input);
        let mut guard = Command::new(guard_program)
            .args(["guard", "--"])
            .arg(&launch.program)
            .args(&launch.args)
            .env_clear()
            .envs(&launch.environment)
            .current_dir(&launch.folder)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (wishes, wished) = channel();
        let (ahead, stderr) = (Arc::default(), Arc::default());
        let pipes = Pipes {
            output: guard.stdout.take().map(OwnedFd::from),
            errors: guard.stderr.take().map(OwnedFd::from),
            input: Some(writer.into()),
            reports: Some(reports),
            door,
            wished,
            longest_line,
            ahead: Arc::clone(&ahead),
            stderr: Arc::clone(&stderr),
            tell,
        };
        let name = "agent-pipes".to_owned();
        match std::thread::Builder::new().name(name).spawn(move || pipes.serve()) {
            Ok(thread) => Ok(Self { guard, control, wishes, bell, thread, ahead, stderr }),
            Err(error) => {
                // Its guard sees the socket close and ends it.
                drop(control);
                let _ = guard.wait();
                Err(error)
            }
        }
    }

    /// Writes bytes, in its own time.
    pub fn write(&self, bytes: Vec<u8>) {
        self.wish(Wish::Write(bytes));
    }

    /// Closes standard input once everything is written.
    pub fn close_input(&self) {
        self.wish(Wish::CloseInput);
    }

    /// A line was dealt with.
    pub fn acknowledge(&self, line: &[u8]) {
        if self.ahead.fetch_sub(weight(line), Ordering::AcqRel) >= AHEAD {
            self.ring();
        }
    }

    fn wish(&self, wish: Wish) {
        let _ = self.wishes.send(wish);
        self.ring();
    }

    /// A bell that is full rings already.
    fn ring(&self) {
        let _ = (&self.bell).write(&[0]);
    }

    /// Tells the guard. One that is gone needs no telling; one that was
    /// stopped must hear it.
    pub fn command_guard(&self, word: GuardCommand) {
        let _ = (&self.control).write_all(format!("{word}\n").as_bytes());
        let _ = kill_process(Pid::from_child(&self.guard), Signal::CONT);
    }

    /// The end of what it wrote to standard error.
    pub fn stderr(&self) -> String {
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// Finds and kills what a guard that is dead, or deaf, did not end. Tells
    /// how many processes are left.
    pub fn kill_leftovers(&self, mark: Option<(&str, &str)>, patience: Duration) -> usize {
        let guard = Pid::from_child(&self.guard).as_raw_nonzero().get();
        guard::kill_leftovers(LeftoverTraces { guard, mark }, patience)
    }

    /// Ends the guard, if it has not ended, and everything of ours that served
    /// the process.
    pub fn reap(self) {
        let Self { mut guard, control, wishes, bell, thread, .. } = self;
        drop((control, wishes, bell));
        let _ = thread.join();
        let _ = guard.kill();
        let deadline = Instant::now() + LAST_BREATH;
        while matches!(guard.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
