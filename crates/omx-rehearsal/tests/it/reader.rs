//! What a scenario says is what is played, in both languages.

use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_agents::event::Usage;
use omx_kernel::Timestamp;
use omx_rehearsal::scenario::{Action, Ears, LimitEnd, Scenario, ScenarioFailure, load, parse};
use serde_json::json;

/// Every key there is, once.
pub const TOML: &str = r#"
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

pub const JSON: &str = r#"{
  // The same, in the other language.
  "seed": 7,
  "entry": [
    {
      "role": "executor", "phase": "executing", "match": "the calculator",
      "times": 2, "required": true,
      "do": [
        {"say": "I begin."},
        {"write": {"path": "src/add.rs", "content": "a + b\n"}},
        {"patch": {"path": "src/add.rs", "find": "a + b", "replace": "b + a"}},
        {"run": {"command": "cat src/add.rs"}},
        {"mcp": {"server": "tiny", "tool": "add", "args": {"a": 1, "b": [2.5, true]}, "timeout_s": 3}},
        {"mcp": {"tool": "state_read"}},
        {"delay_ms": 250},
        {"usage": {"input": 10, "cached": 4, "output": 2, "micro_usd": 3}},
        {"result": {"done": true, "changed_files": ["src/add.rs"]}},
        {"answer": "Done."}
      ]
    },
    {"do": [{"fail": {"kind": "rate_limit", "until": "2030-03-17T17:46:40Z", "message": "slowly"}}]},
    {"do": [{"usage": {"input": 1, "output": 1}}, {"fail": {"kind": "rate_limit", "reset_in_s": 60}}]},
    {"required": true, "do": [{"fail": {"kind": "service", "status": 503}}]},
    {"times": 3, "required": false, "do": [{"fail": {"kind": "hang", "deaf": true}}]},
    {"do": [{"fail": {"kind": "crash"}}]}
  ]
}"#;

fn toml() -> Scenario {
    parse(Path::new("scenario.toml"), TOML.as_bytes()).unwrap()
}

#[test]
fn every_key_is_understood() {
    let scenario = toml();
    assert_eq!(scenario.seed, Some(7));
    let first = &scenario.entries[0];
    let named = [&first.role, &first.phase, &first.text].map(|text| text.as_deref().unwrap());
    assert_eq!(named, ["executor", "executing", "the calculator"]);
    let file = || PathBuf::from("src/add.rs");
    let expected = [
        Action::Say("I begin.".into()),
        Action::Write { path: file(), content: "a + b\n".into() },
        Action::Patch { path: file(), find: "a + b".into(), replace: "b + a".into() },
        Action::Run { command: "cat src/add.rs".into() },
        Action::Mcp {
            server: "tiny".into(),
            tool: "add".into(),
            args: json!({"a": 1, "b": [2.5, true]}).as_object().unwrap().clone(),
            patience: Duration::from_secs(3),
        },
        Action::Mcp {
            server: "omx".into(),
            tool: "state_read".into(),
            args: serde_json::Map::new(),
            patience: Duration::from_secs(30),
        },
        Action::Delay(Duration::from_millis(250)),
        Action::Spend(Usage {
            input_tokens: 10,
            cached_tokens: 4,
            output_tokens: 2,
            micro_usd: Some(3),
        }),
        Action::Result(json!({"done": true, "changed_files": ["src/add.rs"]})),
        Action::Answer("Done.".into()),
    ];
    let actions: Vec<_> = first.steps.iter().map(|step| step.action.clone()).collect();
    assert_eq!(actions, expected);
}

#[test]
fn every_failure_is_understood() {
    let scenario = toml();
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
        ScenarioFailure::Hang(Ears::Deaf),
        ScenarioFailure::Crash,
    ];
    for (entry, failure) in (1..).zip(expected) {
        assert_eq!(last(entry), Action::Fail(failure));
    }
}

#[test]
fn what_must_be_played_follows_from_times_and_required() {
    let bounds: Vec<_> =
        toml().entries.iter().map(|entry| (entry.at_least, entry.at_most)).collect();
    let expected = [(2, Some(2)), (0, None), (0, None), (1, None), (0, Some(3)), (0, None)];
    assert_eq!(bounds, expected);
    let alone = "[[entry]]\ntimes = 4\ndo = [{ say = \"\" }]";
    let scenario = parse(Path::new("a"), alone.as_bytes()).unwrap();
    assert_eq!((scenario.entries[0].at_least, scenario.entries[0].at_most), (4, Some(4)));
}

#[test]
fn both_languages_say_the_same() {
    let json = parse(Path::new("scenario.JSON"), JSON.as_bytes()).unwrap();
    let mut toml = toml();
    assert_ne!(toml.fingerprint, json.fingerprint);
    assert_eq!(toml.seed, json.seed);
    // All but where it stands.
    for (one, other) in toml.entries.iter_mut().zip(&json.entries) {
        one.line = other.line;
        for (step, same) in one.steps.iter_mut().zip(&other.steps) {
            step.line = same.line;
        }
    }
    assert_eq!(toml.entries, json.entries);
}

#[test]
fn everything_knows_its_line() {
    let lines = |scenario: &Scenario| -> Vec<(usize, usize)> {
        let of =
            |entry: &omx_rehearsal::scenario::Entry| (entry.line, entry.steps.last().unwrap().line);
        scenario.entries.iter().map(of).collect()
    };
    assert_eq!(lines(&toml()), [(4, 20), (23, 24), (26, 29), (33, 35), (37, 40), (42, 43)]);
    let json = parse(Path::new("scenario.json"), JSON.as_bytes()).unwrap();
    assert_eq!(lines(&json), [(5, 18), (21, 21), (22, 22), (23, 23), (24, 24), (25, 25)]);
}

#[test]
fn a_scenario_is_read_from_a_file_and_from_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, TOML).unwrap();
    assert_eq!(load(&file).unwrap().entries.len(), 6);
    let said = |path: &Path| load(path).unwrap_err().to_string();
    assert_eq!(said(folder.path()), format!("{}: it is not a file", folder.path().display()));
    assert_eq!(said(Path::new("/dev/zero")), "/dev/zero: it is not a file");
    let none = folder.path().join("none.toml");
    let missing = "cannot read it: No such file or directory (os error 2)";
    assert_eq!(said(&none), format!("{}: {missing}", none.display()));
    std::fs::write(&file, vec![b' '; (4 << 20) + 1]).unwrap();
    assert_eq!(said(&file), format!("{}: it is longer than 4194304 bytes", file.display()));
}
