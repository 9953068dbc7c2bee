//! Checks that the configuration is valid.

use omx_ops::config;

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding};

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    match config::load(env.context, env.store) {
        Ok(config) if !config.waiting.is_empty() => {
            let what = "parts of this project's configuration wait for your trust";
            let fix = format!("{} trust", env.context.dialect.name);
            vec![DoctorFinding::warning(CheckArea::Config, "config", what, fix)]
        }
        Ok(_) => {
            vec![DoctorFinding::fine(CheckArea::Config, "config", "the configuration is valid")]
        }
        Err(refusal) => {
            let program = env.program();
            let fix =
                format!("correct the line named above; {program} config schema lists the keys");
            vec![DoctorFinding::failure(CheckArea::Config, "config", refusal.message, fix)]
        }
    }
}
