//! Whether the configuration can be read: all of it, and nothing unknown in it.

use omx_ops::config;

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding};

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    match config::load(env.context, env.store) {
        Ok(_) => {
            vec![DoctorFinding::fine(CheckArea::Config, "config", "the configuration is in order")]
        }
        Err(refusal) => {
            let fix = "change the line it names; omx config schema tells what is known";
            vec![DoctorFinding::failure(CheckArea::Config, "config", refusal.message, fix)]
        }
    }
}
