//! Whether the configuration can be read: all of it, and nothing unknown in it.

use omx_ops::config;

use super::finding::{Area, Finding};
use super::patient::Patient;

pub(super) fn check(patient: &Patient<'_>) -> Vec<Finding> {
    match config::load(patient.context, patient.store) {
        Ok(_) => vec![Finding::fine(Area::Config, "config", "the configuration is in order")],
        Err(refusal) => {
            let fix = "change the line it names; omx config schema tells what is known";
            vec![Finding::failure(Area::Config, "config", refusal.message, fix)]
        }
    }
}
