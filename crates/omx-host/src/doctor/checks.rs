//! All checks in the order in which they are told.

use super::env::DoctorEnv;
use super::finding::DoctorReport;
use super::{agents, config, hooks, leftovers, server, setup, state, store, tools};

/// Examines everything. Nothing is changed; a missing folder is not made.
pub fn run_checks(env: &DoctorEnv<'_>) -> DoctorReport {
    let mut findings = agents::check(env);
    findings.extend(tools::check(env));
    findings.extend(config::check(env));
    findings.extend(store::check(env));
    findings.extend(state::check(env));
    findings.extend(setup::check(env));
    findings.extend(hooks::check(env));
    findings.extend(server::check(env));
    findings.extend(leftovers::check(env));
    DoctorReport { findings }
}
