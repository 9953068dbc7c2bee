//! An agent's process: started under guard, its streams read by threads, all
//! of it told to one channel.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::guard::wire::{Report, Word};
use crate::protocol::Launch;

/// While a guard is started, its end of the socket is open to every process
/// started meanwhile; so one at a time.
static STARTING: Mutex<()> = Mutex::new(());

/// How much of standard error is kept.
const STDERR_TAIL: usize = 4 << 10;

/// How much of one line of standard error is told.
const COMPLAINT: usize = 4 << 10;

/// What a process does, as its threads tell it.
#[derive(Debug)]
pub(crate) enum Noise {
    /// A line of standard output.
    Line(Vec<u8>),
    /// A line longer than it may be; reading has stopped.
    LineTooLong,
    /// A line of standard error, cut if it is long.
    Complaint(String),
    /// Standard output is closed.
    OutputClosed,
    /// Standard error is closed.
    ErrorsClosed,
    /// What was written was taken by the process.
    Written,
    /// Standard input is closed on the other side.
    InputClosed,
    /// A word of the guard.
    Guard(Report),
    /// The guard itself is gone.
    GuardGone,
}

/// A process under guard.
#[derive(Debug)]
pub(crate) struct Process {
    control: UnixStream,
    input: Option<Sender<Vec<u8>>>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl Process {
    /// Starts a process under guard and tells what it does.
    pub(crate) fn start<Tell>(
        launch: &Launch,
        omx: &Path,
        longest_line: usize,
        tell: Tell,
    ) -> std::io::Result<Self>
    where
        Tell: Fn(Noise) + Send + Clone + 'static,
    {
        let alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let (control, theirs) = UnixStream::pair()?;
        // Both ends close when another process is started; this one must not.
        rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::empty())?;
        let mut guard = Command::new(omx)
            .arg("guard")
            .arg(theirs.as_raw_fd().to_string())
            .arg("--")
            .arg(&launch.program)
            .args(&launch.args)
            .env_clear()
            .envs(&launch.environment)
            .current_dir(&launch.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        drop((theirs, alone));
        let stderr = Arc::default();
        let input = guard.stdin.take().map(|pipe| write_all(pipe, tell.clone()));
        if let Some(pipe) = guard.stdout.take() {
            let tell = tell.clone();
            std::thread::spawn(move || read_lines(pipe, longest_line, tell));
        }
        if let Some(pipe) = guard.stderr.take() {
            let (tell, tail) = (tell.clone(), Arc::clone(&stderr));
            std::thread::spawn(move || keep_tail(pipe, &tail, tell));
        }
        let reports = control.try_clone()?;
        std::thread::spawn(move || {
            for line in BufReader::new(reports).lines() {
                let Ok(line) = line else { break };
                if let Some(report) = Report::parse(&line) {
                    tell(Noise::Guard(report));
                }
            }
            // Waited for, so that it leaves no dead entry behind.
            let _ = guard.wait();
            tell(Noise::GuardGone);
        });
        Ok(Self { control, input, stderr })
    }

    /// Writes these bytes, in its own time.
    pub(crate) fn write(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            let _ = input.send(bytes);
        }
    }

    /// Closes standard input once everything is written.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Tells the guard. One that is gone needs no telling.
    pub(crate) fn tell_guard(&mut self, word: Word) {
        let _ = self.control.write_all(format!("{word}\n").as_bytes());
    }

    /// The end of what it wrote to standard error.
    pub(crate) fn stderr(&self) -> String {
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

fn write_all(mut pipe: ChildStdin, tell: impl Fn(Noise) + Send + 'static) -> Sender<Vec<u8>> {
    let (sender, pieces) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for bytes in pieces {
            if pipe.write_all(&bytes).and_then(|()| pipe.flush()).is_err() {
                tell(Noise::InputClosed);
                return;
            }
            tell(Noise::Written);
        }
    });
    sender
}

fn read_lines(pipe: ChildStdout, longest: usize, tell: impl Fn(Noise)) {
    let mut reader = BufReader::with_capacity(64 << 10, pipe);
    loop {
        let mut line = Vec::new();
        let limit = u64::try_from(longest).unwrap_or(u64::MAX);
        match reader.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) if line.last() == Some(&b'\n') => {
                line.pop();
                tell(Noise::Line(line));
            }
            Ok(read) if read == longest => {
                tell(Noise::LineTooLong);
                return;
            }
            // The last line, without an end.
            Ok(_) => tell(Noise::Line(line)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    tell(Noise::OutputClosed);
}

fn keep_tail(mut pipe: ChildStderr, tail: &Mutex<VecDeque<u8>>, tell: impl Fn(Noise)) {
    let mut buffer = [0; 4096];
    let mut line = Vec::new();
    while let Ok(read) = pipe.read(&mut buffer) {
        if read == 0 {
            break;
        }
        for piece in buffer[..read].split_inclusive(|&byte| byte == b'\n') {
            let room = COMPLAINT.saturating_sub(line.len());
            line.extend(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                tell(Noise::Complaint(String::from_utf8_lossy(&line).trim_end().to_owned()));
                line.clear();
            }
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&buffer[..read]);
        let over = tail.len().saturating_sub(STDERR_TAIL);
        tail.drain(..over);
    }
    tell(Noise::ErrorsClosed);
}
