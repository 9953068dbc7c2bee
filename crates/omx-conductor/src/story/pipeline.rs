//! Stage after stage, each with the results of those before.

use omx_agents::results::{AgentResult, ResultKind, ReviewKind};
use omx_kernel::{Mode, Refusal};
use serde_json::{Value, json};

use super::{End, Errand, Halt, Purpose, StepKey, Story, Tale};

const PIPELINE: Mode = Mode::Pipeline;

impl Story<'_> {
    pub(super) fn pipeline(&mut self) -> Tale<End> {
        let stages = self.asked.stages.clone();
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
                // The preset that is autopilot's has its bare names.
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
            let errand = Errand {
                role: stage.role.clone(),
                model: stage.model.clone(),
                purpose: Purpose::Stage { number, before: before.clone() },
                wants: wanted(&stage.role),
            };
            let name = format!("stage{}", number + 1);
            let result = self.errand(&name, PIPELINE, errand)?;
            if let Some(reason) = failure(&result) {
                return self.fail(PIPELINE, &format!("stage {} failed: {reason}", stage.name));
            }
            results.insert(stage.name.clone(), in_short(&result));
            before.push(self.key(&name));
        }
        self.write(
            PIPELINE,
            json!({"current_phase": "complete", "stage_results": Value::Object(results)}),
        )?;
        Ok(End::Complete(format!("All {} stages are done.", stages.len())))
    }
}

/// What a role answers with in a stage.
fn wanted(role: &str) -> ResultKind {
    match role {
        "planner" | "analyst" => ResultKind::Plan,
        "architect" => ResultKind::Review(ReviewKind::Architect),
        "critic" => ResultKind::Review(ReviewKind::Critic),
        "verifier" | "qa-tester" => ResultKind::Verification,
        _ => ResultKind::Work,
    }
}

/// A result as the document keeps it: long ones of many stages would not fit
/// into one. The whole is in the journal.
fn in_short(result: &AgentResult) -> Value {
    match result {
        AgentResult::Plan(plan) => json!({"title": plan.title(), "summary": plan.summary()}),
        AgentResult::Review(review) => json!({
            "verdict": review.verdict().as_str(),
            "findings": review.findings().len(),
            "summary": review.summary(),
        }),
        AgentResult::Work(work) => json!({"done": work.done(), "summary": work.summary()}),
        AgentResult::Verification(verification) => json!({
            "passed": verification.passed(),
            "findings": verification.findings().len(),
        }),
    }
}

/// Why a stage's result means that the next must not begin. Words of review
/// are for the next stage to heed; only what could not be done stops the line.
fn failure(result: &AgentResult) -> Option<String> {
    match result {
        AgentResult::Work(work) if !work.done() => {
            Some(work.blocked_reason().unwrap_or("it says that it is not done").to_owned())
        }
        AgentResult::Verification(verification) if !verification.passed() => {
            Some("the verification did not pass".to_owned())
        }
        _ => None,
    }
}
