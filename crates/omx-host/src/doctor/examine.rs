//! All checks in the order in which they are told.

use super::finding::Report;
use super::patient::Patient;
use super::{agents, config, hooks, leftovers, server, setup, state, store, tools};

/// Examines everything. Nothing is changed; a missing folder is not made.
pub fn examine(patient: &Patient<'_>) -> Report {
    let mut findings = agents::check(patient);
    findings.extend(tools::check(patient));
    findings.extend(config::check(patient));
    findings.extend(store::check(patient));
    findings.extend(state::check(patient));
    findings.extend(setup::check(patient));
    findings.extend(hooks::check(patient));
    findings.extend(server::check(patient));
    findings.extend(leftovers::check(patient));
    Report { findings }
}
