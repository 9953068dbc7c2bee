//! A place for guarded programs, with this test binary as their guard.
//!
//! `omx guard -- PROGRAM` is the guard in production. Here a script with the same
//! arguments starts this binary again, with the one test that becomes the guard.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{fs, io};

use omx_process::guard::GuardCommand;
use omx_process::{Confinement, GuardedOutput, GuardedRun, Launch, ProcessId, ProcessInfo, guard};
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
pub const LONG: Duration = Duration::from_secs(60);

/// The program below the guard: what follows `--` on the command line.
#[test]
fn become_guard() {
    let mut args = std::env::args_os().skip_while(|arg| arg != "--").skip(1);
    let Some(program) = args.next() else { return };
    let control = guard::take_control().expect("a socket as standard input");
    let _ = guard::run(control, &program, &args.collect::<Vec<_>>());
    std::process::exit(0);
}

pub struct ProcessFixture {
    folder: TempDir,
}

impl ProcessFixture {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let guard = folder.path().join("guard");
        let this = std::env::current_exe().unwrap();
        let line = format!(
            "exec '{}' --exact stage::become_guard --nocapture --test-threads=1 \"$@\"",
            this.display()
        );
        // A new process could still hold a program that is open for writing.
        let draft = folder.path().join("draft");
        fs::write(&draft, format!("#!/bin/sh\n{line}\n")).unwrap();
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(
            std::process::Command::new("cp").arg(&draft).arg(&guard).status().unwrap().success()
        );
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Marks the processes of this fixture. Tests that share a mark would end each
    /// other's processes.
    pub fn mark(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    pub fn guard(&self) -> PathBuf {
        self.path("guard")
    }

    /// A shell script as a program to start in this folder.
    pub fn script(&self, script: &str) -> Launch {
        let path = std::env::var_os("PATH").unwrap();
        Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            environment: BTreeMap::from([
                ("PATH".into(), path),
                ("MARK".into(), self.mark().into()),
            ]),
            folder: self.folder.path().to_owned(),
            confinement: Confinement::Unconfined,
        }
    }

    pub fn run(&self, script: &str, deadline: Duration, stop: &AtomicBool) -> GuardedOutput {
        let launch = self.script(script);
        let guard_program = &self.guard();
        let at_deadline = GuardCommand::Terminate;
        let run = GuardedRun {
            launch: &launch,
            guard_program,
            deadline,
            keep_stdout: 1000,
            at_deadline,
            mark: "MARK",
        };
        run.run(stop).unwrap()
    }

    /// Runs a program that does not exist.
    pub fn run_missing(&self) -> io::Error {
        let mut launch = self.script("");
        launch.program = "/nonexistent/program".into();
        let run = GuardedRun {
            launch: &launch,
            guard_program: &self.guard(),
            deadline: LONG,
            keep_stdout: 0,
            at_deadline: GuardCommand::Terminate,
            mark: "MARK",
        };
        run.run(&AtomicBool::new(false)).unwrap_err()
    }

    /// The process whose pid a script has written to this file.
    pub fn process(&self, file: &str) -> ProcessId {
        let pid = read_pid(&self.path(file)).unwrap();
        ProcessInfo::read(pid).map_or(ProcessId { pid, started: 0 }, |info| info.id)
    }

    /// Whether a process runs in this folder or below, whoever its parents are.
    pub fn processes(&self) -> Vec<ProcessInfo> {
        let here = self.folder.path().canonicalize().unwrap();
        let mut all = ProcessInfo::read_all();
        all.retain(|info| {
            let folder = omx_process::platform::read_working_directory(info.id.pid);
            folder.is_some_and(|folder| folder.starts_with(&here))
        });
        all
    }
}

/// The pid in a file, once it is written whole.
fn read_pid(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.strip_suffix('\n')?.parse().ok()
}

#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
