//! Steps: the units a run is made of, each done at most once.

use std::collections::BTreeMap;

use omx_agents::results::{ResultKind, ReviewKind};
use omx_kernel::Mode;
pub use omx_runs::StepKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub key: StepKey,
    /// The mode it belongs to.
    pub mode: Mode,
    /// The phase that mode is in.
    pub phase: String,
    /// What it is.
    pub work: Work,
}

/// What a step is.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// An agent does something.
    Errand(Errand),
    /// omx runs the project's check.
    Check,
    /// omx keeps the plan of another step in the project.
    KeepPlan(StepKey),
}

/// What an agent is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Errand {
    /// In which role.
    pub role: String,
    /// The model, if this errand has its own.
    pub model: Option<String>,
    /// What for.
    pub purpose: Purpose,
    /// What it answers with.
    pub wants: ResultKind,
}

/// What an errand is for, with the steps whose results it needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "for", rename_all = "snake_case")]
#[allow(missing_docs, reason = "a field is the step it is named after")]
pub enum Purpose {
    /// Plan the task; after a review that was not clean, begin with its findings.
    Draft { reviews: Vec<StepKey> },
    /// Review a plan.
    ReviewPlan { plan: StepKey },
    /// Plan again, with what the reviewers found.
    Revise { plan: StepKey, reviews: Vec<StepKey> },
    /// Do the task, along a plan if there is one.
    Implement { plan: Option<StepKey> },
    /// Mend what a check or a verification found.
    Mend { failure: StepKey },
    /// Verify that the task is done.
    Verify { work: StepKey },
    /// Leave nothing in the change that need not be there.
    Tidy,
    /// Review the change.
    ReviewChange { work: Option<StepKey> },
    /// Find out why a check fails.
    Diagnose { failure: StepKey },
    /// A stage of a pipeline, with the results of those before.
    Stage { number: usize, before: Vec<StepKey> },
}

impl Purpose {
    /// The steps whose results it needs.
    pub fn reads(&self) -> Vec<&StepKey> {
        match self {
            Self::Draft { reviews } => reviews.iter().collect(),
            Self::ReviewPlan { plan } => vec![plan],
            Self::Revise { plan, reviews } => [plan].into_iter().chain(reviews).collect(),
            Self::Implement { plan } => plan.iter().collect(),
            Self::Mend { failure } | Self::Diagnose { failure } => vec![failure],
            Self::Verify { work } => vec![work],
            Self::Tidy => Vec::new(),
            Self::ReviewChange { work } => work.iter().collect(),
            Self::Stage { before, .. } => before.iter().collect(),
        }
    }
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The command line.
    pub command: String,
    /// Its exit code; none if it ran out of time or a signal ended it.
    pub exit_code: Option<i32>,
    /// The end of what it printed.
    pub output: String,
}

impl CheckResult {
    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0)
    }
}

/// Where a plan was kept, from the project's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPlan {
    /// The plan.
    pub plan_path: String,
    /// How it will be tested.
    pub test_spec_path: String,
}

/// A finished step, as the journal has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// What it gave; what kind of thing that is, the story knows.
    pub result: Value,
    /// What it was given, as a hash.
    pub input: String,
    /// What the folder held after it, as a hash.
    pub tree: Option<String>,
}

/// Finished steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    steps: BTreeMap<StepKey, Finished>,
    order: Vec<StepKey>,
}

impl Past {
    /// A finished step.
    pub fn get(&self, key: &StepKey) -> Option<&Finished> {
        self.steps.get(key)
    }

    /// Adds a finished step.
    pub fn add(&mut self, key: StepKey, finished: Finished) {
        self.order.retain(|known| *known != key);
        self.order.push(key.clone());
        self.steps.insert(key, finished);
    }

    /// Forgets a step.
    pub fn forget(&mut self, key: &StepKey) {
        self.order.retain(|known| known != key);
        self.steps.remove(key);
    }

    /// Takes another input of a finished step for its own.
    pub fn accept(&mut self, key: &StepKey, input: String) {
        if let Some(finished) = self.steps.get_mut(key) {
            finished.input = input;
        }
    }

    /// The step that was finished last.
    pub fn last(&self) -> Option<&StepKey> {
        self.order.last()
    }

    /// All steps, in the order in which they were finished.
    pub fn keys(&self) -> &[StepKey] {
        &self.order
    }
}

/// Reviewers of plans.
pub(super) fn plan_review(role: &str, kind: ReviewKind, plan: &StepKey) -> Errand {
    Errand {
        role: role.to_owned(),
        model: None,
        purpose: Purpose::ReviewPlan { plan: plan.clone() },
        wants: ResultKind::Review(kind),
    }
}
