//! The journal when its writer is killed or the disk fails.

use std::process::Command;
use std::time::Duration;

use omx_testkit::{Random, await_condition};
use serde_json::{Value, json};

use crate::helper::HelperCommand;
use crate::stage::{StoreFixture, at, run_id, values};

#[test]
fn quality_r2_no_acknowledged_record_is_lost_to_a_kill_and_the_next_writer_continues_at_once() {
    let stage = StoreFixture::new();
    drop(stage.create(&run_id(1)));
    let notes = stage.folder.path().join("notes");
    let run = run_id(1);
    let helper =
        HelperCommand { action: "append", root: stage.store.root(), run: &run, notes: &notes };
    let mut random = Random::new(7);
    for round in 0..40 {
        let before = helper.acknowledged().len();
        let mut writer = helper.command(&[]).spawn().unwrap();
        await_condition("a first record", Duration::from_secs(20), || {
            helper.acknowledged().len() > before
        });
        std::thread::sleep(Duration::from_micros(random.below(8_000) as u64));
        writer.kill().unwrap();
        writer.wait().unwrap();

        let noted = helper.acknowledged();
        let last: u64 = noted.last().unwrap().parse().expect("only numbers are acknowledged");
        let held = stage.acquired(&run);
        let entries = held.entries::<Value>().unwrap();
        let kept = entries.len() as u64;
        // One more may be there: written, but the writer was killed before it said so.
        assert!(
            kept == last || kept == last + 1,
            "round {round}: {kept} kept, {last} acknowledged"
        );
        assert!(entries.iter().zip(1..).all(|(entry, number)| entry.seq == number));
    }
}

/// Runs the helper under strace, with faults in its calls on the journal.
fn run_with_faults(stage: &StoreFixture, inject: &str) -> Vec<String> {
    let notes = stage.folder.path().join("notes");
    let run = run_id(1);
    let helper =
        HelperCommand { action: "append 5", root: stage.store.root(), run: &run, notes: &notes };
    let journal = stage.journal_file(&run).canonicalize().unwrap().display().to_string();
    let (inject, calls) = (format!("inject={inject}"), "trace=write,fdatasync");
    let under = ["strace", "-f", "-o", "/dev/null", "-P", &journal, "-e", calls, "-e", &inject];
    assert!(Command::new("strace").arg("-V").output().is_ok(), "apt-get install strace");
    let status = helper.command(&under).status().unwrap();
    assert!(status.success(), "{status}");
    helper.acknowledged()
}

#[test]
fn quality_r1_a_partial_line_is_taken_back_when_the_disk_is_full() {
    let stage = StoreFixture::new();
    drop(stage.create(&run_id(1)));
    let notes = stage.folder.path().join("notes");
    let run = run_id(1);
    let helper =
        HelperCommand { action: "append 5", root: stage.store.root(), run: &run, notes: &notes };
    // Enough for three and a half lines.
    let under = ["env", "--ignore-signal=XFSZ", "prlimit", "--fsize=3700"];
    let status = helper.command(&under).status().expect("apt-get install coreutils util-linux");
    assert!(status.success(), "{status}");
    let noted = helper.acknowledged();
    assert_eq!(noted[..3], ["1", "2", "3"], "{noted:?}");
    assert!(noted[3].contains("journal.jsonl") && noted[3] == noted[4], "{noted:?}");
    let text = std::fs::read_to_string(stage.journal_file(&run)).unwrap();
    assert_eq!(text.matches('\n').count(), 3);
    assert!(text.ends_with('\n'), "the fourth is removed completely");
}

#[test]
fn quality_r1_a_full_disk_is_reported_and_the_next_record_is_complete() {
    for inject in ["write:error=ENOSPC:when=3", "write:retval=7:when=3"] {
        let stage = StoreFixture::new();
        drop(stage.create(&run_id(1)));
        let noted = run_with_faults(&stage, inject);
        assert_eq!([&noted[0], &noted[1]], ["1", "2"], "{noted:?}");
        assert!(noted[2].contains("journal.jsonl") && noted[2].contains("space"), "{noted:?}");
        assert_eq!(noted[3..], ["3", "4"]);
        let numbers: Vec<Value> =
            values(&stage.acquired(&run_id(1))).iter().map(|value| value[0].clone()).collect();
        assert_eq!(numbers, [0, 1, 3, 4].map(|number| json!(number)), "{inject}");
    }
}

#[test]
fn quality_r1_after_a_failed_flush_nothing_more_is_acknowledged() {
    let stage = StoreFixture::new();
    drop(stage.create(&run_id(1)));
    let noted = run_with_faults(&stage, "fdatasync:error=EIO:when=3");
    assert_eq!([&noted[0], &noted[1]], ["1", "2"], "{noted:?}");
    assert!(noted[2].contains("flush failed"), "{noted:?}");
    assert!(noted[3].contains("nothing more is appended") && noted[3] == noted[4], "{noted:?}");
    let mut held = stage.acquired(&run_id(1));
    let kept = values(&held).len() as u64;
    assert!((2..=3).contains(&kept), "the old or the new one: {kept}");
    assert_eq!(held.journal().append(at(0), &json!("on")).unwrap(), kept + 1);
}
