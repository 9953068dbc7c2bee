//! Effects that fail: the engine decides, and nothing is left half done.

use std::collections::BTreeMap;

use omx_agents::AgentEvent;
use omx_agents::agent::AgentCommand;
use omx_conductor::engine::{
    DocumentFailure, Engine, Job, JobFailure, RunEffect, RunEvent, RunOutcome,
};
use omx_conductor::workflow::StepPurpose;
use omx_kernel::{CloseReason, Mode, Timestamp};
use omx_runs::progress::Progress;
use omx_runs::{Record, StepKey};
use serde_json::json;

use crate::kit;

struct Opened {
    engine: Engine,
    now: Timestamp,
}

impl Opened {
    /// A new run whose journal is opened; nothing else has happened.
    fn new(mode: Mode) -> Self {
        let spec = kit::spec(mode);
        let now = Timestamp::parse(&spec.started_at).unwrap();
        let opened = Engine::open(spec, kit::context(), &[], &BTreeMap::new());
        let mut run = Self { engine: opened.unwrap().0, now };
        let version = "1".to_owned();
        run.handle(RunEvent::Opened { version, changes: Vec::new() });
        run
    }

    /// A run whose first agent works.
    fn working(mode: Mode) -> (Self, StepKey) {
        let mut run = Self::new(mode);
        let mut effects = run.handle(RunEvent::LeftoversFound(Ok(Vec::new())));
        while has_write(&effects) {
            effects = run.handle(RunEvent::DocumentWritten(Ok(())));
        }
        let opened = effects.iter().find_map(|effect| match effect {
            RunEffect::OpenAgent(step, _) => Some(step.clone()),
            _ => None,
        });
        (run, opened.unwrap())
    }

    fn handle(&mut self, event: RunEvent) -> Vec<RunEffect> {
        self.engine.handle(event, self.now)
    }

    fn wait(&mut self) -> Vec<RunEffect> {
        self.now = self.engine.wake().unwrap();
        self.handle(RunEvent::Time)
    }
}

fn has_write(effects: &[RunEffect]) -> bool {
    effects.iter().any(|effect| matches!(effect, RunEffect::WriteDocument(_)))
}

fn has_close(effects: &[RunEffect]) -> bool {
    effects.iter().any(|effect| matches!(effect, RunEffect::Close(_)))
}

fn busy() -> RunEvent {
    RunEvent::DocumentWritten(Err(DocumentFailure::Busy("process 7 holds it".to_owned())))
}

#[test]
fn a_held_lock_is_waited_for_without_end_and_reported() {
    let mut run = Opened::new(Mode::Ralph);
    let mut effects = run.handle(RunEvent::LeftoversFound(Ok(Vec::new())));
    let mut reports = 0;
    let start = run.now;
    while run.now.millis_since(start) < 3_600_000 {
        assert!(has_write(&effects) && !has_close(&effects), "{effects:?}");
        effects = run.handle(busy());
        let is_report = |effect: &&RunEffect| matches!(effect, RunEffect::Show(Progress::Note(_)));
        reports += effects.iter().filter(is_report).count();
        assert!(!has_close(&effects), "{effects:?}");
        effects = run.wait();
    }
    assert!((60..=61).contains(&reports), "{reports}");
    while has_write(&effects) {
        effects = run.handle(RunEvent::DocumentWritten(Ok(())));
    }
    assert!(matches!(effects.last(), Some(RunEffect::OpenAgent(..))), "{effects:?}");
}

#[test]
fn nothing_begins_before_its_document_is_written() {
    let mut run = Opened::new(Mode::Ralph);
    let effects = run.handle(RunEvent::LeftoversFound(Ok(Vec::new())));
    assert!(matches!(&effects[..], [RunEffect::WriteDocument(_)]), "{effects:?}");
    // A run that has written nothing has nothing to end.
    let effects = run.handle(busy());
    assert!(!has_close(&effects));
    let effects = run.handle(RunEvent::Interrupted);
    assert!(matches!(effects.last(), Some(RunEffect::Close(RunOutcome::Interrupted))));
}

