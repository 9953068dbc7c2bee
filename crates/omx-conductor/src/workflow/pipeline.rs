//! Runs one stage after another, each with the results of the stages before it.

use omx_agents::results::{AgentResult, ResultKind, ReviewKind};
use omx_kernel::{Mode, Refusal};
use omx_runs::StepKey;
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
        let mut before: Vec<StepKey> = Vec::new();
        let mut results = serde_json::Map::new();
        for (number, stage) in stages.iter().enumerate() {
            if number > 0 {
                // The autopilot preset uses phase names without the `stage:` prefix.
                let phase = match is_autopilot {
                    true => stage.name.clone(),
                    false => format!("stage:{}", stage.name),
                };
                self.write(
                    PIPELINE,
                    json!({
                        "current_phase": phase,
                        "stage_results": Value::Object(results.clone()),
                    }),
                )?;
            }
            let agent = AgentStep {
                role: stage.role.clone(),
                model: stage.model.clone(),
                purpose: StepPurpose::Stage { number, before: before.clone() },
                wants: wanted(&stage.role),
            };
            let name = format!("stage{}", number + 1);
            let result = self.agent(&name, PIPELINE, agent)?;
            if let Some(reason) = failure(&result) {
                return self.fail(PIPELINE, &format!("stage {} failed: {reason}", stage.name));
            }
            results.insert(stage.name.clone(), summarize(&result));
            before.push(self.key(&name));
        }
        self.write(
            PIPELINE,
            json!({"current_phase": "complete", "stage_results": Value::Object(results)}),
        )?;
        Ok(WorkflowEnd::Complete(format!("All {} stages are done.", stages.len())))
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
