//! Single moments of the engine, each a rule of its own. Whole runs with
//! everything that can happen in them are in the simulation.

use omx_agents::ConversationRecord;
use omx_agents::agent::{AgentCommand, ApprovalDecision, ConversationId, ConversationStart};
use omx_agents::event::{AgentEvent, ApprovalId, ApprovalRequest, UsageDelta};
use omx_agents::failure::FailureCause;
use omx_conductor::engine::{
    Engine, Inspection, Job, JobFailure, JobResult, RunEffect, RunEvent, RunOutcome, StepDecision,
};
use omx_conductor::workflow::CheckResult;
use omx_kernel::{Mode, Timestamp};
use omx_runs::progress::Progress;
use omx_runs::{Budget, LimitChange, LimitRequestId, Record, SpecChange, StepKey, WorkspaceState};
use serde_json::Value;

use crate::harness::{EngineHarness, answer, failure, started, unknown};
use crate::kit;

#[test]
fn conductor_3_1_a_conversation_is_recorded_before_a_word_is_said() {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralph));
    let (step, start) = play.opened();
    assert_eq!(start, ConversationStart::New);
    assert!(play.sent().is_none());
    play.report(&step, started("c1"));
    let sent_at = play.effects.iter().position(|effect| matches!(effect, RunEffect::Command(..)));
    let recorded = play
        .effects
        .iter()
        .position(|effect| matches!(effect, RunEffect::Record(Record::Conversation { .. })));
    assert!(recorded < sent_at && recorded.is_some(), "{:?}", play.effects);
}

#[test]
fn conductor_3_1_an_agent_that_names_its_conversation_late_gets_its_task_first() {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralph));
    let (step, _) = play.opened();
    play.report(&step, AgentEvent::Listening);
    assert!(play.sent().is_some_and(|text| text.contains("## Your part")), "{:?}", play.effects);
    play.report(&step, started("c1"));
    assert!(play.sent().is_none(), "said twice: {:?}", play.effects);
    let recorded = play.effects.iter().any(
        |effect| matches!(effect, RunEffect::Record(Record::Conversation { id, .. }) if id == "c1"),
    );
    assert!(recorded, "{:?}", play.effects);
    assert_eq!(
        play.killed(&[]).opened().1,
        ConversationStart::Resume(ConversationId::new("c1").unwrap())
    );
}

#[test]
fn conductor_3_2_a_conversation_that_may_not_have_its_task_gets_it_again() {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralph));
    let (step, _) = play.opened();
    play.report(&step, started("c1"));
    let mut play = play.killed(&[]);
    assert_eq!(play.opened().1, ConversationStart::Resume(ConversationId::new("c1").unwrap()));
    play.report(&step, started("c1"));
    assert!(play.sent().is_some_and(|text| text.contains("## Your part")), "{:?}", play.effects);
    // An agent that used tokens on its task has received it.
    play.report(&step, AgentEvent::Usage(UsageDelta { input_tokens: 5, ..UsageDelta::default() }));
    let mut play = play.killed(&[]);
    play.report(&step, started("c1"));
    assert!(play.sent().is_some_and(|text| !text.contains("## Your part")), "{:?}", play.effects);
}

#[test]
fn conductor_3_2_work_in_a_lost_conversation_is_decided_by_the_person() {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralph));
    let (step, _) = play.opened();
    play.report(&step, started("c1"));
    play.report(&step, AgentEvent::Text("I am at it.".to_owned()));
    let mut play = play.killed(&[]);
    play.report(&step, unknown());
    let RunOutcome::Blocked(words) = play.closed() else { panic!("{:?}", play.effects) };
    assert!(words.contains("decide work=rerun") && words.contains("decide work=skip"));
    let (spec, records) = (play.spec.clone(), play.records.clone());
    let again = play.killed(&[("work", StepDecision::Rerun)]);
    assert_eq!(again.opened(), (step, ConversationStart::New));
    let skipped = EngineHarness::opened_from(spec, records, &[("work", StepDecision::Skip)]);
    assert!(skipped.has_finished("work"));
    assert!(
        skipped
            .effects
            .iter()
            .any(|effect| matches!(effect, RunEffect::StartJob(_, Job::Check { .. })))
    );
}

