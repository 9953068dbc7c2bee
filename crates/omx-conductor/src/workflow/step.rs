//! Steps: the units of a run, each done at most once.

use std::collections::BTreeMap;
use std::sync::Arc;

use omx_agents::results::{ResultKind, ReviewKind};
use omx_kernel::Mode;
use omx_kernel::confinement::WorkspaceAccess;
use omx_runs::StepKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Seat;

/// A unit of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub key: StepKey,
    /// The mode it belongs to.
    pub mode: Mode,
    /// The phase of that mode.
    pub phase: String,
    /// What the step does.
    pub kind: StepKind,
    /// Who does it, and where.
    pub seat: Arc<Seat>,
}

impl Step {
    /// What the step may do to the files of its workspace.
    pub fn access(&self) -> WorkspaceAccess {
        match &self.kind {
            StepKind::Agent(agent) => agent.access(),
            StepKind::Check | StepKind::Job(_) => WorkspaceAccess::ReadWrite,
        }
    }
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// An agent does the step.
    Agent(AgentStep),
    /// omx runs the project's check.
    Check,
    /// omx does something else.
    Job(JobStep),
}

/// What omx does itself in a step, besides running the check.
#[derive(Clone, Debug, PartialEq)]
pub enum JobStep {
    /// Keep the plan of another step in the project.
    KeepPlan(StepKey),
}

/// What an agent is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentStep {
    /// The agent's role.
    pub role: String,
    /// The model, if the step has its own.
    pub model: Option<String>,
    /// What the step is for.
    pub purpose: StepPurpose,
    /// The kind of result the agent answers with.
    pub wants: ResultKind,
}

impl AgentStep {
    /// Only work changes files. Plans, reviews, verifications and diagnoses are answers.
    pub fn access(&self) -> WorkspaceAccess {
        match (self.wants, &self.purpose) {
            (ResultKind::Work, StepPurpose::Diagnose { .. }) => WorkspaceAccess::ReadOnly,
            (ResultKind::Work, _) => WorkspaceAccess::ReadWrite,
            _ => WorkspaceAccess::ReadOnly,
        }
    }
}

/// What an agent step is for, with the steps whose results it reads.
///
/// Serialized into the hash of a step's input, so serialized names never change:
/// a changed hash would make every journal look diverged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "for", rename_all = "snake_case")]
#[allow(missing_docs, reason = "a field is the step it is named after")]
pub enum StepPurpose {
    /// Plan the task, starting with the findings of earlier reviews.
    Draft { reviews: Vec<StepKey> },
    /// Review a plan.
    ReviewPlan { plan: StepKey },
    /// Revise a plan according to the reviewers' findings.
    Revise { plan: StepKey, reviews: Vec<StepKey> },
    /// Do the task, following a plan if there is one.
    Implement { plan: Option<StepKey> },
    /// Fix what a check or a verification found.
    #[serde(rename = "mend")]
    Fix { failure: StepKey },
    /// Verify that the task is done.
    Verify { work: StepKey },
    /// Remove what the change does not need.
    Tidy,
    /// Review the change.
    ReviewChange { work: Option<StepKey> },
    /// Find out why a check fails.
    Diagnose { failure: StepKey },
    /// A stage of a pipeline, with the results of the stages before it.
    Stage { number: usize, before: Vec<StepKey> },
}

impl StepPurpose {
    /// The steps whose results this step reads.
    pub fn reads(&self) -> Vec<&StepKey> {
        match self {
            Self::Draft { reviews } => reviews.iter().collect(),
            Self::ReviewPlan { plan } => vec![plan],
            Self::Revise { plan, reviews } => [plan].into_iter().chain(reviews).collect(),
            Self::Implement { plan } => plan.iter().collect(),
            Self::Fix { failure } | Self::Diagnose { failure } => vec![failure],
            Self::Verify { work } => vec![work],
            Self::Tidy => Vec::new(),
            Self::ReviewChange { work } => work.iter().collect(),
            Self::Stage { before, .. } => before.iter().collect(),
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The command line.
    pub command: String,
    /// Its exit status; `None` if it timed out or a signal ended it.
    pub exit_code: Option<i32>,
    /// The end of its output.
    pub output: String,
}

impl CheckResult {
    /// Whether the check passed.
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0)
    }
}

/// The paths of a kept plan, relative to the project's root if possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPlan {
    /// The plan.
    pub plan_path: String,
    /// The test specification.
    pub test_spec_path: String,
}

/// A completed step, as the journal holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// What the step produced; the workflow knows its type.
    pub result: Value,
    /// The hash of the step's input.
    pub input: String,
    /// The hash of the workspace's content after the step.
    pub tree: Option<String>,
}

/// The results of the completed steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompletedSteps {
    steps: BTreeMap<StepKey, StepResult>,
    order: Vec<StepKey>,
}

impl CompletedSteps {
    /// The result of a step, if it is completed.
    pub fn get(&self, key: &StepKey) -> Option<&StepResult> {
        self.steps.get(key)
    }

    /// Adds a completed step.
    pub fn add(&mut self, key: StepKey, result: StepResult) {
        self.order.retain(|known| *known != key);
        self.order.push(key.clone());
        self.steps.insert(key, result);
    }

    /// Discards a step's result.
    pub fn discard(&mut self, key: &StepKey) {
        self.order.retain(|known| known != key);
        self.steps.remove(key);
    }

    /// Accepts a changed input of a completed step.
    pub fn accept(&mut self, key: &StepKey, input: String) {
        if let Some(done) = self.steps.get_mut(key) {
            done.input = input;
        }
    }

    /// Accepts a changed input of all completed steps that had this one.
    pub fn accept_all(&mut self, before: &str, now: &str) {
        for done in self.steps.values_mut().filter(|done| done.input == before) {
            now.clone_into(&mut done.input);
        }
    }

    /// The step that was completed last.
    pub fn last(&self) -> Option<&StepKey> {
        self.order.last()
    }

    /// All steps, in the order of completion.
    pub fn keys(&self) -> &[StepKey] {
        &self.order
    }
}

/// A step in which a role reviews a plan.
pub(super) fn plan_review(role: &str, kind: ReviewKind, plan: &StepKey) -> AgentStep {
    AgentStep {
        role: role.to_owned(),
        model: None,
        purpose: StepPurpose::ReviewPlan { plan: plan.clone() },
        wants: ResultKind::Review(kind),
    }
}
