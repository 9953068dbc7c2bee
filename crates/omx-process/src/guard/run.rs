//! The guard's own loop. One thread: what it needs, it has before the agent
//! is started.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, getpid, set_child_subreaper, setsid, wait};

use super::control::GuardControl;
use super::inputs::{GuardInput, GuardInputs};
use super::tree::{kill_children, signal_below};
use super::wire::{GuardCommand, GuardReport};

/// How long the tree has after each signal.
const PATIENCE: Duration = Duration::from_millis(1000);
/// How long children are killed without a pause: each kill may free others,
/// which become children.
const STROKE: Duration = Duration::from_millis(20);
/// The pause between two such strokes.
const PAUSE: Duration = Duration::from_millis(20);
/// When processes that even SIGKILL does not end are given up.
const GIVE_UP: Duration = Duration::from_secs(6);

/// Runs a program under guard until nothing of it is left. The program gets
/// the input that omx sent, and this process's output, errors and environment.
pub fn run(control: GuardControl, program: &OsString, args: &[OsString]) {
    // A guard that already leads a session has one of its own.
    let _ = setsid();
    let _ = set_child_subreaper(Some(getpid()));
    let GuardControl { mut socket, input } = control;
    let started = GuardInputs::open(&socket).and_then(|ears| {
        let child = Command::new(program).args(args).stdin(Stdio::from(input)).spawn()?;
        Ok((ears, child.id()))
    });
    let (mut ears, agent) = match started {
        Ok(started) => started,
        Err(error) => {
            report(&mut socket, GuardReport::CannotStart(error.raw_os_error().unwrap_or_default()));
            return;
        }
    };
    let_go_of_streams();
    report(&mut socket, GuardReport::Running(agent));
    let left = watch(agent, &mut socket, &mut ears);
    report(&mut socket, if left == 0 { GuardReport::Gone } else { GuardReport::Left(left) });
}

/// Until nothing is left, or what is left cannot be ended. Tells how many.
fn watch(agent: u32, reports: &mut UnixStream, ears: &mut GuardInputs) -> usize {
    let mut ending = Ending::default();
    loop {
        loop {
            match reap() {
                Reaped::Child(pid, code) if u32::try_from(pid) == Ok(agent) => {
                    report(reports, GuardReport::Exited(code));
                    // What it left behind is asked once, then ended.
                    ending.begin(Instant::now(), Signal::TERM);
                }
                Reaped::Child(..) => {}
                Reaped::NoneExited => break,
                Reaped::NoChildren => return 0,
            }
        }
        for heard in ears.listen(ending.due_in(Instant::now())) {
            match heard {
                GuardInput::Command(GuardCommand::Terminate) | GuardInput::ParentGone => {
                    ending.begin(Instant::now(), Signal::INT)
                }
                GuardInput::Command(GuardCommand::Kill) => ending.hasten(Instant::now()),
            }
        }
        if let Some(left) = ending.act(Instant::now()) {
            return left;
        }
    }
}

enum Reaped {
    /// A direct child was dead, with its exit code; none after a signal.
    Child(i32, Option<i32>),
    NoneExited,
    /// There is no child, and so nothing of the tree.
    NoChildren,
}

fn reap() -> Reaped {
    loop {
        return match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                let code = ExitStatus::from_raw(status.as_raw()).code();
                Reaped::Child(pid.as_raw_nonzero().get(), code)
            }
            Ok(None) => Reaped::NoneExited,
            Err(Errno::INTR) => continue,
            Err(_) => Reaped::NoChildren,
        };
    }
}

/// How far the ending of the tree has come.
#[derive(Default)]
struct Ending {
    begun: Option<Instant>,
    next: Option<Next>,
}

/// The next thing to do to the tree, and when.
#[derive(Clone, Copy)]
enum Next {
    Ask(Instant, Signal),
    /// Kill from one moment to the other without a pause.
    Kill(Instant, Instant),
}

impl Ending {
    /// Begins with this signal, unless it has begun.
    fn begin(&mut self, now: Instant, signal: Signal) {
        if self.begun.is_none() {
            self.begun = Some(now);
            self.next = Some(Next::Ask(now, signal));
        }
    }

    /// Kills from now on.
    fn hasten(&mut self, now: Instant) {
        self.begun.get_or_insert(now);
        self.next = Some(Next::Kill(now, now + STROKE));
    }

    fn due_in(&self, now: Instant) -> Option<Duration> {
        let (Next::Ask(due, _) | Next::Kill(due, _)) = self.next?;
        Some(due.saturating_duration_since(now))
    }

    /// Does what is due. Tells how many are left, if they are given up.
    fn act(&mut self, now: Instant) -> Option<usize> {
        let own = getpid().as_raw_nonzero().get();
        let next = match self.next? {
            Next::Ask(due, _) | Next::Kill(due, _) if now < due => return None,
            Next::Ask(_, signal) => {
                signal_below(own, signal);
                let due = now + PATIENCE;
                match signal {
                    Signal::INT => Next::Ask(due, Signal::TERM),
                    _ => Next::Kill(due, due + STROKE),
                }
            }
            Next::Kill(due, until) if now < until => {
                kill_children(own);
                Next::Kill(due, until)
            }
            Next::Kill(..) if self.begun.is_some_and(|begun| now > begun + GIVE_UP) => {
                return Some(signal_below(own, Signal::KILL));
            }
            Next::Kill(..) => Next::Kill(now + PAUSE, now + PAUSE + STROKE),
        };
        self.next = Some(next);
        None
    }
}

/// The agent alone must hold its streams: otherwise nobody sees them close.
fn let_go_of_streams() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// omx may be gone; then there is nobody to tell.
fn report(omx: &mut UnixStream, report: GuardReport) {
    let _ = omx.write_all(format!("{report}\n").as_bytes());
}
