//! A healthy project in which tests plant defects.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use omx_testkit::{CommandOutcome, TestProject, write_program};
use serde_json::{Value, json};

use crate::project;

/// A healthy project with its own search path, so that no agent of this machine is
/// ever called.
pub struct DoctorProject {
    pub project: TestProject,
}

impl DoctorProject {
    pub fn new() -> Self {
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

    pub fn bin(&self) -> PathBuf {
        self.project.folder().join("bin")
    }

    pub fn home(&self, path: &str, text: &str) -> PathBuf {
        let path = self.project.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn omx(&self, args: &[&str]) -> CommandOutcome {
        let bin = self.bin();
        self.project.omx_env(args, &[("PATH", bin.to_str().unwrap())])
    }

    /// Sets omx up for a host.
    pub fn set_up(&self, host: &str) -> &Self {
        let outcome = self.omx(&["setup", "--host", host]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        self
    }

    /// The doctor's report; checks that the exit code agrees.
    #[track_caller]
    pub fn report(&self, more: &[&str]) -> Value {
        let args: Vec<&str> = ["doctor", "--json"].iter().chain(more).copied().collect();
        let outcome = self.omx(&args);
        let report = outcome.json();
        let failed = report["ok"] == json!(false);
        assert_eq!(outcome.code, Some(i32::from(failed)), "{outcome:?}");
        report
    }

    /// Everything in omx's folder but the lock, which says who held it last.
    pub fn documents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut bytes = self.project.bytes(".omx");
        bytes.retain(|path, _| !path.ends_with(".lock"));
        bytes
    }

    /// Asserts that the report has this failure.
    #[track_caller]
    pub fn has(&self, area: &str, name: &str, text: &str) -> Value {
        let failures = self.failures(&[]);
        let fits = |one: &&Value| {
            let message = format!("{} {}", one["what"], one["where"]);
            one["area"] == area && one["name"] == name && message.contains(text)
        };
        let found = failures.iter().find(fits).cloned();
        found.unwrap_or_else(|| panic!("no {area}/{name} with {text} in {failures:#?}"))
    }

    /// The failures.
    #[track_caller]
    pub fn failures(&self, more: &[&str]) -> Vec<Value> {
        failures(&self.report(more))
    }

    /// Asserts that this is the only failure and that its location has this text.
    #[track_caller]
    pub fn fails(&self, area: &str, name: &str, place: &str) -> Value {
        let failures = self.failures(&[]);
        let fits = |one: &&Value| one["area"] == area && one["name"] == name;
        let found: Vec<&Value> = failures.iter().filter(fits).collect();
        assert!(!found.is_empty(), "no {area}/{name} in {failures:#?}");
        assert_eq!(found.len(), failures.len(), "{failures:#?}");
        let one = found[0].clone();
        let message = format!("{} {}", one["what"], one["where"]);
        assert!(message.contains(place), "{place} is not in {one}");
        assert!(one["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{one}");
        one
    }

    /// The same, and `--fix` repairs it permanently.
    #[track_caller]
    pub fn fails_until_fixed(&self, area: &str, name: &str, place: &str) {
        assert_eq!(self.fails(area, name, place)["fixable"], json!(true));
        let report = self.report(&["--fix"]);
        assert_eq!(failures(&report), [Value::Null; 0], "after --fix");
        assert!(!report["fixed"].as_array().unwrap().is_empty(), "{report}");
        let again = self.report(&["--fix"]);
        assert_eq!((failures(&again).len(), &again["fixed"]), (0, &json!([])));
    }

    /// The same, and `--fix` leaves it to the person.
    #[track_caller]
    pub fn fails_for_good(&self, area: &str, name: &str, place: &str) {
        assert_eq!(self.fails(area, name, place)["fixable"], json!(false));
        let before = self.documents();
        assert_eq!(self.failures(&["--fix"]).len(), self.failures(&[]).len());
        assert!(self.documents() == before, "--fix changed something");
    }

    #[track_caller]
    pub fn warns(&self, area: &str, name: &str) {
        let report = self.report(&[]);
        let all = report["findings"].as_array().unwrap();
        let fits = |one: &&Value| one["area"] == area && one["name"] == name;
        let found = all.iter().find(fits).unwrap_or_else(|| panic!("{report:#}"));
        assert_eq!(found["level"], "warning");
        assert!(found["fix"].is_string());
        assert_eq!(failures(&report).len(), 0, "{report:#}");
    }
}

pub fn failures(report: &Value) -> Vec<Value> {
    let all = report["findings"].as_array().unwrap().iter();
    all.filter(|one| one["level"] == "failed").cloned().collect()
}

pub fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found.find(|path| path.is_file()).unwrap_or_else(|| panic!("{name} is not installed"))
}

pub fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
}
