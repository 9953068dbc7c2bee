//! Everything a guard waits for: commands from omx, signals, children that exit. All of
//! it is set up before the program starts and cannot fail afterwards; a guard that
//! cannot be reached would leave its program behind.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe::register;

use super::wire::GuardCommand;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardInput {
    Command(GuardCommand),
    /// omx closed the socket or died.
    ParentGone,
}

pub(super) struct GuardInputs {
    parent: UnixStream,
    is_parent_gone: bool,
    /// The beginning of a command whose line is not complete.
    partial: Vec<u8>,
    /// Receives a byte for each signal that asks this process to terminate.
    signals: UnixStream,
    /// Receives a byte for each child that exits.
    exits: UnixStream,
}

impl GuardInputs {
    pub(super) fn open(parent: &UnixStream) -> io::Result<Self> {
        let (signals, signal_writer) = UnixStream::pair()?;
        let (exits, exit_writer) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        exits.set_nonblocking(true)?;
        register(SIGCHLD, exit_writer)?;
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            register(signal, signal_writer.try_clone()?)?;
        }
        let parent = parent.try_clone()?;
        Ok(Self { parent, is_parent_gone: false, partial: Vec::new(), signals, exits })
    }

    /// Waits for the next input, forever if no timeout is given. Also returns, with
    /// nothing, when a child exits.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> Vec<GuardInput> {
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        let mut sources = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.exits, PollFlags::IN),
        ];
        if !self.is_parent_gone {
            sources.push(PollFd::new(&self.parent, PollFlags::IN));
        }
        // A signal may interrupt it, but also makes `signals` readable.
        let _ = poll(&mut sources, timeout.as_ref());
        let has_commands = sources.get(2).is_some_and(|parent| !parent.revents().is_empty());
        let mut inputs = Vec::new();
        if drain(&self.signals) {
            // The guard terminates its tree before a signal may end it.
            inputs.push(GuardInput::Command(GuardCommand::Terminate));
        }
        drain(&self.exits);
        if has_commands {
            self.read_commands(&mut inputs);
        }
        inputs
    }

    fn read_commands(&mut self, inputs: &mut Vec<GuardInput>) {
        let mut buffer = [0; 256];
        match self.parent.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                self.is_parent_gone = true;
                inputs.push(GuardInput::ParentGone);
            }
            Ok(read) => {
                self.partial.extend(buffer.get(..read).unwrap_or_default());
                while let Some(end) = self.partial.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = self.partial.drain(..=end).collect();
                    let line = String::from_utf8_lossy(&line);
                    inputs.extend(GuardCommand::parse(line.trim_end()).map(GuardInput::Command));
                }
            }
        }
    }
}

/// Reads everything that is pending and returns whether there was anything.
fn drain(mut source: &UnixStream) -> bool {
    let mut buffer = [0; 64];
    let mut was_pending = false;
    while matches!(source.read(&mut buffer), Ok(1..)) {
        was_pending = true;
    }
    was_pending
}
