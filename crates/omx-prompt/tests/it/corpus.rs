//! modes.md 5 on the corpus in `corpus/`: every record of every file. The files are read
//! at run time, so that a new file needs no change here. Its README describes the format.

use std::path::{Path, PathBuf};

use omx_kernel::Mode;
use omx_prompt::{CancelReach, KeywordPolicy, PromptDecision, SessionState, explain};

use crate::decide;

/// A record of the corpus.
struct Record {
    file: String,
    line: usize,
    expectation: String,
    keywords: Option<KeywordPolicy>,
    present: SessionState,
    prompt: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/corpus")
}

fn records(folder: &Path) -> Vec<Record> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    files.sort();
    files.iter().flat_map(|file| read(file)).collect()
}

fn read(file: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut records: Vec<Record> = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if let Some(head) = line.strip_prefix("#> ") {
            records.push(record(file, number + 1, head.trim()));
        } else if let Some(record) = records.last_mut() {
            record.prompt.push_str(line);
        }
    }
    for record in &mut records {
        record.prompt.truncate(record.prompt.trim_end().len());
    }
    records
}

fn record(file: &Path, line: usize, head: &str) -> Record {
    let (expectation, conditions) = head.split_once(" [").unwrap_or((head, ""));
    let mut record = Record {
        file: file.file_name().unwrap().to_string_lossy().into_owned(),
        line,
        expectation: expectation.to_owned(),
        keywords: None,
        present: SessionState::Idle,
        prompt: String::new(),
    };
    for condition in conditions.split(['[', ']', ' ']).filter(|word| !word.is_empty()) {
        match condition {
            "active" => record.present = SessionState::Active,
            "blocked" => record.present = SessionState::Blocked,
            other => {
                let word = other.strip_prefix("keywords=").expect(other);
                record.keywords = Some(KeywordPolicy::parse(word).expect(other));
            }
        }
    }
    record
}

/// Formats a decision as the corpus does.
fn words(decision: &PromptDecision<'_>) -> String {
    match decision {
        PromptDecision::Nothing => "silent".to_owned(),
        PromptDecision::Suggest(mode) => format!("suggest {}", mode.name()),
        PromptDecision::Cancel(call) => match call.reach {
            CancelReach::Session | CancelReach::Mode(_) => "cancel".to_owned(),
            CancelReach::EverySession => "cancel every-session".to_owned(),
            CancelReach::Force => "cancel force".to_owned(),
        },
        PromptDecision::Resume => "resume".to_owned(),
        PromptDecision::Continue => "continue".to_owned(),
        PromptDecision::Start(start) => {
            let modes = [start.mode].into_iter().chain(start.linked.iter().copied());
            let names: Vec<&str> = modes.map(Mode::name).collect();
            format!("start {}", names.join("+"))
        }
    }
}

fn fits(expectation: &str, decision: &str) -> bool {
    match expectation {
        "nothing" => decision == "silent" || decision.starts_with("suggest "),
        other => other == decision,
    }
}

/// Describes the records that the rule decides wrongly.
fn wrong(records: &[Record]) -> Vec<String> {
    let mut wrong = Vec::new();
    for record in records {
        let settings: &[KeywordPolicy] = match (record.keywords, record.expectation.as_str()) {
            (Some(one), _) => &[one],
            (None, "silent") => {
                &[KeywordPolicy::Explicit, KeywordPolicy::Phrases, KeywordPolicy::Off]
            }
            (None, _) => &[KeywordPolicy::Explicit],
        };
        for keywords in settings {
            let decision = decide(&record.prompt, *keywords, record.present);
            let explained = explain(&record.prompt, *keywords, record.present);
            assert_eq!(decision, explained.decision, "{}:{}", record.file, record.line);
            let got = words(&decision);
            if !fits(&record.expectation, &got) {
                let whys: Vec<String> = explained
                    .candidates
                    .iter()
                    .map(|one| format!("{} {:?} {:?}", one.text, one.form, one.verdict))
                    .collect();
                wrong.push(format!(
                    "{}:{}: wanted {}, got {got} ({keywords:?}, {:?})\n    {}\n    [{}]",
                    record.file,
                    record.line,
                    record.expectation,
                    record.present,
                    record.prompt.replace('\n', "\n    "),
                    whys.join("; ")
                ));
            }
        }
    }
    wrong
}

#[test]
fn modes_5_every_prompt_of_the_corpus_is_decided_as_expected() {
    check(&folder(), 500);
}

/// A fifth of the records was held out and not read while the rule was written.
#[test]
fn modes_5_every_held_out_prompt_is_decided_as_expected() {
    check(&folder().join("held-out"), 120);
}

#[track_caller]
fn check(folder: &Path, at_least: usize) {
    let records = records(folder);
    assert!(records.len() > at_least, "only {} records found", records.len());
    let wrong = wrong(&records);
    assert!(wrong.is_empty(), "{} of {}\n\n{}", wrong.len(), records.len(), wrong.join("\n\n"));
}
