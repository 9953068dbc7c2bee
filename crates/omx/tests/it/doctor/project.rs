//! hosts.md 6 for the project and its environment: tests plant one defect at a
//! time; each is named with a location and a remedy, and those that are safe to fix
//! are fixed.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};
use std::time::Duration;

use omx_kernel::{Dialect, RunId};
use omx_store::runs::LockHolder;
use omx_store::{ProjectSearch, Store, find_project};
use omx_testkit::{CommandOutcome, await_condition, write_program};
use serde_json::json;

use super::kit::{DoctorProject, edit, failures, on_path};

#[test]
fn hosts_6_a_healthy_project_has_no_findings_and_stays_unchanged() {
    let clinic = DoctorProject::new();
    let before = clinic.documents();
    let report = clinic.report(&[]);
    assert_eq!((failures(&report).len(), &report["ok"]), (0, &json!(true)), "{report:#}");
    assert_eq!(clinic.report(&["--fix"])["fixed"], json!([]));
    assert!(clinic.documents() == before, "a look changed something");
}

#[test]
fn hosts_6_a_project_without_omx_stays_untouched() {
    let clinic = DoctorProject::new();
    fs::remove_dir_all(clinic.project.root().join(".omx")).unwrap();
    assert_eq!(clinic.failures(&["--fix"]).len(), 0);
    assert!(!clinic.project.root().join(".omx").exists());
}

#[test]
fn hosts_6_agents_are_checked() {
    let clinic = DoctorProject::new();
    fs::remove_file(clinic.project.home().join(".codex/auth.json")).unwrap();
    clinic.fails_for_good("agents", "no_agent", "no agent is ready");
    fs::remove_file(clinic.bin().join("codex")).unwrap();
    clinic.fails_for_good("agents", "no_agent", "no agent is ready");
}

#[test]
fn hosts_6_a_configured_agent_that_is_missing() {
    let clinic = DoctorProject::new();
    clinic.home(".config/omx/config.toml", "agent = \"gemini\"\n");
    clinic.fails_for_good("agents", "configured_agent", "gemini");
}

#[test]
fn hosts_6_git_is_checked() {
    let clinic = DoctorProject::new();
    fs::remove_file(clinic.bin().join("git")).unwrap();
    clinic.fails_for_good("tools", "git", "not installed");
    write_program(&clinic.bin().join("git"), "#!/bin/sh\necho git version 2.9.1\n");
    clinic.fails_for_good("tools", "git", "2.9.1 is too old");
    write_program(&clinic.bin().join("git"), "#!/bin/sh\nexit 1\n");
    clinic.fails_for_good("tools", "git", "bin/git");
}

#[test]
fn hosts_6_git_needs_a_user_name_and_email() {
    let clinic = DoctorProject::new();
    let mut command = clinic.project.omx_command(&["doctor", "--json"]);
    for name in ["AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"] {
        command.env_remove(format!("GIT_{name}"));
    }
    let outcome: CommandOutcome = command.env("PATH", clinic.bin()).output().unwrap().into();
    let failures = failures(&outcome.json());
    assert_eq!(outcome.code, Some(1));
    assert_eq!((failures.len(), &failures[0]["name"]), (1, &json!("git_identity")));
    assert!(failures[0]["fix"].as_str().unwrap().contains("git config --global user.email"));
}

#[test]
fn hosts_6_tmux_is_needed_for_teams_only() {
    let clinic = DoctorProject::new();
    fs::remove_file(clinic.bin().join("tmux")).unwrap();
    clinic.warns("tools", "tmux");
}

#[test]
fn hosts_6_a_broken_configuration_is_named_with_its_line() {
    let clinic = DoctorProject::new();
    let user = clinic.home(".config/omx/config.toml", "agent = \"codex\"\nallow = \n");
    clinic.fails_for_good("config", "config", "config.toml:2");
    fs::remove_file(user).unwrap();
    let project = clinic.project.write(".omx-config.json", "{\n  \"allow\": \"edits\",\n  !\n}\n");
    clinic.fails_for_good("config", "config", ".omx-config.json:3");
    fs::remove_file(project).unwrap();
    clinic.project.write(".omx/config.toml", "\nkeyword = \"off\"\n");
    clinic.fails_for_good("config", "config", "keywords");
}

#[test]
fn hosts_6_a_store_that_is_not_a_folder() {
    let clinic = DoctorProject::new();
    let state = clinic.project.state("");
    fs::remove_dir_all(&state).unwrap();
    fs::write(clinic.project.root().join(".omx/state"), "").unwrap();
    clinic.fails("store", "store", ".omx/state");
    fs::remove_file(clinic.project.root().join(".omx/state")).unwrap();
    symlink(clinic.project.home(), clinic.project.root().join(".omx/state")).unwrap();
    clinic.fails("store", "store", ".omx/state");
}

#[test]
fn hosts_6_a_held_lock_names_its_holder() {
    let clinic = DoctorProject::new();
    let lock = fs::File::options().write(true).open(clinic.project.state(".lock")).unwrap();
    lock.lock().unwrap();
    clinic.fails("store", "lock", "held by");
}

#[test]
fn hosts_6_files_that_git_would_list() {
    let clinic = DoctorProject::new();
    fs::remove_file(clinic.project.root().join(".omx/.gitignore")).unwrap();
    clinic.fails_until_fixed("store", "gitignore", ".omx/.gitignore");
}

