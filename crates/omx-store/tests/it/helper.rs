//! A second process that works on a run: this test binary itself, started again with one
//! command, so that it can be killed or its system calls can be made to fail.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use omx_kernel::RunId;
use omx_store::runs::{LockHolder, RunAcquisition};
use serde_json::{Value, json};

use crate::stage::{StoreFixture, at, run_id, store_of};

/// The command: what to do, in which project, with which run, and the file that receives
/// everything that was acknowledged, one line each.
const COMMAND: &str = "STORE_TEST_COMMAND";

pub struct HelperCommand<'a> {
    pub action: &'a str,
    pub root: &'a Path,
    pub run: &'a RunId,
    pub notes: &'a Path,
}

impl HelperCommand<'_> {
    /// The process, not yet started. `under` is a program that starts it.
    pub fn command(&self, under: &[&str]) -> Command {
        let text = json!([self.action, self.root, self.run, self.notes]).to_string();
        let program = std::env::current_exe().unwrap();
        let mut command = match under {
            [] => Command::new(&program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(&program);
                command
            }
        };
        command
            .args(["--exact", "helper::a_second_process_acknowledges_what_it_did"])
            .arg("--test-threads=1")
            .env(COMMAND, text)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// What has been acknowledged so far.
    pub fn acknowledged(&self) -> Vec<String> {
        let text = fs::read_to_string(self.notes).unwrap_or_default();
        // An incomplete line was being written when the helper was killed.
        text.split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
            .map(str::to_owned)
            .collect()
    }
}

/// Starts itself as a second process and checks what that process acknowledges. Other
/// tests start the second process in the same way.
#[test]
fn a_second_process_acknowledges_what_it_did() {
    if let Ok(command) = std::env::var(COMMAND) {
        return run_command(&command);
    }
    let stage = StoreFixture::new();
    let run = run_id(1);
    drop(stage.create(&run));
    let notes = stage.folder.path().join("notes");
    let root = stage.store.root();
    let helper = HelperCommand { action: "append 5", root, run: &run, notes: &notes };
    assert!(helper.command(&[]).status().unwrap().success());
    let sequence: Vec<String> = stage
        .acquired(&run)
        .entries::<Value>()
        .unwrap()
        .iter()
        .map(|it| it.seq.to_string())
        .collect();
    assert_eq!(sequence.len(), 5);
    assert_eq!(helper.acknowledged(), sequence);
}

fn run_command(command: &str) {
    let (action, root, run, notes): (String, std::path::PathBuf, RunId, std::path::PathBuf) =
        serde_json::from_str(command).unwrap();
    let mut notes = OpenOptions::new().create(true).append(true).open(notes).unwrap();
    let mut note = |line: String| notes.write_all(format!("{line}\n").as_bytes()).unwrap();
    let store = store_of(&root);
    let holder = LockHolder::this_process();
    if action == "create" {
        let made = store
            .lock(Duration::from_secs(5), "test")
            .and_then(|locked| locked.create_run(&run, &json!({}), &holder).map(drop));
        return note(made.map_or_else(|error| error.to_string(), |()| "created".to_owned()));
    }
    let mut held = match store.acquire_run(&run, &holder).unwrap() {
        RunAcquisition::Acquired(held) => held,
        other => return note(format!("{other:?}")),
    };
    match action.as_str() {
        "hold" => {
            note("held".to_owned());
            // Long enough to be killed, but not forever if no test does.
            std::thread::sleep(Duration::from_secs(60));
        }
        "append 5" => {
            for number in 0..5 {
                let done = held.journal().append(at(number), &json!([number, "x".repeat(1000)]));
                note(done.map_or_else(|error| error.to_string(), |seq| seq.to_string()));
            }
        }
        "append" => {
            for number in 0..1_000_000 {
                let text = "x".repeat(usize::try_from(number * 37 % 9_000).unwrap());
                let seq = held.journal().append(at(number), &json!({"text": text})).unwrap();
                note(seq.to_string());
            }
        }
        other => panic!("unknown action {other}"),
    }
}
