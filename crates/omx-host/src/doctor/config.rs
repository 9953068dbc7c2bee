//! Checks that the configuration is valid.

use omx_ops::config;

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding};

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    match config::load(env.context, env.store) {
        Ok(_) => {
            vec![DoctorFinding::fine(CheckArea::Config, "config", "the configuration is valid")]
        }
        Err(refusal) => {
            let fix = "correct the line named above; omx config schema lists the keys";
            vec![DoctorFinding::failure(CheckArea::Config, "config", refusal.message, fix)]
        }
    }
}
