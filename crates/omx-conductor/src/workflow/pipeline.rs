//! Runs one stage after another, each with the results of the stages before it.

use omx_agents::results::{AgentResult, ResultKind, ReviewKind};
use omx_kernel::{Mode, Refusal};
use omx_runs::StepKey;
use omx_runs::spec::PipelineStage;
use serde_json::{Value, json};

use super::{AgentStep, Flow, Halt, StepPurpose, Workflow, WorkflowEnd};

const PIPELINE: Mode = Mode::Pipeline;

impl Workflow<'_> {
    pub(super) fn pipeline(&mut self) -> Flow<WorkflowEnd> {
        let stages = self.spec.stages.clone();
        if stages.is_empty() {
            return Err(Halt::Refused(Box::new(Refusal::invalid_input(
                "a pipeline has at least one stage",
            ))));
        }
        let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
        let is_autopilot = names == Mode::Autopilot.spec().phases;
        self.start(PIPELINE, json!({"stages": names}))?;
        if is_autopilot {
            return self.reviewed_pipeline(&stages);
        }
        let mut before: Vec<StepKey> = Vec::new();
        let mut results = serde_json::Map::new();
        for (number, stage) in stages.iter().enumerate() {
            if number > 0 {
                self.write(
                    PIPELINE,
                    json!({
                        "current_phase": format!("stage:{}", stage.name),
                        "stage_results": Value::Object(results.clone()),
                    }),
                )?;
            }
            let (key, result) = self.stage(number, stage, before.clone())?;
            results.insert(stage.name.clone(), result);
            before.push(key);
        }
        self.write(
            PIPELINE,
            json!({"current_phase": "complete", "stage_results": Value::Object(results)}),
        )?;
        Ok(WorkflowEnd::Complete(format!("All {} stages are done.", stages.len())))
    }

    /// Runs one stage. Returns its step and the short form of its result.
    fn stage(
        &mut self,
        number: usize,
        stage: &PipelineStage,
        before: Vec<StepKey>,
    ) -> Flow<(StepKey, Value)> {
        let agent = AgentStep {
            role: stage.role.clone(),
            model: stage.model.clone(),
            purpose: StepPurpose::Stage { number, before },
            wants: wanted(&stage.role),
        };
        let name = format!("stage{}", number + 1);
        let result = self.agent(&name, PIPELINE, agent)?;
        if let Some(reason) = failure(&result) {
            return self.fail(PIPELINE, &format!("stage {} failed: {reason}", stage.name));
        }
        Ok((self.key(&name), summarize(&result)))
    }

    /// Runs the stages that stand for autopilot. Their phases have autopilot's names, the
    /// last one is a review in both lanes, and a review that is not clean leads back to the
    /// first stage.
    fn reviewed_pipeline(&mut self, stages: &[PipelineStage]) -> Flow<WorkflowEnd> {
        let mut findings = Vec::new();
        loop {
            let cycle = format!("c{}", self.ledger.iteration(PIPELINE));
            let before = std::mem::take(&mut findings);
            let flow = self.part(&cycle, |workflow| workflow.reviewed_cycle(stages, before));
            match self.end_with_part(flow)? {
                None => return Ok(WorkflowEnd::Complete("The review is clean.".to_owned())),
                Some(steps) => findings = steps,
            }
        }
    }

    /// One cycle. Returns the reviews that the next one starts with; `None` if it is clean.
    fn reviewed_cycle(
        &mut self,
        stages: &[PipelineStage],
        mut before: Vec<StepKey>,
    ) -> Flow<Option<Vec<StepKey>>> {
        for (number, pair) in stages.windows(2).enumerate() {
            let [stage, next] = pair else { continue };
            let (key, result) = self.stage(number, stage, before.clone())?;
            before.push(key);
            let results = json!({(stage.name.as_str()): result});
            let change = json!({"current_phase": next.name, "stage_results": results});
            self.write(PIPELINE, change)?;
        }
        let work = before.pop();
        let reviewed = self.part("review", |workflow| workflow.code_review(work))?;
        let result = json!({"code-review": {"verdict": reviewed.verdict}});
        let mut change = json!({
            "current_phase": "complete",
            "review_verdict": reviewed.verdict,
            "return_to_ralplan_reason": null,
            "stage_results": result,
        });
        if !reviewed.is_clean {
            change["current_phase"] = json!("ralplan");
            change["return_to_ralplan_reason"] = json!(reviewed.reason);
            change["handoff_artifacts"] = json!({"code_review": {"verdict": reviewed.verdict}});
        }
        self.write(PIPELINE, change)?;
        Ok((!reviewed.is_clean).then_some(reviewed.steps))
    }
}

/// The kind of result a role answers with.
fn wanted(role: &str) -> ResultKind {
    match role {
        "planner" | "analyst" => ResultKind::Plan,
        "architect" => ResultKind::Review(ReviewKind::Architect),
        "critic" => ResultKind::Review(ReviewKind::Critic),
        "verifier" | "qa-tester" => ResultKind::Verification,
        _ => ResultKind::Work,
    }
}

/// Shortens a result for the document, which could not hold the full results of many
/// stages. The journal has them.
fn summarize(result: &AgentResult) -> Value {
    match result {
        AgentResult::Plan(plan) => json!({"title": plan.title, "summary": plan.summary}),
        AgentResult::Review(review) => json!({
            "verdict": review.verdict.as_str(),
            "findings": review.findings.len(),
            "summary": review.summary,
        }),
        AgentResult::Work(work) => json!({"done": work.done, "summary": work.summary}),
        AgentResult::Verification(verification) => json!({
            "passed": verification.passed,
            "findings": verification.findings.len(),
        }),
    }
}

/// Why the next stage must not start after this result. The next stage acts on
/// findings; only work that could not be done stops the pipeline.
fn failure(result: &AgentResult) -> Option<String> {
    match result {
        AgentResult::Work(work) if !work.done => {
            Some(work.blocked_reason.as_deref().unwrap_or("the work is not done").to_owned())
        }
        AgentResult::Verification(verification) if !verification.passed => {
            Some("the verification did not pass".to_owned())
        }
        _ => None,
    }
}
