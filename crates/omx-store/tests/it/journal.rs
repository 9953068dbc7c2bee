//! The journal: complete records only, in order, none skipped.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant};

use omx_store::StoreError;
use omx_store::runs::{JournalEntry, MAX_RECORD_BYTES, RunFolder};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::stage::{StoreFixture, at, run_id, values};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum JournalOp {
    Started { name: String },
    Finished { name: String, tree: Option<String> },
}

fn reading(stage: &StoreFixture) -> RunFolder {
    stage.store.run(&run_id(1)).unwrap().unwrap()
}

#[test]
fn conductor_3_1_records_are_read_back_unchanged_with_time_and_number() {
    let stage = StoreFixture::new();
    let steps = [
        JournalOp::Started { name: "a\nb \u{1f600} \0 \u{2028}".into() },
        JournalOp::Finished { name: "c".into(), tree: None },
    ];
    let mut held = stage.create(&run_id(1));
    assert!(held.journal().is_empty());
    for (step, number) in steps.iter().zip(1..) {
        let seq = held.journal().append(at(i64::try_from(number).unwrap()), step).unwrap();
        assert_eq!(seq, number);
    }
    drop(held);
    let held = stage.acquired(&run_id(1));
    let expected: Vec<JournalEntry<JournalOp>> = steps
        .iter()
        .zip(1_u8..)
        .map(|(step, n)| JournalEntry { seq: n.into(), at: at(n.into()), record: step.clone() })
        .collect();
    assert_eq!(held.entries::<JournalOp>().unwrap(), expected);
    let text = fs::read_to_string(stage.journal_file(&run_id(1))).unwrap();
    assert_eq!(text.lines().count(), 2, "one record is one line: {text}");
    assert!(text.starts_with(r#"{"seq":1,"at":"2026-"#), "{text}");
}

#[test]
fn a_raw_value_with_line_breaks_is_written_as_one_line() {
    let stage = StoreFixture::new();
    let mut held = stage.create(&run_id(1));
    let raw = RawValue::from_string("{\n \"a\": [1.10,\r\n 2]\n}".into()).unwrap();
    held.journal().append(at(1), &raw).unwrap();
    let text = fs::read_to_string(stage.journal_file(&run_id(1))).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "{text:?}");
    let entries = held.entries::<Box<RawValue>>().unwrap();
    assert_eq!(entries[0].record.get(), "{  \"a\": [1.10,   2] }");
}

#[test]
fn conductor_3_1_a_tail_torn_at_any_byte_is_cut_off_and_no_complete_record_is_lost() {
    let stage = StoreFixture::new();
    let mut held = stage.create(&run_id(1));
    for number in 0..4 {
        let record = json!({"number": number, "text": "ä€😀 \"quoted\" \\ {}"});
        held.journal().append(at(number), &record).unwrap();
    }
    drop(held);
    let file = stage.journal_file(&run_id(1));
    let whole = fs::read(&file).unwrap();
    for cut in 0..=whole.len() {
        let torn = &whole[..cut];
        fs::write(&file, torn).unwrap();
        let records = torn.iter().filter(|byte| **byte == b'\n').count();
        let end = torn.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);

        let seen = reading(&stage).journal().unwrap().read_new::<Value>().unwrap();
        assert_eq!(seen.len(), records, "read only, cut at {cut}");
        assert_eq!(fs::read(&file).unwrap(), torn, "reading changes nothing, cut at {cut}");

        let mut held = stage.acquired(&run_id(1));
        assert_eq!(values(&held).len(), records, "cut at {cut}");
        assert_eq!(fs::read(&file).unwrap(), &whole[..end], "cut at {cut}");
        let seq = held.journal().append(at(9), &json!("next")).unwrap();
        assert_eq!(seq, records as u64 + 1, "cut at {cut}");
        assert_eq!(values(&held).last(), Some(&json!("next")), "cut at {cut}");
    }
}

#[test]
fn a_last_line_whose_middle_never_reached_the_disk_is_torn_too() {
    let stage = StoreFixture::new();
    stage.create(&run_id(1)).journal().append(at(1), &json!(1)).unwrap();
    let file = stage.journal_file(&run_id(1));
    let good = fs::read(&file).unwrap();
    let mut torn = good.clone();
    torn.extend_from_slice(b"{\"seq\":2,\0\0\0\0\0\0}\n");
    fs::write(&file, &torn).unwrap();
    assert_eq!(reading(&stage).journal().unwrap().read_new::<Value>().unwrap().len(), 1);
    assert_eq!(values(&stage.acquired(&run_id(1))), [json!(1)]);
    assert_eq!(fs::read(&file).unwrap(), good);
}

