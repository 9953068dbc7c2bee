//! All checks, in the order of the report.

use super::env::DoctorEnv;
use super::finding::DoctorReport;
use super::{agents, config, hooks, leftovers, server, setup, state, store, tools};

/// Runs all checks. Changes nothing, and creates no missing folder.
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
