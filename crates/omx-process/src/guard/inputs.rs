//! Everything a guard waits for: words of omx, signals, the death of a child.
//! All of it is set up before the agent is started, and nothing of it can fail
//! after that: a guard that cannot hear would leave its agent behind.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe::register;

use super::wire::GuardCommand;

/// What was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardInput {
    Command(GuardCommand),
    /// omx is gone.
    ParentGone,
}

pub(super) struct GuardInputs {
    omx: UnixStream,
    omx_is_gone: bool,
    /// The beginning of a word.
    begun: Vec<u8>,
    /// A byte for each signal that asks this process to end.
    signals: UnixStream,
    /// A byte for each child that died.
    deaths: UnixStream,
}

impl GuardInputs {
    pub(super) fn open(omx: &UnixStream) -> io::Result<Self> {
        let (signals, ring) = UnixStream::pair()?;
        let (deaths, toll) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        deaths.set_nonblocking(true)?;
        register(SIGCHLD, toll)?;
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            register(signal, ring.try_clone()?)?;
        }
        let omx = omx.try_clone()?;
        Ok(Self { omx, omx_is_gone: false, begun: Vec::new(), signals, deaths })
    }

    /// Waits for something to happen, without an end if no time is given. The
    /// death of a child only ends the waiting.
    pub(super) fn listen(&mut self, at_most: Option<Duration>) -> Vec<GuardInput> {
        let timeout = at_most.and_then(|time| Timespec::try_from(time).ok());
        let mut sources = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.deaths, PollFlags::IN),
        ];
        if !self.omx_is_gone {
            sources.push(PollFd::new(&self.omx, PollFlags::IN));
        }
        // A signal may cut it short; it also rings.
        let _ = poll(&mut sources, timeout.as_ref());
        let spoken = sources.get(2).is_some_and(|omx| !omx.revents().is_empty());
        let mut heard = Vec::new();
        if drain(&self.signals) {
            // It does not die of a signal one can catch: it ends its tree first.
            heard.push(GuardInput::Command(GuardCommand::Terminate));
        }
        drain(&self.deaths);
        if spoken {
            self.words(&mut heard);
        }
        heard
    }

    fn words(&mut self, heard: &mut Vec<GuardInput>) {
        let mut buffer = [0; 256];
        match self.omx.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                self.omx_is_gone = true;
                heard.push(GuardInput::ParentGone);
            }
            Ok(read) => {
                self.begun.extend(buffer.get(..read).unwrap_or_default());
                while let Some(end) = self.begun.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = self.begun.drain(..=end).collect();
                    let line = String::from_utf8_lossy(&line);
                    heard.extend(GuardCommand::parse(line.trim_end()).map(GuardInput::Command));
                }
            }
        }
    }
}

/// Takes all that waits, and tells whether there was anything.
fn drain(mut bell: &UnixStream) -> bool {
    let mut buffer = [0; 64];
    let mut rang = false;
    while matches!(bell.read(&mut buffer), Ok(1..)) {
        rang = true;
    }
    rang
}
