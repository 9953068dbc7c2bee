//! A scenario file is read into exactly what it says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_agents::event::UsageDelta;
use omx_kernel::Timestamp;
use omx_rehearsal::scenario::{
    HangKind, LimitEnd, Scenario, ScenarioAction, ScenarioEntry, ScenarioFailure, load, parse,
};
use serde_json::json;

/// Every key there is, at least once.
pub const EVERY_KEY: &str = r#"
seed = 7

[[entry]]
role = "executor"
phase = "executing"
match = "the calculator"
times = 2
required = true
do = [
    { say = "I begin." },
    { write = { path = "src/add.rs", content = "a + b\n" } },
    { patch = { path = "src/add.rs", find = "a + b", replace = "b + a" } },
    { run = { command = "cat src/add.rs" } },
    { mcp = { server = "tiny", tool = "add", args = { a = 1, b = [2.5, true] }, timeout_s = 3 } },
    { mcp = { tool = "state_read" } },
    { delay_ms = 250 },
    { usage = { input = 10, cached = 4, output = 2, micro_usd = 3 } },
    { result = { done = true, changed_files = ["src/add.rs"] } },
    { answer = "Done." },
]

[[entry]]
do = [{ fail = { kind = "rate_limit", until = 2030-03-17T17:46:40Z, message = "slowly" } }]

[[entry]]
[[entry.do]]
usage = { input = 1, output = 1 }
[[entry.do]]
fail.kind = "rate_limit"
fail.reset_in_s = 60

[[entry]]
required = true
do = [{ fail = { kind = "service", status = 503 } }]

[[entry]]
times = 3
required = false
do = [{ fail = { kind = "hang", deaf = true } }]

[[entry]]
do = [{ fail = { kind = "crash" } }]
"#;

fn every_key() -> Scenario {
    parse(Path::new("scenario.toml"), EVERY_KEY.as_bytes()).unwrap()
}

#[test]
fn every_key_is_read() {
    let scenario = every_key();
    assert_eq!(scenario.seed, Some(7));
    let first = &scenario.entries[0];
    let named = [&first.role, &first.phase, &first.text].map(|text| text.as_deref().unwrap());
    assert_eq!(named, ["executor", "executing", "the calculator"]);
    let file = || PathBuf::from("src/add.rs");
    let expected = [
        ScenarioAction::Say("I begin.".into()),
        ScenarioAction::Write { path: file(), content: "a + b\n".into() },
        ScenarioAction::Patch { path: file(), find: "a + b".into(), replace: "b + a".into() },
        ScenarioAction::Run { command: "cat src/add.rs".into() },
        ScenarioAction::Mcp {
            server: "tiny".into(),
            tool: "add".into(),
            args: json!({"a": 1, "b": [2.5, true]}).as_object().unwrap().clone(),
            timeout: Duration::from_secs(3),
        },
        ScenarioAction::Mcp {
            server: "omx".into(),
            tool: "state_read".into(),
            args: serde_json::Map::new(),
            timeout: Duration::from_secs(30),
        },
        ScenarioAction::Delay(Duration::from_millis(250)),
        ScenarioAction::ReportUsage(UsageDelta {
            input_tokens: 10,
            cached_tokens: 4,
            output_tokens: 2,
            micro_usd: Some(3),
        }),
        ScenarioAction::Result(json!({"done": true, "changed_files": ["src/add.rs"]})),
        ScenarioAction::Answer("Done.".into()),
    ];
    let actions: Vec<_> = first.steps.iter().map(|step| step.action.clone()).collect();
    assert_eq!(actions, expected);
}

#[test]
fn every_failure_is_read() {
    let scenario = every_key();
    let last = |entry: usize| scenario.entries[entry].steps.last().unwrap().action.clone();
    let detail = || "as rehearsed".to_owned();
    let until = Timestamp::parse("2030-03-17T17:46:40Z").unwrap();
    let expected = [
        ScenarioFailure::RateLimit { end: LimitEnd::At(until), detail: "slowly".into() },
        ScenarioFailure::RateLimit {
            end: LimitEnd::After(Duration::from_secs(60)),
            detail: detail(),
        },
        ScenarioFailure::Service { status: 503, detail: detail() },
        ScenarioFailure::Hang(HangKind::Deaf),
        ScenarioFailure::Crash,
    ];
    for (entry, failure) in (1..).zip(expected) {
        assert_eq!(last(entry), ScenarioAction::Fail(failure));
    }
}

#[test]
fn times_and_required_bound_how_often_an_entry_is_played() {
    let bounds: Vec<_> =
        every_key().entries.iter().map(|entry| (entry.at_least, entry.at_most)).collect();
    let expected = [(2, Some(2)), (0, None), (0, None), (1, None), (0, Some(3)), (0, None)];
    assert_eq!(bounds, expected);
    let alone = "[[entry]]\ntimes = 4\ndo = [{ say = \"\" }]";
    let scenario = parse(Path::new("a"), alone.as_bytes()).unwrap();
    assert_eq!((scenario.entries[0].at_least, scenario.entries[0].at_most), (4, Some(4)));
}

#[test]
fn entries_and_steps_know_their_lines() {
    let lines = |entry: &ScenarioEntry| (entry.line, entry.steps.last().unwrap().line);
    let lines: Vec<_> = every_key().entries.iter().map(lines).collect();
    assert_eq!(lines, [(4, 20), (23, 24), (26, 29), (33, 35), (37, 40), (42, 43)]);
}

/// JSON has no dates; a tool or a model gets them as text.
#[test]
fn dates_in_results_become_text() {
    let text = "[[entry]]\ndo = [{ result = { due = 2030-01-31T12:00:00Z, day = 2030-01-31 } }]";
    let scenario = parse(Path::new("a.toml"), text.as_bytes()).unwrap();
    let expected = json!({"due": "2030-01-31T12:00:00Z", "day": "2030-01-31"});
    assert_eq!(scenario.entries[0].steps[0].action, ScenarioAction::Result(expected));
}

#[test]
fn only_regular_files_of_limited_size_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, EVERY_KEY).unwrap();
    assert_eq!(load(&file).unwrap().entries.len(), 6);
    let error = |path: &Path| load(path).unwrap_err().to_string();
    assert_eq!(error(folder.path()), format!("{}: not a regular file", folder.path().display()));
    assert_eq!(error(Path::new("/dev/zero")), "/dev/zero: not a regular file");
    let missing_file = folder.path().join("none.toml");
    let missing = "cannot read the scenario: No such file or directory (os error 2)";
    assert_eq!(error(&missing_file), format!("{}: {missing}", missing_file.display()));
    std::fs::write(&file, vec![b' '; (4 << 20) + 1]).unwrap();
    assert_eq!(error(&file), format!("{}: larger than 4194304 bytes", file.display()));
}