#[test]
fn conductor_3_2_work_that_never_reached_an_agent_begins_again_when_its_conversation_is_lost() {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralph));
    let (step, _) = play.opened();
    play.report(&step, started("c1"));
    let mut play = play.killed(&[]);
    play.report(&step, unknown());
    assert_eq!(play.opened(), (step.clone(), ConversationStart::New));
    let says_so = |effect: &RunEffect| matches!(effect, RunEffect::Show(Progress::Note(words)) if words.raw().contains("begins again"));
    assert!(play.effects.iter().any(says_so), "{:?}", play.effects);
    play.report(&step, started("c2"));
    assert!(play.sent().is_some_and(|text| text.starts_with("## Task")), "{:?}", play.effects);
}

#[test]
fn conductor_3_2_a_lost_conversation_is_asked_about_when_its_work_cannot_be_looked_up() {
    let (play, step) = killed_early();
    let Inspection { record, workspace } = Inspection::FAILED;
    let mut play = play.killed_and_found(record, workspace);
    play.report(&step, unknown());
    let RunOutcome::Blocked(words) = play.closed() else { panic!("{:?}", play.effects) };
    assert!(words.contains("decide work=rerun"), "{words}");
}

#[test]
fn conductor_3_2_a_step_without_traces_begins_again_when_its_conversation_is_lost() {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralplan));
    let (step, _) = play.opened();
    play.report(&step, started("c1"));
    let mut play = play.killed(&[]);
    play.report(&step, unknown());
    assert_eq!(play.opened(), (step, ConversationStart::New));
}

fn as_before() -> WorkspaceState {
    WorkspaceState::AsBefore { tree: "a".repeat(40) }
}

/// A ralph that was killed after its conversation was recorded.
fn killed_early() -> (EngineHarness, StepKey) {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralph));
    let (step, _) = play.opened();
    play.report(&step, started("c1"));
    (play, step)
}

#[test]
fn trust_5_1b_what_the_program_has_on_record_is_continued_and_not_sent_again() {
    let (play, step) = killed_early();
    let mut play =
        play.killed_and_found(ConversationRecord::Received, WorkspaceState::MayHaveChanged);
    assert_eq!(play.opened().1, ConversationStart::Resume(ConversationId::new("c1").unwrap()));
    assert!(play.records.contains(&Record::Delivered { step: step.clone() }));
    play.report(&step, started("c1"));
    assert!(play.sent().is_some_and(|text| !text.contains("## Your part")), "{:?}", play.effects);
    // The next process knows it from the journal.
    let mut play = play.killed(&[]);
    play.report(&step, started("c1"));
    assert!(play.sent().is_some_and(|text| !text.contains("## Your part")), "{:?}", play.effects);
}

#[test]
fn trust_5_1b_what_the_program_does_not_have_is_sent_as_if_for_the_first_time() {
    let (play, step) = killed_early();
    let mut play = play.killed_and_found(ConversationRecord::NotReceived, as_before());
    play.report(&step, started("c1"));
    assert!(play.sent().is_some_and(|text| text.starts_with("## Task")), "{:?}", play.effects);
}

#[test]
fn trust_5_1b_an_empty_record_begins_again_where_the_workspace_is_as_it_was() {
    let (play, step) = killed_early();
    let mut play = play.killed_and_found(ConversationRecord::Empty, as_before());
    assert_eq!(play.opened(), (step.clone(), ConversationStart::New));
    play.report(&step, started("c2"));
    assert!(play.sent().is_some_and(|text| text.starts_with("## Task")), "{:?}", play.effects);

    let (play, _) = killed_early();
    let play = play.killed_and_found(ConversationRecord::Empty, WorkspaceState::MayHaveChanged);
    let RunOutcome::Blocked(words) = play.closed() else { panic!("{:?}", play.effects) };
    assert!(words.contains("decide work=rerun") && words.contains("decide work=skip"), "{words}");
}

