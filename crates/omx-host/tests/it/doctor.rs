//! What the doctor finds, and what it fixes.

use std::fs;

use omx_host::HostKind;
use omx_host::doctor::{
    AgentCheck, AgentReadiness, DoctorEnv, DoctorReport, FindingLevel, Fix, Installation,
    apply_fixes, run_checks,
};
use omx_ops::Context;
use omx_store::Store;

use crate::place::{HostTestProject, catalog};
use crate::setup::set_up;

fn env<'a>(place: &HostTestProject, context: &'a Context<'a>, store: &'a Store) -> DoctorEnv<'a> {
    DoctorEnv {
        context,
        store,
        installed: vec![Installation { paths: place.paths(), catalog: catalog() }],
        hosts: HostKind::ALL.to_vec(),
        agents: vec![AgentCheck {
            name: "codex".to_owned(),
            state: AgentReadiness::Ready("1".to_owned()),
        }],
        git: None,
        tmux: None,
        bubblewrap: None,
        mark: "NO_PROCESS_HAS_THIS_MARK".to_owned(),
    }
}

fn names(report: &DoctorReport, level: FindingLevel) -> Vec<&'static str> {
    report.findings.iter().filter(|one| one.level == level).map(|one| one.name).collect()
}

#[test]
fn hosts_6_an_empty_project_has_only_what_is_not_installed() {
    let place = HostTestProject::new();
    let (context, store) = (place.context(), place.store());
    let report = run_checks(&env(&place, &context, &store));
    assert_eq!(names(&report, FindingLevel::Failure), ["git"]);
    assert_eq!(names(&report, FindingLevel::Warning), ["tmux", "not_set_up"]);
    assert!(
        report
            .findings
            .iter()
            .all(|one| { (one.level == FindingLevel::Fine) == one.remedy.is_none() })
    );
    assert!(!place.project().join(".omx").exists(), "a check creates nothing");
}

#[test]
fn hosts_6_what_can_be_fixed_is_fixed_and_then_found_fine() {
    let place = HostTestProject::new();
    set_up(&place);
    let critic = place.home().join(".claude/agents/critic.md");
    fs::remove_file(&critic).unwrap();
    let state = place.project().join(".omx/state");
    fs::create_dir_all(&state).unwrap();
    fs::write(place.project().join(".omx/.gitignore"), "*\n").unwrap();
    fs::write(state.join("ralph-state.json"), "{ broken").unwrap();
    let (context, store) = (place.context(), place.store());
    let env = env(&place, &context, &store);
    let report = run_checks(&env);
    let failures = names(&report, FindingLevel::Failure);
    for name in ["unreadable", "part"] {
        assert!(failures.contains(&name), "{failures:?}");
    }
    assert!(report.fixes().contains(&Fix::SetUp) && report.fixes().contains(&Fix::SetAside));
    let done = apply_fixes(&env, &report);
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert!(critic.exists() && !state.join("ralph-state.json").exists());
    let again = names(&run_checks(&env), FindingLevel::Failure);
    assert!(!again.contains(&"unreadable") && !again.contains(&"part"), "{again:?}");
}
