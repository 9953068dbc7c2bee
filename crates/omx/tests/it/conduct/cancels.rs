//! Cancel from another terminal at any moment of a run: it ends in time, the
//! documents say so, and it can be resumed to the end.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use omx_testkit::{CommandOutcome, await_condition, in_parallel};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Signal;
use serde_json::Value;

use super::kit::Repository;
use super::whole_runs::{AT_A_TIME, RecordMoment, UndisturbedRun, noting, stopped_at};

/// Run and agents have ended by then.
const GONE: Duration = Duration::from_secs(12);
/// The number of records between two moments: not a multiple of a step's.
const APART: usize = 4;
/// The same for moments that are only approximate.
const FAR_APART: usize = 19;

/// Every document of the run.
fn documents(repository: &Repository) -> Vec<Value> {
    ["autopilot", "ralplan", "ralph", "code-review"]
        .into_iter()
        .filter(|mode| {
            repository.project.session(&repository.id(), &format!("{mode}-state.json")).exists()
        })
        .map(|mode| repository.document(mode))
        .collect()
}

/// Asserts cancel.md 3 for the documents of a cancelled autopilot.
fn assert_cancelled(documents: &[Value], what: &str) {
    for document in documents {
        assert_eq!(document["active"], false, "{what}: {document:#}");
        assert!(document["completed_at"].is_string(), "{what}: {document:#}");
    }
    let autopilot = &documents[0];
    assert_eq!(autopilot["run_outcome"], "cancelled", "{what}");
    assert_eq!(autopilot["lifecycle_outcome"], "cancelled", "{what}");
    // The phase is kept for a resume.
    let phase = autopilot["current_phase"].as_str().unwrap();
    assert!(["ralplan", "ralph", "code-review"].contains(&phase), "{what}: {phase}");
    for part in &documents[1..] {
        let ended =
            (part["run_outcome"].as_str().unwrap(), part["current_phase"].as_str().unwrap());
        let fits = ended == ("cancelled", "cancelled") || ended == ("finish", "complete");
        assert!(fits, "{what}: {part:#}");
    }
}

/// Cancels a running run after this many records.
fn cancelled_near(whole: &UndisturbedRun, records: usize) {
    let repository = noting();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(records);
    let begun = Instant::now();
    let cancelled = repository.project.omx(&["cancel", "--session-id", &repository.id()]);
    let code = running.code();
    // Otherwise it had already ended.
    if code != Some(0) {
        look_after(whole, &repository, &cancelled, code, begun, records);
    }
}

/// Cancels a run that is stopped at a moment, then continues it. Returns the phase
/// it was in.
fn cancelled_at(whole: &UndisturbedRun, moment: &RecordMoment) -> String {
    let repository = noting();
    let mut running = stopped_at(&repository, moment);
    let id = repository.id();
    let begun = Instant::now();
    let mut command = repository.project.omx_command(&["cancel", "--session-id", &id]);
    let cancel = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_condition("the documents say it", GONE, || {
        repository.document("autopilot")["run_outcome"] == "cancelled"
    });
    let code = running.code_while(|running| running.signal(Signal::CONT));
    let cancelled = cancel.wait_with_output().unwrap().into();
    // An agent whose step had started may still answer: the signal follows the documents.
    // No step that starts later calls one.
    let later = repository.journal().split_off(moment.records);
    let is_of = |kind: &'static str| move |record: &&Value| record["kind"] == kind;
    for started in later.iter().filter(is_of("step_started")) {
        let mut calls = later.iter().filter(is_of("conversation"));
        assert!(calls.all(|call| call["step"] != started["step"]), "{moment:?}: {later:#?}");
    }
    look_after(whole, &repository, &cancelled, code, begun, moment.records)
}

/// A full pipe.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while (&writer).write(&[b'\n'; 4096]).is_ok() {}
    while (&writer).write(b"\n").is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

/// A run that has started but has no document yet, because nobody reads its output.
#[test]
fn cancel_3_5_a_run_without_a_document_is_cancelled_and_can_be_resumed() {
    let repository = noting();
    let (mut reader, writer) = full_pipe();
    let mut command = repository.command("autopilot", &["greet people by name"]);
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut running = command.spawn().unwrap();
    // The command keeps its own ends of the pipe open.
    drop(command);
    let id = repository.id();
    assert!(documents(&repository).is_empty());
    let begun = Instant::now();
    let mut command = repository.project.omx_command(&["cancel"]);
    let cancel = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It waits for the run, or has ended without it.
    await_condition("cancel waits", GONE, || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", cancel.id())).unwrap();
        [" S ", " Z "].iter().any(|state| stat.contains(state))
    });
    let drained = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = reader.read_to_end(&mut text);
    });
    let cancelled = CommandOutcome::from(cancel.wait_with_output().unwrap());
    assert_eq!(cancelled.stdout, format!("Autopilot run {id} cancelled.\n"), "{cancelled:?}");
    // A process that does not handle signals yet is ended by the first one.
    assert!(matches!(running.wait().unwrap().code(), Some(4) | None));
    assert!(begun.elapsed() < GONE);
    drained.join().unwrap();
    repository.await_nobody();
    let listed = repository.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "cancelled");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

/// Asserts that a run was cancelled correctly and can be resumed.
fn look_after(
    whole: &UndisturbedRun,
    repository: &Repository,
    cancelled: &CommandOutcome,
    code: Option<i32>,
    begun: Instant,
    records: usize,
) -> String {
    let what = format!("cancelled after {records} records");
    assert_eq!(cancelled.code, Some(0), "{what}: {cancelled:?}");
    assert_eq!(code, Some(4), "{what}: {cancelled:?}");
    repository.await_nobody();
    assert!(begun.elapsed() < GONE, "{what}: {:?}", begun.elapsed());
    let before = documents(repository);
    assert_cancelled(&before, &what);
    let phase = before[0]["current_phase"].as_str().unwrap().to_owned();
    let words = format!("Autopilot cancelled at phase: {phase}. Progress preserved for resume.");
    let go_on = format!("{words}\nRun omx resume {} to go on.", repository.id());
    assert!(cancelled.stdout.contains(&go_on), "{what}: {cancelled:?}");
    let listed = repository.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "cancelled", "{what}");
    let again = repository.project.omx(&["cancel", "--session-id", &repository.id()]);
    assert!(again.stdout.contains("No active OMX modes detected."), "{what}: {again:?}");
    assert_eq!(documents(repository), before, "{what}");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
    whole.compare(repository, &what);
    phase
}

#[test]
fn cancel_3_5_a_cancel_at_any_moment_leaves_a_resumable_run() {
    let whole = UndisturbedRun::play();
    // Before the first step there are no documents yet; after the last record the run
    // is over.
    let moments: Vec<&RecordMoment> = whole.moments[1..whole.moments.len() - 1].iter().collect();
    let moments: Vec<&RecordMoment> = moments.into_iter().step_by(APART).collect();
    let phases = Mutex::new(BTreeSet::new());
    in_parallel(AT_A_TIME, &moments, |moment| {
        let phase = cancelled_at(&whole, moment);
        phases.lock().unwrap().insert(phase);
    });
    assert_eq!(phases.into_inner().unwrap().len(), 3);
}

#[test]
fn cancel_3_5_a_cancel_races_with_a_resume() {
    let whole = UndisturbedRun::play();
    let moments: Vec<usize> = (2..whole.moments.len()).step_by(FAR_APART).collect();
    in_parallel(AT_A_TIME, &moments, |records| cancelled_near(&whole, *records));
}