#[test]
fn trust_5_1b_lost_work_begins_again_where_the_workspace_is_as_it_was() {
    let (mut play, step) = killed_early();
    play.report(&step, AgentEvent::Text("I am at it.".to_owned()));
    let mut play = play.killed_and_found(ConversationRecord::Unknown, as_before());
    play.report(&step, unknown());
    assert_eq!(play.opened(), (step, ConversationStart::New));
}

#[test]
fn conductor_3_2_another_agent_gets_the_task_of_the_one_before_it() {
    let (mut play, step) = killed_early();
    play.report(&step, AgentEvent::Text("I am at it.".to_owned()));
    let change = SpecChange { agent: Some("codex".to_owned()), ..SpecChange::default() };
    play.records.push(Record::SpecChanged { change });
    let mut play = play.killed(&[]);
    assert_eq!(play.opened(), (step.clone(), ConversationStart::New));
    assert_eq!(play.engine.spec().agent, "codex");
    play.report(&step, started("c2"));
    assert!(play.sent().is_some_and(|text| text.contains("received this before")));
}

#[test]
fn conductor_5_5_a_check_that_is_stopped_has_no_result() {
    let check = CheckResult { command: "c".into(), exit_code: None, output: String::new() };
    let stopped = Err(JobFailure::Failed("it was stopped".to_owned()));
    for result in [Ok(JobResult::Checked(check)), stopped] {
        let mut play = EngineHarness::new(kit::spec(Mode::Ultraqa));
        let step = play.effects.iter().find_map(|effect| match effect {
            RunEffect::StartJob(step, Job::Check { .. }) => Some(step.clone()),
            _ => None,
        });
        let step = step.unwrap();
        play.handle(RunEvent::Interrupted);
        assert!(matches!(&play.effects[..], [RunEffect::StopJob(_)]), "{:?}", play.effects);
        play.handle(RunEvent::JobDone(step, result));
        assert_eq!(play.closed(), RunOutcome::Interrupted);
        assert!(!play.has_finished("check1"));
    }
}

#[test]
fn a_cancelled_run_gives_no_permission_and_says_nothing() {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralph));
    let (step, _) = play.opened();
    play.report(&step, started("c1"));
    let ask = ApprovalRequest::Other { what: "to go out".to_owned() };
    let approval = ApprovalId("1".to_owned());
    play.report(&step, AgentEvent::ApprovalNeeded { approval: approval.clone(), ask: ask.clone() });
    assert!(matches!(play.effects.last(), Some(RunEffect::AskPerson(..))));
    play.handle(RunEvent::Cancelled);
    assert_eq!(play.effects, [RunEffect::Command(step.clone(), AgentCommand::End)]);
    let again = ApprovalId("2".to_owned());
    for late in [
        RunEvent::Answered(step.clone(), approval, ApprovalDecision::Allow),
        RunEvent::Agent(step.clone(), AgentEvent::ApprovalNeeded { approval: again, ask }),
        RunEvent::Agent(step.clone(), answer(kit::work("late"))),
    ] {
        play.handle(late);
        assert_eq!(play.effects, []);
    }
    play.report(&step, AgentEvent::Ended(None));
    assert_eq!(play.closed(), RunOutcome::Cancelled);
}

