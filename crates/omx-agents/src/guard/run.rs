//! The guard's own loop.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, getpid, set_child_subreaper, setsid, wait};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::tree::signal_below;
use super::wire::{Report, Word};

/// How long the tree has after each signal.
const PATIENCE: Duration = Duration::from_millis(1000);
/// How often what will not die is killed again, to meet its newest children.
const AGAIN: Duration = Duration::from_millis(50);
/// When a process that even SIGKILL does not end is given up.
const GIVE_UP: Duration = Duration::from_secs(10);

enum Happening {
    Told(Word),
    /// omx is gone.
    Alone,
    /// A direct child is dead.
    Died(i32, Option<i32>),
    /// There is no child any more.
    Empty,
}

/// Runs a program under guard until nothing of it is left. The program gets
/// this process's standard streams and environment.
pub fn run(control: UnixStream, program: &OsString, args: &[OsString]) {
    // A guard that already leads a session has one of its own.
    let _ = setsid();
    let _ = set_child_subreaper(Some(getpid()));
    let mut reports = control;
    let (sender, happenings) = channel();
    let child = match Command::new(program).args(args).spawn() {
        Ok(child) => child,
        Err(error) => {
            report(&mut reports, Report::CannotStart(error.raw_os_error().unwrap_or_default()));
            return;
        }
    };
    let pid = child.id();
    let_go_of_streams();
    report(&mut reports, Report::Running(pid));
    if listen(&reports, sender.clone()).is_none() || heed_signals(sender.clone()).is_none() {
        // Without ears it cannot guard.
        let _ = sender.send(Happening::Told(Word::Kill));
    }
    std::thread::spawn(move || bury(&sender));
    let left = Ending::default().watch(pid, &mut reports, &happenings);
    report(&mut reports, if left == 0 { Report::Gone } else { Report::Left(left) });
}

/// How far the ending of the tree has come.
#[derive(Default)]
struct Ending {
    /// The next signal, when it is due, and when all was begun.
    next: Option<(Instant, Signal)>,
    begun: Option<Instant>,
}

impl Ending {
    /// Until nothing is left, or what is left cannot be ended. Tells how many.
    fn watch(
        mut self,
        agent: u32,
        reports: &mut UnixStream,
        happenings: &std::sync::mpsc::Receiver<Happening>,
    ) -> usize {
        let own = getpid().as_raw_nonzero().get();
        loop {
            let now = Instant::now();
            let heard = match self.next {
                Some((due, _)) => happenings.recv_timeout(due.saturating_duration_since(now)),
                None => happenings.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let now = Instant::now();
            match heard {
                Ok(Happening::Told(Word::End) | Happening::Alone) => self.begin(now, Signal::INT),
                Ok(Happening::Told(Word::Kill)) => self.hasten(now),
                Ok(Happening::Died(pid, code)) => {
                    if u32::try_from(pid) == Ok(agent) {
                        report(reports, Report::Exited(code));
                        // What it left behind is asked once, then ended.
                        self.begin(now, Signal::TERM);
                    }
                }
                Ok(Happening::Empty) | Err(RecvTimeoutError::Disconnected) => return 0,
                Err(RecvTimeoutError::Timeout) => {
                    let Some((_, signal)) = self.next else { continue };
                    let count = signal_below(own, signal);
                    let begun = *self.begun.get_or_insert(now);
                    if signal == Signal::KILL && now.duration_since(begun) > GIVE_UP {
                        return count;
                    }
                    self.next = Some(match signal {
                        Signal::INT => (now + PATIENCE, Signal::TERM),
                        Signal::TERM => (now + PATIENCE, Signal::KILL),
                        _ => (now + AGAIN, Signal::KILL),
                    });
                }
            }
        }
    }

    fn begin(&mut self, now: Instant, signal: Signal) {
        if self.begun.is_none() {
            self.begun = Some(now);
            self.next = Some((now, signal));
        }
    }

    fn hasten(&mut self, now: Instant) {
        self.begun.get_or_insert(now);
        self.next = Some((now, Signal::KILL));
    }
}

/// The agent alone must hold its streams: otherwise nobody sees them close.
fn let_go_of_streams() {
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

fn listen(control: &UnixStream, sender: Sender<Happening>) -> Option<()> {
    let control = control.try_clone().ok()?;
    std::thread::spawn(move || {
        for line in BufReader::new(control).lines() {
            let Ok(line) = line else { break };
            if let Some(word) = Word::parse(&line) {
                let _ = sender.send(Happening::Told(word));
            }
        }
        let _ = sender.send(Happening::Alone);
    });
    Some(())
}

/// A guard does not die of a signal one can catch: it ends its tree first.
fn heed_signals(sender: Sender<Happening>) -> Option<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).ok()?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            let _ = sender.send(Happening::Told(Word::End));
        }
    });
    Some(())
}

/// Waits for every child there will ever be.
fn bury(sender: &Sender<Happening>) {
    loop {
        let happening = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let code = ExitStatus::from_raw(status.as_raw()).code();
                Happening::Died(pid.as_raw_nonzero().get(), code)
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => Happening::Empty,
        };
        let last = matches!(happening, Happening::Empty);
        if sender.send(happening).is_err() || last {
            return;
        }
    }
}

/// omx may be gone; then there is nobody to tell.
fn report(control: &mut UnixStream, report: Report) {
    let _ = control.write_all(format!("{report}\n").as_bytes());
}
