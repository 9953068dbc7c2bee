//! hosts.md 6: faults are planted one by one; each is named with a place and a
//! way out, and those that are safe to mend are mended.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use omx_testkit::{Outcome, Project, await_condition, write_program};
use serde_json::{Value, json};

use crate::project;

/// A project in which everything works, with its own search path: no agent of
/// this machine is ever called.
struct Clinic {
    project: Project,
}

impl Clinic {
    fn new() -> Self {
        let clinic = Self { project: project() };
        clinic.project.git();
        let bin = clinic.bin();
        fs::create_dir(&bin).unwrap();
        for name in ["git", "tmux", "sh", "cat", "sleep", "env"] {
            symlink(on_path(name), bin.join(name)).unwrap();
        }
        write_program(&bin.join("codex"), "#!/bin/sh\necho codex-cli 0.98.0\n");
        clinic.home(".codex/auth.json", "{}");
        clinic.project.put(json!({"mode": "ralph", "active": true, "session_id": "s1"}));
        clinic
    }

    fn bin(&self) -> PathBuf {
        self.project.folder().join("bin")
    }

    fn home(&self, path: &str, text: &str) -> PathBuf {
        let path = self.project.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn omx(&self, args: &[&str]) -> Outcome {
        let bin = self.bin();
        self.project.omx_env(args, &[("PATH", bin.to_str().unwrap())])
    }

    /// Sets omx up for a host.
    fn set_up(&self, host: &str) -> &Self {
        let outcome = self.omx(&["setup", "--host", host]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        self
    }

    /// What the doctor says; its exit code must fit.
    #[track_caller]
    fn examined(&self, more: &[&str]) -> Value {
        let args: Vec<&str> = ["doctor", "--json"].iter().chain(more).copied().collect();
        let outcome = self.omx(&args);
        let report = outcome.json();
        let failed = report["ok"] == json!(false);
        assert_eq!(outcome.code, Some(i32::from(failed)), "{outcome:?}");
        report
    }

    /// The failures, without those that the program cannot help yet.
    #[track_caller]
    fn failures(&self, more: &[&str]) -> Vec<Value> {
        failures(&self.examined(more))
    }

    /// That this and nothing else is a failure; its place holds this text.
    #[track_caller]
    fn fails(&self, area: &str, name: &str, place: &str) -> Value {
        let failures = self.failures(&[]);
        let fits = |one: &&Value| one["area"] == area && one["name"] == name;
        let found: Vec<&Value> = failures.iter().filter(fits).collect();
        assert!(!found.is_empty(), "no {area}/{name} in {failures:#?}");
        assert_eq!(found.len(), failures.len(), "{failures:#?}");
        let one = found[0].clone();
        let said = format!("{} {}", one["what"], one["where"]);
        assert!(said.contains(place), "{place} is not in {one}");
        assert!(one["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{one}");
        one
    }

    /// The same, and `--fix` mends it for good.
    #[track_caller]
    fn fails_until_mended(&self, area: &str, name: &str, place: &str) {
        assert_eq!(self.fails(area, name, place)["mendable"], json!(true));
        let report = self.examined(&["--fix"]);
        assert_eq!(failures(&report), [Value::Null; 0], "after --fix");
        assert!(!report["mended"].as_array().unwrap().is_empty(), "{report}");
        let again = self.examined(&["--fix"]);
        assert_eq!((failures(&again).len(), &again["mended"]), (0, &json!([])));
    }

    /// The same, and `--fix` leaves it to the person.
    #[track_caller]
    fn fails_for_good(&self, area: &str, name: &str, place: &str) {
        assert_eq!(self.fails(area, name, place)["mendable"], json!(false));
        let before = self.project.bytes("");
        assert_eq!(self.failures(&["--fix"]).len(), self.failures(&[]).len());
        assert_eq!(self.project.bytes(""), before);
    }

    #[track_caller]
    fn warns(&self, area: &str, name: &str) {
        let report = self.examined(&[]);
        let all = report["findings"].as_array().unwrap();
        let fits = |one: &&Value| one["area"] == area && one["name"] == name;
        let found = all.iter().find(fits).unwrap_or_else(|| panic!("{report:#}"));
        assert_eq!(found["level"], "warning");
        assert!(found["fix"].is_string());
        assert_eq!(failures(&report).len(), 0, "{report:#}");
    }
}

fn failures(report: &Value) -> Vec<Value> {
    let all = report["findings"].as_array().unwrap().iter();
    all.filter(|one| one["level"] == "failed").cloned().collect()
}

fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found.find(|path| path.is_file()).unwrap_or_else(|| panic!("{name} is not installed"))
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
}

#[test]
fn hosts_6_where_everything_works_nothing_is_found_and_nothing_changed() {
    let clinic = Clinic::new();
    let before = clinic.project.bytes("");
    let report = clinic.examined(&[]);
    assert_eq!((failures(&report).len(), &report["ok"]), (0, &json!(true)), "{report:#}");
    assert_eq!(clinic.examined(&["--fix"])["mended"], json!([]));
    let mut after = clinic.project.bytes("");
    // The lock says who held it last.
    let lock = before.keys().find(|path| path.ends_with(".lock")).unwrap().clone();
    after.insert(lock.clone(), before[&lock].clone());
    assert_eq!(after, before);
}

#[test]
fn hosts_6_a_project_without_omx_stays_without() {
    let clinic = Clinic::new();
    fs::remove_dir_all(clinic.project.root().join(".omx")).unwrap();
    assert_eq!(clinic.failures(&["--fix"]).len(), 0);
    assert!(!clinic.project.root().join(".omx").exists());
}

#[test]
fn hosts_6_agents_are_looked_for() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.project.home().join(".codex/auth.json")).unwrap();
    clinic.fails_for_good("agents", "no_agent", "no agent can work");
    fs::remove_file(clinic.bin().join("codex")).unwrap();
    clinic.fails_for_good("agents", "no_agent", "no agent can work");
}