#[test]
fn an_unreadable_line_is_an_error_that_names_file_and_line_and_changes_nothing() {
    let stage = StoreFixture::new();
    let mut held = stage.create(&run_id(1));
    for number in 0..5 {
        held.journal().append(at(number), &json!({"number": number})).unwrap();
    }
    drop(held);
    let file = stage.journal_file(&run_id(1));
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let with = |line: &str| [lines[0], lines[1], line, lines[3], lines[4], ""].join("\n");
    let cases = [
        (with("{\"seq\":3,"), "line 3 is not a record"),
        (with(""), "line 3 is not a record"),
        (with("{\"seq\":3,\0\0\0}"), "line 3 is not a record"),
        (with(lines[1]), "line 3 has the number 2"),
        ([lines[0], lines[2], ""].join("\n"), "line 2 has the number 3"),
        ([lines[0], "not json", ""].join("\n"), "line 2 is not a record"),
        (format!("{}\n{}\n", lines[0], "x".repeat(MAX_RECORD_BYTES + 1)), "line 2 is longer"),
    ];
    for (text, expected) in cases {
        fs::write(&file, &text).unwrap();
        let error = stage
            .store
            .acquire_run(&run_id(1), &omx_store::runs::LockHolder::this_process())
            .unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains(expected), "{message} instead of {expected}");
        assert!(message.contains(&file.display().to_string()), "{message}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{expected}");

        // A reader gets the records before the line, and then the same error.
        let mut reader = reading(&stage).journal().unwrap();
        let before: u64 = expected.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(reader.read_new::<Value>().unwrap().len() as u64, before - 1);
        assert_eq!(reader.read_new::<Value>().unwrap_err().to_string(), message);
    }
}

#[test]
fn a_record_of_an_unknown_kind_is_an_error_and_not_skipped() {
    let stage = StoreFixture::new();
    let mut held = stage.create(&run_id(1));
    held.journal().append(at(1), &JournalOp::Started { name: "a".into() }).unwrap();
    held.journal().append(at(2), &json!({"kind": "of_the_future"})).unwrap();
    let error = held.entries::<JournalOp>().unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("of_the_future"), "{error}");
}

#[test]
fn a_record_that_is_too_long_is_refused_and_the_journal_stays_usable() {
    let stage = StoreFixture::new();
    let mut held = stage.create(&run_id(1));
    let error = held.journal().append(at(1), &"x".repeat(MAX_RECORD_BYTES)).unwrap_err();
    assert!(matches!(error, StoreError::LongRecord { .. }), "{error}");
    let fits = "x".repeat(MAX_RECORD_BYTES - 100);
    assert_eq!(held.journal().append(at(2), &fits).unwrap(), 1);
    assert_eq!(values(&held), [json!(fits)]);
}

#[test]
fn conductor_3_3_a_follower_gets_every_record_once_and_never_a_partial_line() {
    let stage = StoreFixture::new();
    let mut held = stage.create(&run_id(1));
    let mut reader = reading(&stage).journal().unwrap();
    let count = 400;
    let seen = std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..count {
                let text = "y".repeat(usize::try_from(number).unwrap() * 50);
                held.journal().append(at(number), &json!([number, text])).unwrap();
            }
        });
        let mut seen = Vec::new();
        let start = Instant::now();
        while (seen.len() as i64) < count {
            assert!(start.elapsed() < Duration::from_secs(60), "{} records", seen.len());
            seen.extend(reader.read_new::<Value>().unwrap());
        }
        seen
    });
    assert!(seen.iter().zip(1..).all(|(entry, number)| entry.seq == number));
    assert!(seen.iter().zip(0..).all(|(entry, number)| entry.record[0] == json!(number)));

    let mut file = OpenOptions::new().append(true).open(stage.journal_file(&run_id(1))).unwrap();
    file.write_all(br#"{"seq":401,"at":"2026-11-15T10:00:00Z","re"#).unwrap();
    assert_eq!(reader.read_new::<Value>().unwrap(), []);
    file.write_all(b"cord\":true}\n").unwrap();
    assert_eq!(reader.read_new::<Value>().unwrap()[0].record, json!(true));
}

#[test]
fn quality_p10_a_hundred_thousand_records_are_read_quickly_and_a_new_one_without_reading_all_again()
{
    let stage = StoreFixture::new();
    drop(stage.create(&run_id(1)));
    let mut text = String::new();
    let line = |seq: u64| {
        let record =
            json!({"kind": "step_finished", "name": format!("step {seq}"), "tree": "0".repeat(40)});
        json!({"seq": seq, "at": "2026-11-15T10:00:00.000Z", "record": record}).to_string() + "\n"
    };
    (1..=100_000).for_each(|seq| text.push_str(&line(seq)));
    let file = stage.journal_file(&run_id(1));
    fs::write(&file, &text).unwrap();

    let start = Instant::now();
    let held = stage.acquired(&run_id(1));
    let entries = held.entries::<Value>().unwrap();
    let all = start.elapsed();
    assert_eq!(entries.len(), 100_000);
    assert!(all < Duration::from_secs(10), "{all:?} without optimizations");

    let mut reader = reading(&stage).journal().unwrap();
    assert_eq!(reader.read_new::<Value>().unwrap().len(), 100_000);
    let mut file = OpenOptions::new().append(true).open(&file).unwrap();
    // The fastest of several, because a busy machine may delay any one of them.
    let times = (100_001..=100_010).map(|seq| {
        file.write_all(line(seq).as_bytes()).unwrap();
        let start = Instant::now();
        assert_eq!(reader.read_new::<Value>().unwrap().len(), 1);
        start.elapsed()
    });
    let fastest = times.min().unwrap();
    assert!(fastest * 20 < all, "{fastest:?} for one new record, {all:?} for all");
}
