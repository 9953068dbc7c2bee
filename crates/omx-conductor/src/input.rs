//! The hash of a step's input. If it differs at a resume, the journal belongs to
//! a run that would now do something else.

use std::fmt::Write as _;

use omx_runs::RunSpec;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::workflow::{CompletedSteps, JobStep, Step, StepKind};

/// The hash of everything that decides what a step does: the task, the role, the
/// purpose, and the results it reads. The wording of prompts is not part of it,
/// nor is the seat: a resumed run may continue with another model.
pub fn input_hash(spec: &RunSpec, completed: &CompletedSteps, step: &Step) -> String {
    let read = |key| completed.get(key).map(|done| &done.result);
    let input = match &step.kind {
        StepKind::Agent(agent) => {
            let reads: Vec<_> = agent.purpose.reads().into_iter().map(read).collect();
            json!({
                "task": spec.task,
                "role": agent.role,
                "purpose": agent.purpose,
                "wants": agent.wants.as_str(),
                "reads": reads,
            })
        }
        StepKind::Check => json!({"check": spec.check}),
        StepKind::Job(JobStep::KeepPlan(plan)) => json!({"keep": read(plan)}),
    };
    short_hash(&input.to_string())
}

/// The first 16 bytes of a SHA-256, in hexadecimal.
pub fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(16).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
