//! The hash of a step's input. If it differs on a resume, the journal does not match
//! what the run would do now.

use std::fmt::Write as _;

use omx_runs::RunSpec;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::workflow::{CompletedSteps, JobStep, Step, StepKind};

/// Hashes everything that determines what a step does: the task, the role, the
/// purpose, and the results it reads. The wording of prompts is not included, nor is
/// the seat: a resumed run may continue with another model.
pub fn input_hash(spec: &RunSpec, completed: &CompletedSteps, step: &Step) -> String {
    let read = |key| completed.get(key).map(|done| &done.result);
    let input = match &step.kind {
        StepKind::Agent(agent) => {
            let input = AgentInput {
                purpose: serde_json::to_value(&agent.purpose).unwrap_or_default(),
                reads: agent.purpose.reads().into_iter().map(read).collect(),
                role: &agent.role,
                task: spec.task.raw(),
                wants: agent.wants.as_str(),
            };
            serde_json::to_string(&input).unwrap_or_default()
        }
        StepKind::Check => return check_input(spec),
        StepKind::Job(JobStep::KeepPlan(plan)) => json!({"keep": read(plan)}).to_string(),
    };
    short_hash(&input)
}

/// Hashes what determines a check.
pub fn check_input(spec: &RunSpec) -> String {
    short_hash(&json!({"check": spec.check}).to_string())
}

/// The input of an agent step. The hash covers its serialized text, so the
/// alphabetical order of the fields is part of the format.
#[derive(Serialize)]
struct AgentInput<'a> {
    purpose: Value,
    reads: Vec<Option<&'a Value>>,
    role: &'a str,
    task: &'a str,
    wants: &'a str,
}

/// The first 16 bytes of a SHA-256 hash, in hexadecimal.
pub fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(16).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
