//! Another process that works on a run: this test program itself, started once
//! more with one order, so that it can be killed or refused by the kernel.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use omx_kernel::RunId;
use omx_store::runs::{LockHolder, RunAcquisition};
use serde_json::json;

use crate::stage::{at, store_of};

/// The order: what to do, in which project, with which run, and the file in
/// which everything that was acknowledged is noted, one line each.
const ORDER: &str = "STORE_TEST_ORDER";

pub struct Order<'a> {
    pub what: &'a str,
    pub root: &'a Path,
    pub run: &'a RunId,
    pub notes: &'a Path,
}

impl Order<'_> {
    /// The process, not yet started; `under` is a program that starts it.
    pub fn command(&self, under: &[&str]) -> Command {
        let text = json!([self.what, self.root, self.run, self.notes]).to_string();
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
            .args(["--ignored", "--exact", "player::plays_an_order", "--test-threads=1"])
            .env(ORDER, text)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// What was acknowledged so far.
    pub fn noted(&self) -> Vec<String> {
        let text = fs::read_to_string(self.notes).unwrap_or_default();
        // A line without an end was being written when the player was killed.
        text.split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
            .map(str::to_owned)
            .collect()
    }
}

#[test]
#[ignore = "the other process of other tests"]
fn plays_an_order() {
    let order = std::env::var(ORDER).expect("started by another test");
    let (what, root, run, notes): (String, std::path::PathBuf, RunId, std::path::PathBuf) =
        serde_json::from_str(&order).unwrap();
    let mut notes = OpenOptions::new().create(true).append(true).open(notes).unwrap();
    let mut note = |line: String| notes.write_all(format!("{line}\n").as_bytes()).unwrap();
    let store = store_of(&root);
    let holder = LockHolder::this_process();
    if what == "create" {
        let made = store
            .lock(Duration::from_secs(5), "test")
            .and_then(|locked| locked.create_run(&run, &json!({}), &holder).map(drop));
        return note(made.map_or_else(|error| error.to_string(), |()| "created".to_owned()));
    }
    let mut held = match store.acquire_run(&run, &holder).unwrap() {
        RunAcquisition::Acquired(held) => held,
        other => return note(format!("{other:?}")),
    };
    match what.as_str() {
        "hold" => {
            note("held".to_owned());
            // Until it is killed; not for ever if nobody does.
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
        other => panic!("unknown order {other}"),
    }
}
