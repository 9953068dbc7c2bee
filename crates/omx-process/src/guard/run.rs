//! The guard's own loop, on one thread. Everything it needs is set up before the
//! program starts.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, setsid, wait};

use super::control::GuardControl;
use super::find::GUARD_NAME;
use super::inputs::{GuardInput, GuardInputs};
use super::termination::Termination;
use super::wire::{GuardCommand, GuardReport};
use crate::platform::{Restriction, adopt_orphans, set_process_name};

/// Whether a guard could do its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardOutcome {
    /// The program ran, or could not be found.
    Done,
    /// The program could not be confined and was not started.
    CannotConfine,
}

/// Runs a program under guard until nothing of it is left. The program gets the standard
/// input that omx sent, and this process's standard output, standard error and environment.
pub fn run(control: GuardControl, program: &OsString, args: &[OsString]) -> GuardOutcome {
    set_process_name(GUARD_NAME);
    // Fails only for a process that leads a session already, which is what is wanted.
    let _ = setsid();
    let _ = adopt_orphans();
    let GuardControl { mut socket, input, rules } = control;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::from(input));
    match rules.as_ref().map(Restriction::prepare).transpose() {
        Ok(restriction) => {
            restriction.into_iter().for_each(|restriction| restriction.apply_to(&mut command));
        }
        Err(why) => {
            let name = program.display();
            let _ = writeln!(io::stderr(), "{name} was not started: it cannot be confined: {why}");
            send_report(&mut socket, GuardReport::CannotConfine);
            return GuardOutcome::CannotConfine;
        }
    }
    let started = GuardInputs::open(&socket).and_then(|inputs| {
        let child = command.spawn()?;
        // It holds the program's standard input.
        drop(command);
        Ok((inputs, child.id()))
    });
    let (mut inputs, program) = match started {
        Ok(started) => started,
        Err(error) => {
            let number = error.raw_os_error().unwrap_or_default();
            send_report(&mut socket, GuardReport::CannotStart(number));
            return GuardOutcome::Done;
        }
    };
    release_streams();
    send_report(&mut socket, GuardReport::Running(program));
    let left = watch(program, &mut socket, &mut inputs);
    let last = if left == 0 { GuardReport::Gone } else { GuardReport::Left(left) };
    send_report(&mut socket, last);
    GuardOutcome::Done
}

/// Watches until no process is left, or until the rest is given up. Returns how many are
/// left.
fn watch(program: u32, socket: &mut UnixStream, inputs: &mut GuardInputs) -> usize {
    let mut termination = Termination::default();
    loop {
        loop {
            match reap() {
                Reaped::Child { pid, code } if u32::try_from(pid) == Ok(program) => {
                    send_report(socket, GuardReport::Exited(code));
                    // Leftovers get one chance to exit by themselves.
                    termination.begin(Instant::now(), Signal::TERM);
                }
                Reaped::Child { .. } => {}
                Reaped::NoneExited => break,
                Reaped::NoChildren => return 0,
            }
        }
        for input in inputs.wait(termination.due_in(Instant::now())) {
            match input {
                GuardInput::Command(GuardCommand::Terminate) | GuardInput::ParentGone => {
                    termination.begin(Instant::now(), Signal::INT);
                }
                GuardInput::Command(GuardCommand::Kill) => termination.kill_now(Instant::now()),
            }
        }
        if let Some(left) = termination.advance(Instant::now()) {
            return left;
        }
    }
}

enum Reaped {
    /// A direct child had exited; it has no code if a signal killed it.
    Child {
        pid: i32,
        code: Option<i32>,
    },
    NoneExited,
    /// There is no child, so nothing of the tree is left.
    NoChildren,
}

fn reap() -> Reaped {
    loop {
        return match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                let code = ExitStatus::from_raw(status.as_raw()).code();
                Reaped::Child { pid: pid.as_raw_nonzero().get(), code }
            }
            Ok(None) => Reaped::NoneExited,
            Err(Errno::INTR) => continue,
            Err(_) => Reaped::NoChildren,
        };
    }
}

/// Only the program may hold its streams; otherwise omx would never see them close.
fn release_streams() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Best effort: omx may be gone, and then nobody reads the report.
fn send_report(socket: &mut UnixStream, report: GuardReport) {
    let _ = socket.write_all(format!("{report}\n").as_bytes());
}