#[test]
fn state_4_4_an_unreadable_document_is_quarantined() {
    let clinic = DoctorProject::new();
    let path = clinic.project.session("s2", "autopilot-state.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"mode\":\"autopi").unwrap();
    clinic.fails_until_fixed("state", "unreadable", "s2/autopilot-state.json");
    assert!(!path.exists());
    clinic.warns("state", "quarantine");
}

#[test]
fn state_4_5_a_link_in_place_of_a_document_is_left_alone() {
    let clinic = DoctorProject::new();
    let path = clinic.project.state("team-state.json");
    symlink(clinic.project.home(), &path).unwrap();
    clinic.fails("state", "unreadable", "team-state.json");
    clinic.report(&["--fix"]);
    assert!(path.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn hosts_6_a_session_that_is_not_a_folder() {
    let clinic = DoctorProject::new();
    fs::write(clinic.project.state("sessions/s9"), "").unwrap();
    clinic.fails_for_good("state", "stray", "sessions/s9");
}

#[test]
fn state_2_3_a_document_that_contradicts_itself() {
    let clinic = DoctorProject::new();
    let path = clinic.project.session("s1", "ralph-state.json");
    edit(&path, |document| document["run_outcome"] = json!("failed"));
    clinic.fails_for_good("state", "contradiction", "s1/ralph-state.json");
    edit(&path, |document| {
        document["run_outcome"] = json!("continue");
        document["session_id"] = json!("other");
    });
    clinic.fails_for_good("state", "contradiction", "another session");
    edit(&path, |document| {
        document["session_id"] = json!("s1");
        document["iteration"] = json!(51);
    });
    clinic.fails_for_good("state", "contradiction", "iteration 51 of 50");
}

#[test]
fn state_2_5_a_stale_document_is_a_warning() {
    let clinic = DoctorProject::new();
    let path = clinic.project.session("s1", "ralph-state.json");
    let old = "2020-01-01T00:00:00Z";
    edit(&path, |document| {
        document["started_at"] = json!(old);
        document["updated_at"] = json!(old);
    });
    let _ = fs::remove_dir_all(clinic.project.state(".activity"));
    clinic.warns("state", "stale");
}

/// The store of the project, as the program itself has it.
fn store(clinic: &DoctorProject) -> Store {
    let root = clinic.project.root();
    let found = find_project(ProjectSearch {
        working_directory: &root,
        home: None,
        root: Some(&root),
        state_dir: None,
        dialect: Dialect::OMX,
    });
    Store::new(found.unwrap())
}

#[test]
fn hosts_6_a_run_that_was_killed() {
    let clinic = DoctorProject::new();
    let id = RunId::new("0199a000-0000-7000-8000-000000000001").unwrap();
    let locked = store(&clinic).lock(Duration::from_secs(30), "test").unwrap();
    let run = locked.create_run(&id, &json!({}), &LockHolder::this_process()).unwrap();
    drop(locked);
    clinic.project.put(json!({"mode": "ralplan", "active": true, "session_id": id.as_str()}));
    assert_eq!(clinic.failures(&[]).len(), 0, "it is alive");
    drop(run);
    clinic.fails_for_good("leftovers", "dead_run", id.as_str());
    clinic.omx(&["cancel", "--session-id", id.as_str()]);
    assert_eq!(clinic.failures(&[]).len(), 0);
}

/// Ends a process the test started.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn hosts_6_a_process_that_outlived_its_run() {
    let clinic = DoctorProject::new();
    let mut command = clinic.project.command(on_path("sleep"));
    let child = command.arg("600").env("OMX_WORKER", "w1").stdout(Stdio::null()).spawn().unwrap();
    let started = Started(child);
    let environment = format!("/proc/{}/environ", started.0.id());
    await_condition("the process has begun", Duration::from_secs(20), || {
        let text = fs::read(&environment).unwrap_or_default();
        String::from_utf8_lossy(&text).contains("OMX_WORKER=w1")
    });
    clinic.fails_for_good("leftovers", "orphan", &started.0.id().to_string());
    drop(started);
    assert_eq!(clinic.failures(&[]).len(), 0);
}

/// A remedy is a command that the person can type, so it carries the name under which
/// they called the program.
#[test]
fn hosts_6_under_the_name_omc_every_message_names_omc() {
    let clinic = DoctorProject::new();
    let omc = clinic.bin().join("omc");
    symlink(clinic.project.binary(), &omc).unwrap();
    let call = |args: &[&str]| {
        let mut command = clinic.project.command(&omc);
        command.args(args).env("PATH", clinic.bin());
        CommandOutcome::from(command.output().unwrap())
    };
    let start = r#"{"mode":"ralph","active":true,"session_id":"s1"}"#;
    assert_eq!(call(&["state", "write", "--input", start]).code, Some(0));
    clinic.project.write(".omc/state/sessions/s1/ultrawork-state.json", "{");
    fs::remove_file(clinic.project.root().join(".omc/.gitignore")).unwrap();
    let doctor = call(&["doctor"]);
    for remedy in ["run omc doctor --fix", "omc doctor --fix moves it", "omc setup"] {
        assert!(doctor.stdout.contains(remedy), "{remedy}: {doctor:?}");
    }
    let folder = clinic.project.folder().to_str().unwrap().to_owned();
    for args in [
        &["doctor"][..],
        &["status"],
        &["runs"],
        &["runs", "show", "nope"],
        &["ralph", "--resume", "nope"],
        &["cancel", "--mode", "nope"],
        &["uninstall"],
        &["launch", "claude"],
    ] {
        let outcome = call(args);
        let text = format!("{}{}", outcome.stdout, outcome.stderr).replace(&folder, "");
        assert!(!text.contains("omx"), "{args:?}: {text}");
    }
}