#[test]
fn a_disk_that_stays_full_fails_the_run_after_some_attempts() {
    let mut run = Opened::new(Mode::Ralph);
    let mut effects = run.handle(RunEvent::LeftoversFound(Ok(Vec::new())));
    for _ in 0..100 {
        if has_close(&effects) {
            break;
        }
        let failed = DocumentFailure::Failed("the disk is full".to_owned());
        effects = run.handle(RunEvent::DocumentWritten(Err(failed)));
        if !has_close(&effects) && !has_write(&effects) {
            effects = run.wait();
        }
    }
    let Some(RunEffect::Close(RunOutcome::Failed(words))) = effects.last() else {
        panic!("{effects:?}")
    };
    assert!(words.contains("documents cannot be written: the disk is full"), "{words}");
}

#[test]
fn a_journal_that_fails_ends_agents_and_documents_and_says_so() {
    let (mut run, step) = Opened::working(Mode::Ralph);
    let effects = run.handle(RunEvent::JournalFailed("the disk is full".to_owned()));
    let end = RunEffect::Command(step.clone(), AgentCommand::End);
    assert_eq!(effects, [end]);
    let effects = run.handle(RunEvent::Agent(step, AgentEvent::Ended(None)));
    let [RunEffect::WriteDocument(change)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(change.fields["run_outcome"], "failed");
    let effects = run.handle(RunEvent::DocumentWritten(Ok(())));
    let [RunEffect::Close(RunOutcome::Failed(words))] = &effects[..] else {
        panic!("a record follows: {effects:?}")
    };
    assert_eq!(words, "the journal cannot be written: the disk is full");
}

#[test]
fn a_cancel_that_meets_the_last_change_ends_the_run_as_cancelled() {
    let (mut run, step) = Opened::working(Mode::Ralph);
    run.handle(RunEvent::Interrupted);
    let effects = run.handle(RunEvent::Agent(step, AgentEvent::Ended(None)));
    assert!(has_write(&effects), "{effects:?}");
    let effects = run.handle(RunEvent::DocumentWritten(Err(DocumentFailure::Cancelled)));
    assert_eq!(effects, [RunEffect::CancelDocuments]);
    let effects = run.handle(RunEvent::DocumentWritten(Ok(())));
    let [RunEffect::Record(Record::Closed { outcome, .. }), RunEffect::Close(closed)] =
        &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!((*outcome, closed), (CloseReason::Cancelled, &RunOutcome::Cancelled));
}

#[test]
fn a_job_that_finds_the_lock_held_is_started_again() {
    let mut run = Opened::new(Mode::Ultraqa);
    let mut effects = run.handle(RunEvent::LeftoversFound(Ok(Vec::new())));
    while has_write(&effects) {
        effects = run.handle(RunEvent::DocumentWritten(Ok(())));
    }
    let Some(RunEffect::StartJob(step, job)) = effects.last().cloned() else {
        panic!("{effects:?}")
    };
    assert!(matches!(job, Job::Check { .. }));
    for _ in 0..100 {
        let busy = JobFailure::Busy("locked".to_owned());
        let effects = run.handle(RunEvent::JobDone(step.clone(), Err(busy)));
        assert!(!has_close(&effects), "{effects:?}");
        let effects = run.wait();
        assert_eq!(effects, [RunEffect::StartJob(step.clone(), job.clone())]);
    }
}

#[test]
fn serialized_purposes_keep_their_names_because_journals_hold_their_hashes() {
    let failure = StepKey::new("check1".to_owned());
    let serialized = serde_json::to_value(StepPurpose::Fix { failure }).unwrap();
    assert_eq!(serialized, json!({"for": "mend", "failure": "check1"}));
}
