//! A power cut right after a record that speaks of a commit: whatever was not flushed by
//! then is gone. The branch still holds what the journal says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use omx_testkit::TestProject;
use rustix::process::Signal;

use super::kit::{Repository, RunningOmx, quick_scenario};
use super::own_git::git;

fn repository() -> Repository {
    let project = TestProject::in_memory(env!("CARGO_BIN_EXE_omx"));
    Repository::in_project(project, &quick_scenario())
}

/// The run under a tracer of every flush, its own and those of git.
fn traced(repository: &Repository, options: &[&str]) -> Command {
    let run = repository.command("autopilot", &["greet people by name"]);
    let mut command = repository.project.command("strace");
    command.args(["-f", "-D", "-y", "-e", "trace=fsync,fdatasync", "-o"]).arg(trace(repository));
    command.args(options).arg(run.get_program()).args(run.get_args());
    command
}

fn trace(repository: &Repository) -> PathBuf {
    repository.project.folder().join("trace")
}

/// One flush: the thread, the call, and the file or folder.
struct TracedFlush {
    thread: String,
    call: String,
    path: PathBuf,
}

/// All flushes, in order.
fn flushes(repository: &Repository) -> Vec<TracedFlush> {
    let text = fs::read_to_string(trace(repository)).unwrap();
    let flush = |line: &str| {
        let (thread, call) = line.trim_start().split_once(' ')?;
        let (name, rest) = call.trim_start().split_once('(')?;
        let path = rest.get(rest.find('<')? + 1..rest.find('>')?)?;
        let (thread, call) = (thread.to_owned(), name.to_owned());
        Some(TracedFlush { thread, call, path: path.into() })
    };
    text.lines().filter_map(flush).collect()
}

/// Which flush of its thread writes each record of the journal.
fn record_flushes(repository: &Repository) -> Vec<usize> {
    let flushes = flushes(repository);
    let is_journal = |flush: &TracedFlush| flush.path.ends_with("journal.jsonl");
    let thread = flushes.iter().find(|flush| is_journal(flush)).unwrap().thread.clone();
    let own = flushes.iter().filter(|it| it.thread == thread && it.call == "fdatasync");
    own.zip(1..).filter(|(flush, _)| is_journal(flush)).map(|(_, number)| number).collect()
}

fn objects(repository: &Repository) -> BTreeSet<PathBuf> {
    let folder = repository.project.root().join(".git/objects");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_name().len() == 2 {
            found.extend(fs::read_dir(entry.path()).unwrap().flatten().map(|file| file.path()));
        }
    }
    found
}

/// Loses everything of git's that was not flushed: a file needs its own flush and one of
/// its folder after it.
fn lose_unflushed(repository: &Repository, before: &BTreeSet<PathBuf>) {
    let flushes = flushes(repository);
    let is_durable = |file: &Path| {
        let own = flushes.iter().rposition(|flush| flush.path == file);
        let folder = flushes.iter().rposition(|flush| Some(&*flush.path) == file.parent());
        own.is_some() && folder > own
    };
    for object in objects(repository).difference(before) {
        if !is_durable(object) {
            fs::remove_file(object).unwrap();
        }
    }
    let root = repository.project.root();
    let reference = root.join(".git/refs/heads/omx-run").join(repository.id());
    if !is_durable(&reference) {
        let _ = fs::remove_file(reference);
    }
}

#[test]
fn trust_5_2_after_a_power_cut_the_branch_holds_what_the_journal_says() {
    let whole = repository();
    let outcome = traced(&whole, &[]).output().unwrap().into();
    whole.assert_complete(&outcome);
    let kinds: Vec<String> =
        whole.journal().iter().map(|record| record["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "committed").count(), 3, "{kinds:?}");
    let flushes = record_flushes(&whole);
    assert_eq!(flushes.len(), kinds.len());
    let commits = kinds.iter().zip(&flushes).enumerate();
    for (number, (_, flush)) in commits.filter(|(_, (kind, _))| *kind == "committed") {
        let repository = repository();
        let before = objects(&repository);
        let inject = format!("inject=fdatasync:signal=STOP:when={flush}");
        let mut command = traced(&repository, &["-e", &inject]);
        let mut running =
            RunningOmx(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        repository.await_records(number + 1);
        running.signal(Signal::KILL);
        running.code();
        repository.await_nobody();
        let journal = repository.journal();
        let committed = journal.iter().rfind(|record| record["kind"] == "committed").unwrap();
        let commit = committed["commit"].as_str().unwrap().to_owned();
        lose_unflushed(&repository, &before);
        let branch = format!("omx-run/{}", repository.id());
        let tip = git(&repository, &["rev-parse", &branch]);
        git(&repository, &["merge-base", "--is-ancestor", &commit, tip.trim()]);
        git(&repository, &["rev-list", "--objects", &branch]);
        let resumed = repository.resume(&[]);
        repository.assert_complete(&resumed);
        git(&repository, &["merge-base", "--is-ancestor", &commit, &branch]);
    }
}
