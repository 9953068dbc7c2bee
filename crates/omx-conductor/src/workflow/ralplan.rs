//! Plans, and has the plan reviewed twice, until both reviewers approve.

use omx_agents::results::{AgentResult, ResultKind, ReviewKind, ReviewResult};
use omx_kernel::Mode;
use omx_runs::StepKey;
use serde_json::json;

use super::step::plan_review;
use super::{AgentStep, Flow, JobStep, KeptPlan, StepKind, StepPurpose, Workflow, WorkflowEnd};

const RALPLAN: Mode = Mode::Ralplan;

/// A plan that both reviewers approved, and its path.
pub(super) struct Agreed {
    pub(super) plan: StepKey,
    pub(super) kept: KeptPlan,
}

impl Workflow<'_> {
    /// Runs the mode by itself.
    pub(super) fn ralplan_run(&mut self) -> Flow<WorkflowEnd> {
        let agreed = self.ralplan(Vec::new())?;
        Ok(WorkflowEnd::Complete(format!("The plan is in {}.", agreed.kept.plan_path)))
    }

    /// Plans until the architect and the critic approve. The planner starts with the
    /// findings of a review that was not clean.
    pub(super) fn ralplan(&mut self, findings: Vec<StepKey>) -> Flow<Agreed> {
        self.start(RALPLAN, json!({"current_phase": "draft"}))?;
        let agent = |purpose| AgentStep {
            role: "planner".to_owned(),
            model: None,
            purpose,
            wants: ResultKind::Plan,
        };
        self.agent("draft", RALPLAN, agent(StepPurpose::Draft { reviews: findings }))?;
        let mut plan = self.key("draft");
        for round in 1.. {
            let (architect, critic) = self.reviews_of_plan(round, &plan)?;
            let kept = self.keep(&plan, &format!("keep{round}"))?;
            if architect.verdict.is_favorable() && critic.verdict.is_favorable() {
                let consensus = json!({"critic": "APPROVE", "architect": "APPROVE"});
                self.write(
                    RALPLAN,
                    json!({
                        "current_phase": "complete",
                        "consensus": consensus,
                        "plan_path": kept.plan_path,
                        "test_spec_path": kept.test_spec_path,
                    }),
                )?;
                return Ok(Agreed { plan, kept });
            }
            // Keep the last plan, however the run ends.
            self.write(
                RALPLAN,
                json!({
                    "current_phase": "revise",
                    "plan_path": kept.plan_path,
                    "test_spec_path": kept.test_spec_path,
                }),
            )?;
            let reviews =
                vec![self.key(&format!("architect{round}")), self.key(&format!("critic{round}"))];
            let name = format!("revise{round}");
            self.agent(&name, RALPLAN, agent(StepPurpose::Revise { plan, reviews }))?;
            plan = self.key(&name);
        }
        // Unreachable: the kernel limits the rounds.
        self.fail(RALPLAN, "no consensus")
    }

    fn reviews_of_plan(
        &mut self,
        round: u64,
        plan: &StepKey,
    ) -> Flow<(ReviewResult, ReviewResult)> {
        self.enter(RALPLAN, "architect-review")?;
        let name = format!("architect{round}");
        let agent = plan_review("architect", ReviewKind::Architect, plan);
        let architect = self.review(&name, RALPLAN, agent)?;
        self.enter(RALPLAN, "critic-review")?;
        let name = format!("critic{round}");
        let agent = plan_review("critic", ReviewKind::Critic, plan);
        let critic = self.review(&name, RALPLAN, agent)?;
        Ok((architect, critic))
    }

    /// Keeps a plan where people and later steps find it.
    fn keep(&self, plan: &StepKey, name: &str) -> Flow<KeptPlan> {
        let finished =
            self.result(self.step(name, RALPLAN, StepKind::Job(JobStep::KeepPlan(plan.clone()))))?;
        serde_json::from_value(finished.result)
            .map_err(|error| self.unreadable(name, &error.to_string()))
    }

    /// The result of a review.
    pub(super) fn review(&self, name: &str, mode: Mode, agent: AgentStep) -> Flow<ReviewResult> {
        match self.agent(name, mode, agent)? {
            AgentResult::Review(review) => Ok(review),
            _ => Err(self.unreadable(name, "it is not a review")),
        }
    }
}
