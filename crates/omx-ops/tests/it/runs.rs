//! Operations on runs that no process drives.

use std::time::Duration;

use omx_kernel::{Mode, RefusalCode, RunState, SessionId};
use omx_ops::{
    Ambient, Context, LimitEffect, RunDiscardRequest, RunLimitRequest, RunListRequest, RunRequest,
    RunResumeRequest, RunSelector, open_run, run_discard, run_gc, run_limit, run_list, run_resume,
    run_show, run_start, run_status,
};
use omx_runs::Record;
use omx_runs::retention::DiscardScope;

use crate::project::OpsTestProject;

fn request() -> RunRequest {
    RunRequest { task: Some("add a greeting".to_owned()), ..RunRequest::new(Mode::Ralph) }
}

fn selector(id: &str) -> RunSelector {
    RunSelector { project: None, id: Some(id.to_owned()) }
}

#[test]
fn a_started_run_is_handed_to_a_process_of_its_own() {
    let project = OpsTestProject::new();
    let context = project.context();
    let report = run_start(&context, request()).unwrap();
    let driven = project.launcher.driven.lock().unwrap();
    assert_eq!(*driven, [(report.id.clone(), Vec::new())]);
    let value: serde_json::Value = serde_json::from_str(report.value().as_json()).unwrap();
    assert_eq!(value["agent"], "codex", "{value}");
    assert!(value["warnings"][0].as_str().unwrap().contains("not a git checkout"), "{value}");
    let seen = run_status(&context, &selector(report.id.as_str())).unwrap();
    assert_eq!(seen.overview.state, RunState::Stopped);
}

#[test]
fn a_refused_start_leaves_nothing_behind() {
    let project = OpsTestProject::new();
    let context = project.context();
    let no_task = RunRequest::new(Mode::Ralph);
    assert!(open_run(&context, no_task).unwrap_err().message.contains("no task"));
    let not_driven = RunRequest { task: Some("x".to_owned()), ..RunRequest::new(Mode::Team) };
    assert!(
        open_run(&context, not_driven).unwrap_err().message.contains("team runs cannot be started")
    );
    assert!(!context.store().unwrap().tree().exists());
}

#[test]
fn a_run_that_is_held_is_not_resumed_or_discarded_and_keeps_its_new_limits() {
    let project = OpsTestProject::new();
    let context = project.context();
    let run = open_run(&context, request()).unwrap();
    let id = run.held.id().clone();
    let limit = RunLimitRequest {
        run: selector(id.as_str()),
        max_iterations: Some(5),
        ..RunLimitRequest::default()
    };
    // Nobody drives it here, so nobody takes the limits over.
    let hasty = Context { lock_deadline: Duration::ZERO, ..context.clone() };
    assert_eq!(run_limit(&hasty, &limit).unwrap().effect, LimitEffect::Pending);
    let resume = RunResumeRequest { run: selector(id.as_str()), ..Default::default() };
    assert_eq!(run_resume(&context, &resume).unwrap_err().code, RefusalCode::Busy);
    let discard = RunDiscardRequest { run: selector(id.as_str()), scope: DiscardScope::Everything };
    assert_eq!(run_discard(&context, &discard).unwrap_err().code, RefusalCode::Busy);
    drop(run);
    let later = RunLimitRequest { max_iterations: Some(6), ..limit };
    let report = run_limit(&context, &later).unwrap();
    assert_eq!((report.records.len(), report.effect), (1, LimitEffect::OnResume));
    let shown = run_show(&context, &selector(id.as_str())).unwrap();
    let recorded: Vec<&Record> = shown.entries.iter().map(|entry| &entry.record).collect();
    let wanted = [5, 6].map(|max_iterations| Record::LimitRaised { max_iterations });
    assert_eq!(recorded, [&wanted[0], &wanted[1]]);
    let removed = run_discard(&context, &discard).unwrap().removed;
    assert_eq!((removed.worktree, removed.branch), (None, None));
    assert!(run_list(&context, &RunListRequest::default()).unwrap().runs.is_empty());
}

#[test]
fn decisions_reach_the_process_that_resumes() {
    let project = OpsTestProject::new();
    let context = project.context();
    let id = open_run(&context, request()).unwrap().held.id().clone();
    let decisions = vec!["c1.work=rerun".to_owned()];
    let resume = RunResumeRequest {
        run: selector(id.as_str()),
        decisions: decisions.clone(),
        ..Default::default()
    };
    run_resume(&context, &resume).unwrap();
    assert_eq!(*project.launcher.driven.lock().unwrap(), [(id, decisions)]);
}

#[test]
fn an_agent_of_a_run_is_refused_what_the_person_decides() {
    let project = OpsTestProject::new();
    let context = project.context();
    let id = open_run(&context, request()).unwrap().held.id().clone();
    let session = SessionId::new(id.as_str()).unwrap();
    let agent = Context { ambient: Ambient::Session(session), ..context.clone() };
    let limit = RunLimitRequest {
        run: selector(id.as_str()),
        max_iterations: Some(5),
        ..RunLimitRequest::default()
    };
    assert!(run_limit(&agent, &limit).unwrap_err().message.contains("the person does that"));
    run_start(&agent, request()).unwrap_err();
    run_status(&agent, &selector(id.as_str())).unwrap();
}

#[test]
fn the_retention_of_the_configuration_is_the_only_default() {
    let project = OpsTestProject::new();
    let context = project.context();
    drop(open_run(&context, request()).unwrap());
    let report = run_gc(&context, None).unwrap();
    assert!(report.0.runs.is_empty() && report.0.kept.is_empty());
}
