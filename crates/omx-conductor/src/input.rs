//! What a step is given, as a hash: if it differs at a resume, the journal
//! tells of another run than this one would be.

use std::fmt::Write as _;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::story::{Past, Step, Work};
use omx_runs::spec::RunSpec;

/// The hash of all that decides what a step does: the task, who does it, what
/// for, and the results it reads. Wording is not part of it.
pub fn input_hash(asked: &RunSpec, past: &Past, step: &Step) -> String {
    let what = match &step.work {
        Work::Errand(errand) => {
            let read = |key| past.get(key).map(|finished| &finished.result);
            let reads: Vec<_> = errand.purpose.reads().into_iter().map(read).collect();
            json!({
                "task": asked.task,
                "role": errand.role,
                "purpose": errand.purpose,
                "wants": errand.wants.as_str(),
                "reads": reads,
            })
        }
        Work::Check => json!({"check": asked.check}),
        Work::KeepPlan(plan) => json!({"keep": past.get(plan).map(|finished| &finished.result)}),
    };
    short_hash(&what.to_string())
}

/// The first 16 bytes of a SHA-256, in hexadecimal.
pub fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(16).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
