//! A killed run on a copied disk: at another path, after a reboot, without anything
//! else of the first machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use omx_testkit::{CommandOutcome, TestProject};
use rustix::process::{Signal, geteuid};

use super::kit::{Repository, quick_scenario};

/// By this record the plan exists, and the builder has written but not finished.
const HALF_WAY: usize = 40;

/// A run that was killed with uncommitted files in its worktree.
fn killed() -> Repository {
    let repository = Repository::in_project(
        TestProject::in_memory(env!("CARGO_BIN_EXE_omx")),
        &quick_scenario(),
    );
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(HALF_WAY);
    running.signal(Signal::KILL);
    assert_eq!(running.code(), None);
    repository.await_nobody();
    let steps = repository.journal();
    let finished = steps.iter().filter(|record| record["kind"] == "step_finished").count();
    assert!((8..30).contains(&finished), "killed half way: {finished}");
    repository
}

/// Another machine: other folders, another boot, no tmux, nothing in its
/// folder for temporary files.
struct OtherMachine {
    folder: tempfile::TempDir,
}

impl OtherMachine {
    /// With a copy of everything the run's machine had, to the byte.
    fn copying(repository: &Repository) -> Self {
        let folder = tempfile::Builder::new().prefix("omx-moved-").tempdir().unwrap();
        for name in ["project", "home"] {
            let from = repository.project.folder().join(name);
            let status =
                Command::new("cp").arg("-a").args([&from, &folder.path().join(name)]).status();
            assert!(status.unwrap().success());
        }
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        fs::write(folder.path().join("boot"), "00000000-0000-4000-8000-000000000001\n").unwrap();
        for program in ["git", "sh", "cat", "grep", "sed", "setsid"] {
            symlink(program_path(program), bin.join(program)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(name)
    }

    /// Runs omx there, after a reboot.
    fn omx(&self, repository: &Repository, args: &[&str]) -> CommandOutcome {
        let mut command = repository.project.command("unshare");
        if !geteuid().is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        let script = "mount --bind \"$BOOT\" /proc/sys/kernel/random/boot_id\n\
                      PATH=\"$BIN\"; export PATH; exec \"$@\"";
        command.args(["--mount", "sh", "-eu", "-c", script, "sh"]);
        command.arg(repository.project.binary()).args(args).current_dir(self.path("project"));
        command.env("BOOT", self.path("boot")).env("BIN", self.path("bin"));
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.output().expect("unshare runs (apt package util-linux)").into()
    }

    fn git(&self, repository: &Repository, args: &[&str]) -> String {
        let mut command = repository.project.command("git");
        let output = command.args(args).current_dir(self.path("project")).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Asserts that the run was completed there.
    fn assert_complete(&self, repository: &Repository, outcome: &CommandOutcome) {
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        let branch = format!("omx-run/{}", repository.id());
        let greet = self.git(repository, &["show", &format!("{branch}:greet.sh")]);
        assert!(greet.contains("${1:-world}"), "{greet}");
        let log = self.git(repository, &["log", "--format=%s", &format!("main..{branch}")]);
        assert_eq!(log.lines().count(), 3, "{log}");
        let report = self.omx(repository, &["runs", "show", "--json"]).ok();
        let worktree = self.path("project/.omx/worktrees/run").join(repository.id());
        assert_eq!(report["folder"].as_str().map(Path::new), Some(worktree.as_path()));
        let merged = self.omx(repository, &["runs", "integrate"]);
        assert_eq!(merged.code, Some(0), "{merged:?}");
        assert!(self.path("project/greet.sh").exists());
        assert_eq!(fs::read_dir(self.path("tmp")).unwrap().count(), 0, "temporary files are left");
    }
}

fn program_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|it| it.exists());
    found.unwrap_or_else(|| panic!("{name} is not on PATH"))
}

#[test]
fn conductor_3_2_a_run_resumes_from_a_copy_and_leaves_the_original_alone() {
    let repository = killed();
    let before = repository.project.bytes("");
    let elsewhere = OtherMachine::copying(&repository);
    let listed = elsewhere.omx(&repository, &["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "stopped");
    // The original is still in its place, so the person says which one is theirs.
    assert_eq!(listed["runs"][0]["foreign"], true);
    let adopted = elsewhere.omx(&repository, &["runs", "adopt", &repository.id(), "--yes"]);
    assert_eq!(adopted.code, Some(0), "{adopted:?}");
    let outcome = elsewhere.omx(&repository, &["runs", "resume"]);
    elsewhere.assert_complete(&repository, &outcome);
    assert!(repository.project.bytes("") == before, "the original was changed");
    // The original can be resumed as well.
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

#[test]
fn conductor_3_2_a_run_resumes_after_its_project_moved() {
    let repository = killed();
    let id = repository.id();
    let elsewhere = OtherMachine::copying(&repository);
    let (root, aside) = (repository.project.root(), repository.project.folder().join("aside"));
    fs::rename(&root, &aside).unwrap();
    let outcome = elsewhere.omx(&repository, &["runs", "resume", &id]);
    fs::rename(&aside, &root).unwrap();
    elsewhere.assert_complete(&repository, &outcome);
}