#[test]
fn hosts_6_an_agent_that_is_wanted_and_not_there() {
    let clinic = Clinic::new();
    clinic.home(".config/omx/config.toml", "agent = \"gemini\"\n");
    clinic.fails_for_good("agents", "configured_agent", "gemini");
}

#[test]
fn hosts_6_git_is_looked_for() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.bin().join("git")).unwrap();
    clinic.fails_for_good("tools", "git", "not installed");
    write_program(&clinic.bin().join("git"), "#!/bin/sh\necho git version 2.9.1\n");
    clinic.fails_for_good("tools", "git", "2.9.1 is too old");
    write_program(&clinic.bin().join("git"), "#!/bin/sh\nexit 1\n");
    clinic.fails_for_good("tools", "git", "bin/git");
}

#[test]
fn hosts_6_git_must_know_the_person() {
    let clinic = Clinic::new();
    let mut command = clinic.project.omx_command(&["doctor", "--json"]);
    for name in ["AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"] {
        command.env_remove(format!("GIT_{name}"));
    }
    let outcome: Outcome = command.env("PATH", clinic.bin()).output().unwrap().into();
    let failures = failures(&outcome.json());
    assert_eq!(outcome.code, Some(1));
    assert_eq!((failures.len(), &failures[0]["name"]), (1, &json!("git_identity")));
    assert!(failures[0]["fix"].as_str().unwrap().contains("git config --global user.email"));
}

#[test]
fn hosts_6_tmux_is_wanted_for_teams_only() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.bin().join("tmux")).unwrap();
    clinic.warns("tools", "tmux");
}

#[test]
fn hosts_6_a_broken_configuration_is_named_with_its_line() {
    let clinic = Clinic::new();
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
fn hosts_6_a_store_that_is_no_folder() {
    let clinic = Clinic::new();
    let state = clinic.project.state("");
    fs::remove_dir_all(&state).unwrap();
    fs::write(clinic.project.root().join(".omx/state"), "").unwrap();
    clinic.fails("store", "store", ".omx/state");
    fs::remove_file(clinic.project.root().join(".omx/state")).unwrap();
    symlink(clinic.project.home(), clinic.project.root().join(".omx/state")).unwrap();
    clinic.fails("store", "store", ".omx/state");
}

#[test]
fn hosts_6_a_lock_that_is_held_names_its_holder() {
    let clinic = Clinic::new();
    let lock = fs::File::options().write(true).open(clinic.project.state(".lock")).unwrap();
    lock.lock().unwrap();
    clinic.fails("store", "lock", "held by");
}

#[test]
fn hosts_6_files_git_would_show() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.project.root().join(".omx/.gitignore")).unwrap();
    clinic.fails_until_mended("store", "gitignore", ".omx/.gitignore");
}

#[test]
fn state_4_4_an_unreadable_document_is_moved_aside() {
    let clinic = Clinic::new();
    let path = clinic.project.session("s2", "autopilot-state.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"mode\":\"autopi").unwrap();
    clinic.fails_until_mended("state", "unreadable", "s2/autopilot-state.json");
    assert!(!path.exists());
    clinic.warns("state", "quarantine");
}

#[test]
fn state_4_5_a_link_in_place_of_a_document_is_left() {
    let clinic = Clinic::new();
    let path = clinic.project.state("team-state.json");
    symlink(clinic.project.home(), &path).unwrap();
    clinic.fails("state", "unreadable", "team-state.json");
    clinic.examined(&["--fix"]);
    assert!(path.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn hosts_6_a_session_that_is_no_folder() {
    let clinic = Clinic::new();
    fs::write(clinic.project.state("sessions/s9"), "").unwrap();
    clinic.fails_for_good("state", "stray", "sessions/s9");
}

#[test]
fn state_2_3_a_document_that_contradicts_itself() {
    let clinic = Clinic::new();
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
    let clinic = Clinic::new();
    let path = clinic.project.session("s1", "ralph-state.json");
    let old = "2020-01-01T00:00:00Z";
    edit(&path, |document| {
        document["started_at"] = json!(old);
        document["updated_at"] = json!(old);
    });
    let _ = fs::remove_dir_all(clinic.project.state(".activity"));
    clinic.warns("state", "stale");
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
    let clinic = Clinic::new();
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
