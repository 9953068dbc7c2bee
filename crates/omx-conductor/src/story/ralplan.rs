//! Plan, two reviews, and again until both agree.

use omx_agents::results::{AgentResult, ResultKind, Review, ReviewKind};
use omx_kernel::Mode;
use serde_json::json;

use super::step::plan_review;
use super::{End, Errand, KeptPlan, Purpose, StepKey, Story, Tale, Work};

const RALPLAN: Mode = Mode::Ralplan;

/// A plan both reviewers approved, and where it is kept.
pub(super) struct Agreed {
    pub(super) plan: StepKey,
    pub(super) kept: KeptPlan,
}

impl Story<'_> {
    /// The mode by itself.
    pub(super) fn ralplan_run(&mut self) -> Tale<End> {
        let agreed = self.ralplan(Vec::new())?;
        Ok(End::Complete(format!("The plan is in {}.", agreed.kept.plan_path)))
    }

    /// Plans until architect and critic approve. Findings of a review that was
    /// not clean are the first thing the planner reads.
    pub(super) fn ralplan(&mut self, findings: Vec<StepKey>) -> Tale<Agreed> {
        self.start(RALPLAN, json!({"current_phase": "draft"}))?;
        let errand = |purpose| Errand {
            role: "planner".to_owned(),
            model: None,
            purpose,
            wants: ResultKind::Plan,
        };
        self.errand("draft", RALPLAN, errand(Purpose::Draft { reviews: findings }))?;
        let mut plan = self.key("draft");
        for round in 1.. {
            let (architect, critic) = self.reviews_of_plan(round, &plan)?;
            let kept = self.keep(&plan, &format!("keep{round}"))?;
            if architect.verdict().is_favourable() && critic.verdict().is_favourable() {
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
            // The last plan is kept whatever becomes of it.
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
            self.errand(&name, RALPLAN, errand(Purpose::Revise { plan, reviews }))?;
            plan = self.key(&name);
        }
        // The kernel ends the rounds; this line is never reached.
        self.fail(RALPLAN, "no consensus")
    }

    fn reviews_of_plan(&mut self, round: u64, plan: &StepKey) -> Tale<(Review, Review)> {
        self.enter(RALPLAN, "architect-review")?;
        let name = format!("architect{round}");
        let errand = plan_review("architect", ReviewKind::Architect, plan);
        let architect = self.review(&name, RALPLAN, errand)?;
        self.enter(RALPLAN, "critic-review")?;
        let name = format!("critic{round}");
        let errand = plan_review("critic", ReviewKind::Critic, plan);
        let critic = self.review(&name, RALPLAN, errand)?;
        Ok((architect, critic))
    }

    /// Puts a plan where people and later steps find it.
    fn keep(&self, plan: &StepKey, name: &str) -> Tale<KeptPlan> {
        let finished = self.done(self.step(name, RALPLAN, Work::KeepPlan(plan.clone())))?;
        serde_json::from_value(finished.result)
            .map_err(|error| self.unreadable(name, &error.to_string()))
    }

    /// An errand that is a review.
    pub(super) fn review(&self, name: &str, mode: Mode, errand: Errand) -> Tale<Review> {
        match self.errand(name, mode, errand)? {
            AgentResult::Review(review) => Ok(review),
            _ => Err(self.unreadable(name, "it is no review")),
        }
    }
}