#[test]
fn r14_a_limit_is_waited_for_and_counts_as_nothing() {
    let mut play = EngineHarness::new(kit::spec(Mode::Ralph));
    let (step, _) = play.opened();
    play.report(&step, started("c1"));
    for round in 0..20 {
        // Some name a moment that is over: they are not asked at once either.
        let until = if round % 2 == 0 { play.now.millis() - 1 } else { play.now.millis() + 60_000 };
        let until = Timestamp::from_millis(until);
        let cause = FailureCause::RateLimited { until: Some(until), detail: String::new() };
        play.report(&step, AgentEvent::TurnFailed(failure(cause)));
        play.report(&step, AgentEvent::Ended(None));
        let wake = play.engine.wake().unwrap();
        assert!(wake > play.now && wake >= until);
        play.handle(RunEvent::Time);
        assert_eq!(play.effects, []);
        play.now = wake;
        play.handle(RunEvent::Time);
        assert_eq!(play.opened().1, ConversationStart::Resume(ConversationId::new("c1").unwrap()));
        play.report(&step, started("c1"));
    }
}

/// A ralph whose agent has just used up the budget.
fn at_its_budget() -> (EngineHarness, StepKey) {
    let mut spec = kit::spec(Mode::Ralph);
    spec.budget.tokens = Some(10);
    let mut play = EngineHarness::new(spec);
    let (step, _) = play.opened();
    play.report(&step, started("c1"));
    play.report(&step, AgentEvent::Usage(UsageDelta { input_tokens: 10, ..UsageDelta::default() }));
    (play, step)
}

#[test]
fn conductor_5_2_a_run_over_its_budget_opens_nothing_when_it_is_resumed() {
    let (mut play, step) = at_its_budget();
    assert!(matches!(&play.effects.last(), Some(RunEffect::Command(_, AgentCommand::End))));
    play.report(&step, AgentEvent::Ended(None));
    assert!(matches!(play.closed(), RunOutcome::Budget(_)));
    let play = play.killed(&[]);
    assert!(!play.effects.iter().any(|effect| matches!(effect, RunEffect::OpenAgent(..))));
    assert!(matches!(play.closed(), RunOutcome::Budget(_)));
}

#[test]
fn conductor_a_run_that_the_person_interrupts_does_not_continue_with_a_higher_budget() {
    let (mut play, step) = at_its_budget();
    play.handle(RunEvent::Interrupted);
    let budget = Budget { tokens: Some(1000), ..Budget::default() };
    let change = LimitChange { budget, ..LimitChange::default() };
    play.handle(RunEvent::LimitsRequested(LimitRequestId::new(play.now), change));
    play.report(&step, AgentEvent::Ended(None));
    assert_eq!(play.closed(), RunOutcome::Interrupted);
}

#[test]
fn conductor_3_1_a_rerun_that_is_killed_halfway_is_decided_again() {
    let mut spec = kit::spec(Mode::Ralph);
    let whole = kit::play(&spec, kit::good);
    // A journal of all steps, each with the input it had.
    let mut play = EngineHarness::new(spec.clone());
    let mut records = std::mem::take(&mut play.records);
    records.clear();
    for step in &whole.steps {
        let (step, input) = (step.clone(), "what it was given".to_owned());
        records.push(Record::StepStarted { step: step.clone(), input, tree: None });
        records.push(Record::StepFinished { step, result: Value::Null, tree: None });
    }
    spec.task = "something else".into();
    let first = whole.steps[0].as_str().to_owned();
    let decisions = [(first.clone(), StepDecision::Rerun)].into();
    let opened = Engine::open(spec.clone(), kit::context(), &records, &decisions);
    let changes = opened.unwrap().1;
    let forgotten: Vec<&StepKey> = changes
        .iter()
        .filter_map(|change| match change {
            Record::StepDiscarded { step, .. } => Some(step),
            _ => None,
        })
        .collect();
    // The last goes first: what is left is never made from what is gone.
    assert_eq!(forgotten, whole.steps.iter().rev().collect::<Vec<_>>());
    records.push(changes[0].clone());
    let play = EngineHarness::opened_from(spec, records, &[]);
    let RunOutcome::Blocked(words) = play.closed() else { panic!("{:?}", play.effects) };
    assert!(words.contains(&format!("decide {first}=rerun")), "{words}");
}
