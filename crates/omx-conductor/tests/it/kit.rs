//! Runs in a test: specs, and answers of agents as the journal holds them.

use omx_conductor::input::input_hash;
use omx_conductor::workflow::{
    CompletedSteps, DocumentChange, JobStep, NextAction, ReplayCache, Step, StepKind, StepResult,
    WorkflowContext, WorkflowEnd, replay,
};
use omx_kernel::{Dialect, Mode, SessionId, StatePaths};
use omx_runs::{Budget, PipelineStage, RunLimits, RunSpec, StepKey, VerificationLevel, Workspace};
use serde_json::{Value, json};

pub fn session() -> SessionId {
    SessionId::new("0192d5a4-7c1e-7abc-8def-0123456789ab").unwrap()
}

pub fn context() -> WorkflowContext {
    let dialect = Dialect::OMX;
    WorkflowContext { session: session(), dialect, paths: StatePaths::in_project(dialect) }
}

pub fn spec(mode: Mode) -> RunSpec {
    RunSpec {
        mode,
        task: "add a greeting".into(),
        slug: "add-a-greeting".to_owned(),
        started_at: "2026-11-15T12:00:00.000Z".to_owned(),
        agent: "rehearsal".to_owned(),
        model: None,
        allow: "commands".to_owned(),
        check: Some("sh check.sh".into()),
        verification: VerificationLevel::Thorough,
        max_iterations: None,
        budget: Budget::default(),
        prices: Default::default(),
        limits: RunLimits::default(),
        workspace: Workspace::InPlace { path: "/tmp".into() },
        stages: vec![
            stage("explore", "explore"),
            stage("build", "executor"),
            stage("prove", "verifier"),
        ],
        scenario: None,
    }
}

pub fn stage(name: &str, role: &str) -> PipelineStage {
    PipelineStage {
        name: name.to_owned(),
        role: role.to_owned(),
        prompt: String::new(),
        model: None,
    }
}

pub fn plan() -> Value {
    json!({"title": "Greeting", "summary": "s", "plan_markdown": "# p", "test_spec_markdown": "# t", "subtasks": []})
}

pub fn review(lane: &str, verdict: &str, findings: &[&str]) -> Value {
    let findings: Vec<Value> = findings.iter().map(|title| finding(title)).collect();
    json!({"lane": lane, "verdict": verdict, "findings": findings, "summary": "looked"})
}

pub fn finding(title: &str) -> Value {
    json!({"title": title, "file": "a.rs", "line": 3, "severity": "major", "detail": "d"})
}

pub fn work(summary: &str) -> Value {
    json!({"summary": summary, "changed_files": ["a.rs"], "commands": [], "done": true, "blocked_reason": null})
}

pub fn verification(passed: bool) -> Value {
    let findings = if passed { vec![] } else { vec![finding("not there")] };
    json!({"passed": passed, "checks": [{"name": "c", "command": "x", "exit_code": 0, "evidence": "e"}], "findings": findings})
}

pub fn check(code: i32) -> Value {
    json!({"command": "sh check.sh", "exit_code": code, "output": format!("exit {code}")})
}

/// An answer without findings.
pub fn good(step: &Step) -> Value {
    match &step.kind {
        StepKind::Check => check(0),
        StepKind::Job(JobStep::KeepPlan(_)) => {
            json!({"plan_path": ".omx/plans/prd-x.md", "test_spec_path": ".omx/plans/test-spec-x.md"})
        }
        StepKind::Agent(agent) => match (agent.wants.as_str(), agent.role.as_str()) {
            ("plan", _) => plan(),
            ("review", "critic") => review("critic", "APPROVE", &[]),
            ("review", "code-reviewer") => review("code", "APPROVE", &[]),
            ("review", _) if step.mode == Mode::CodeReview => review("architect", "CLEAR", &[]),
            ("review", _) => review("architect", "APPROVE", &[]),
            ("verification", _) => verification(true),
            _ => work("did it"),
        },
    }
}

/// The whole of a workflow.
pub struct FinishedWorkflow {
    pub end: WorkflowEnd,
    pub steps: Vec<StepKey>,
    pub changes: Vec<DocumentChange>,
}

impl FinishedWorkflow {
    /// The names of its steps.
    pub fn names(&self) -> Vec<&str> {
        self.steps.iter().map(StepKey::as_str).collect()
    }

    /// The phases a mode went through.
    pub fn phases(&self, mode: Mode) -> Vec<String> {
        let of_mode = self.changes.iter().filter(|change| change.mode == mode);
        of_mode
            .filter_map(|change| Some(change.fields.get("current_phase")?.as_str()?.to_owned()))
            .collect()
    }
}

/// Plays a workflow to its end with these answers, without a git repository.
#[track_caller]
pub fn play(spec: &RunSpec, answer: impl Fn(&Step) -> Value) -> FinishedWorkflow {
    play_in(spec, answer, |_| None)
}

/// Plays a workflow to its end with these answers, each leaving a tree behind.
#[track_caller]
pub fn play_in(
    spec: &RunSpec,
    answer: impl Fn(&Step) -> Value,
    tree: impl Fn(&Step) -> Option<String>,
) -> FinishedWorkflow {
    let mut completed = CompletedSteps::default();
    let (mut steps, mut cache) = (Vec::new(), ReplayCache::default());
    for _ in 0..2000 {
        let replay = replay(spec, &context(), &completed, &mut cache).unwrap();
        match replay.next {
            NextAction::End(end) => {
                return FinishedWorkflow { end, steps, changes: replay.changes };
            }
            NextAction::Diverged { step, .. } => panic!("{step} diverged"),
            NextAction::Begin(next) => {
                assert!(!next.is_empty());
                for step in next {
                    let input = input_hash(spec, &completed, &step);
                    steps.push(step.key.clone());
                    let (result, tree) = (answer(&step), tree(&step));
                    completed.add(step.key, StepResult { result, input, tree });
                }
            }
        }
    }
    panic!("a workflow without an end: {steps:?}");
}
