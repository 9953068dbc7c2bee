//! Cancel from another terminal at any moment of a run: gone in time, said in
//! the documents as what it is, and resumable to the end.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use omx_testkit::in_parallel;
use serde_json::Value;

use super::kit::Repository;
use super::whole::{AT_A_TIME, Whole, noting};

/// Run and agents are gone by then.
const GONE: Duration = Duration::from_secs(12);
/// So many records between two moments: no multiple of a step's.
const APART: usize = 4;

/// Every document of the run there is.
fn documents(repository: &Repository) -> Vec<Value> {
    ["autopilot", "ralplan", "ralph", "code-review"]
        .into_iter()
        .filter(|mode| {
            repository.project.session(&repository.id(), &format!("{mode}-state.json")).exists()
        })
        .map(|mode| repository.document(mode))
        .collect()
}

/// What cancel.md 3 says of the documents of a cancelled autopilot.
fn assert_cancelled(documents: &[Value], what: &str) {
    for document in documents {
        assert_eq!(document["active"], false, "{what}: {document:#}");
        assert!(document["completed_at"].is_string(), "{what}: {document:#}");
    }
    let autopilot = &documents[0];
    assert_eq!(autopilot["run_outcome"], "cancelled", "{what}");
    assert_eq!(autopilot["lifecycle_outcome"], "cancelled", "{what}");
    // Where it was stays, for whoever goes on.
    let phase = autopilot["current_phase"].as_str().unwrap();
    assert!(["ralplan", "ralph", "code-review"].contains(&phase), "{what}: {phase}");
    for part in &documents[1..] {
        let ended =
            (part["run_outcome"].as_str().unwrap(), part["current_phase"].as_str().unwrap());
        let fits = ended == ("cancelled", "cancelled") || ended == ("finish", "complete");
        assert!(fits, "{what}: {part:#}");
    }
}

/// Cancels after so many records; tells in which phase, if it came in time.
fn cancelled_at(whole: &Whole, records: usize) -> Option<String> {
    let what = format!("cancelled after {records} records");
    let repository = noting();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(records);
    let begun = Instant::now();
    let cancelled = repository.project.omx(&["cancel", "--session-id", &repository.id()]);
    assert_eq!(cancelled.code, Some(0), "{what}: {cancelled:?}");
    let code = running.code();
    if code == Some(0) {
        // It was at its end already.
        return None;
    }
    assert_eq!(code, Some(4), "{what}: {cancelled:?}");
    repository.await_nobody();
    assert!(begun.elapsed() < GONE, "{what}: {:?}", begun.elapsed());
    let before = documents(&repository);
    assert_cancelled(&before, &what);
    let phase = before[0]["current_phase"].as_str().unwrap().to_owned();
    let words = format!("Autopilot cancelled at phase: {phase}. Progress preserved for resume.");
    assert!(cancelled.stdout.contains(&words), "{what}: {cancelled:?}");
    let listed = repository.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "cancelled", "{what}");
    let again = repository.project.omx(&["cancel", "--session-id", &repository.id()]);
    assert!(again.stdout.contains("No active OMX modes detected."), "{what}: {again:?}");
    assert_eq!(documents(&repository), before, "{what}");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
    whole.compare(&repository, &what);
    Some(phase)
}

#[test]
fn cancel_3_5_a_cancel_at_any_moment_ends_a_run_that_can_be_gone_on_with() {
    let whole = Whole::play();
    // Before the first step the documents are not there yet.
    let moments: Vec<usize> = (2..whole.moments.len()).step_by(APART).collect();
    let (late, phases) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    in_parallel(AT_A_TIME, &moments, |records| match cancelled_at(&whole, *records) {
        Some(phase) => drop(phases.lock().unwrap().insert(phase)),
        None => drop(late.fetch_add(1, Ordering::Relaxed)),
    });
    assert!(late.into_inner() <= 3, "most of the cancels came too late");
    assert_eq!(phases.into_inner().unwrap().len(), 3);
}
