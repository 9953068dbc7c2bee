//! Everything the command line can do to a run, MCP does with the same objects: the
//! same project twice, one used through each.

use omx_testkit::{McpClient, await_condition};
use serde_json::{Value, json};

use super::kit::{DEADLINE, Repository, asking_scenario};
use crate::cli_and_mcp::{assert_speaks_to_both, normal};

/// Stands for the id of each project's run in arguments and in compared objects.
const RUN: &str = "RUN";

/// The same project twice.
struct TwoDoors {
    by_shell: Repository,
    by_mcp: Repository,
    client: McpClient,
}

impl TwoDoors {
    /// Both with this scenario.
    fn playing(scenario: &str) -> Self {
        Self::between(Repository::playing(scenario), Repository::playing(scenario))
    }

    /// Both with the same complete or stopped run.
    fn after(mode: &str, words: &[&str], code: i32) -> Self {
        let [by_shell, by_mcp] = [Repository::new(), Repository::new()];
        for repository in [&by_shell, &by_mcp] {
            let outcome = repository.run(mode, words);
            assert_eq!(outcome.code, Some(code), "{outcome:?}");
        }
        Self::between(by_shell, by_mcp)
    }

    fn between(by_shell: Repository, by_mcp: Repository) -> Self {
        let client = McpClient::start(by_mcp.project.omx_command(&["mcp"]));
        Self { by_shell, by_mcp, client }
    }

    /// Does the same through both doors, compares the objects, and returns them as
    /// far as they must be equal.
    #[track_caller]
    fn both(&mut self, words: &[&str], tool: &str, arguments: &Value) -> Value {
        let words: Vec<String> =
            words.iter().map(|word| named(&self.by_shell, (*word).to_owned())).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["--json"]).collect();
        let outcome = self.by_shell.project.omx(&words);
        let last = outcome.stdout.lines().last().expect("an object").to_owned();
        let shell = (outcome.code != Some(0), masked(&self.by_shell, &last));
        let arguments = named(&self.by_mcp, arguments.to_string());
        let (is_error, object) = self.client.call(tool, &serde_json::from_str(&arguments).unwrap());
        let mcp = (is_error, masked(&self.by_mcp, &object.to_string()));
        assert_eq!(shell, mcp, "{words:?} and {tool} {arguments}: {outcome:?}");
        mcp.1
    }

    /// The same, refused.
    #[track_caller]
    fn both_refused(&mut self, words: &[&str], tool: &str, arguments: &Value) -> String {
        let object = self.both(words, tool, arguments);
        let message = object["error"].as_str().unwrap_or_else(|| panic!("{tool}: {object}"));
        assert_speaks_to_both(message);
        message.to_owned()
    }

    /// Starts a ralph through both doors and waits until both ask a question.
    fn start_asking(&mut self) -> Value {
        let scenario = self.by_shell.project.folder().join("scenario.toml");
        let words = [
            "ralph",
            "--detach",
            "--agent",
            "rehearsal",
            "--scenario",
            scenario.to_str().unwrap(),
            "--check",
            "true",
            "--allow",
            "edits",
            "make work.txt",
        ];
        let started = self.both(
            &words,
            "run_start",
            &json!({
                "mode": "ralph", "agent": "rehearsal", "check": "true", "allow": "edits",
                "task": "make work.txt",
                "scenario": self.by_mcp.project.folder().join("scenario.toml"),
            }),
        );
        self.await_questions();
        started
    }

    fn await_questions(&self) {
        for repository in [&self.by_shell, &self.by_mcp] {
            await_condition("the run asks", DEADLINE, || {
                let shown = repository.project.omx(&["runs", "show", "--json"]).json();
                shown["questions"].as_array().is_some_and(|questions| !questions.is_empty())
            });
        }
    }

    fn close(self) {
        self.client.close();
        self.by_shell.await_nobody();
        self.by_mcp.await_nobody();
    }
}

/// Text with the id of this project's run. The run is only looked up if it is needed,
/// because at first there is none.
fn named(repository: &Repository, text: String) -> String {
    if text.contains(RUN) { text.replace(RUN, &repository.id()) } else { text }
}

/// An object without what must differ: the folder, times, ids, commits and the
/// process that drives a live run.
fn masked(repository: &Repository, text: &str) -> Value {
    let text = normal(&repository.project, text);
    let ids = masked_words(&text, |word| word.len() == 36 && word.matches('-').count() == 4, RUN);
    let commits = masked_words(&ids, |word| word.len() == 40 && !word.contains('-'), "COMMIT");
    let mut object: Value = serde_json::from_str(&commits).unwrap();
    for run in object.get_mut("runs").and_then(Value::as_array_mut).into_iter().flatten() {
        run.as_object_mut().unwrap().remove("pid");
    }
    // Two reviewers work at once, and either may finish first.
    if let Some(by) = object.get_mut("spent_by").and_then(Value::as_array_mut) {
        by.sort_by_key(|usage| usage["step"].to_string());
    }
    object
}

/// The text with every hexadecimal word that `is_masked` holds for replaced.
fn masked_words(text: &str, is_masked: impl Fn(&str) -> bool, mask: &str) -> String {
    let is_hex = |c: char| c.is_ascii_hexdigit() || c == '-';
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_hex) {
        let (before, found) = rest.split_at(start);
        let (word, after) = found.split_at(found.find(|c| !is_hex(c)).unwrap_or(found.len()));
        out.push_str(before);
        out.push_str(if is_masked(word) { mask } else { word });
        rest = after;
    }
    out + rest
}

#[test]
fn house_a_run_is_started_watched_answered_merged_and_discarded_with_the_same_objects() {
    let mut doors = TwoDoors::playing(&asking_scenario());
    let started = doors.start_asking();
    assert_eq!(started["id"], RUN);
    assert_eq!(started["event"], "run");
    doors.both(&["runs", "list"], "run_list", &json!({}));
    doors.both(&["ps"], "run_list_live", &json!({}));
    let seen = doors.both(&["runs", "show", RUN], "run_show", &json!({"id": RUN}));
    assert_eq!(seen["questions"][0]["what"], "run echo done > work.txt");
    let more = json!({"id": RUN, "max_iterations": 9});
    let limited = doors.both(&["runs", "limit", RUN, "9"], "run_limit", &more);
    assert_eq!(limited["takes_effect"], "now", "{limited}");
    for (words, tool, arguments) in [
        (&["runs", "integrate", RUN][..], "run_integrate", json!({"id": RUN})),
        (&["runs", "discard", RUN, "--force"], "run_discard", json!({"id": RUN, "force": true})),
        (&["runs", "resume", RUN, "--detach"], "run_resume", json!({"id": RUN})),
    ] {
        let why = doors.both_refused(words, tool, &arguments);
        assert!(why.contains("is in progress"), "{tool}: {why}");
    }
    let wrong = json!({"id": RUN, "answer": "yes", "question": 7});
    doors.both_refused(&["runs", "answer", RUN, "yes", "--question", "7"], "run_answer", &wrong);
    let yes = json!({"id": RUN, "answer": "yes"});
    let answered = doors.both(&["runs", "answer", RUN, "yes"], "run_answer", &yes);
    assert_eq!((&answered["question"], &answered["answer"]), (&json!(1), &json!("yes")));
    let ended = doors.both(&["runs", "attach", RUN], "run_attach", &json!({"id": RUN}));
    assert_eq!(ended["state"], "complete", "{ended}");
    doors.both_refused(&["runs", "resume", RUN, "--detach"], "run_resume", &json!({"id": RUN}));
    let merged = doors.both(&["runs", "integrate", RUN], "run_integrate", &json!({"id": RUN}));
    assert_eq!(merged["branch"], "omx-run/RUN");
    let discard = json!({"id": RUN});
    let discarded = doors.both(&["runs", "discard", RUN], "run_discard", &discard);
    assert_eq!(discarded["branch"], "omx-run/RUN", "{discarded}");
    doors.close();
}

#[test]
fn house_a_run_is_cancelled_with_the_same_object_and_effect() {
    let mut doors = TwoDoors::playing(&asking_scenario());
    doors.start_asking();
    let words = ["cancel", "--session-id", RUN];
    let report = doors.both(&words, "run_cancel", &json!({"id": RUN}));
    assert_eq!(report["runs"], json!([{"id": RUN, "process": "exited"}]), "{report}");
    for repository in [&doors.by_shell, &doors.by_mcp] {
        assert_eq!(repository.document("ralph")["run_outcome"], "cancelled");
    }
    let seen = doors.both(&["runs", "attach"], "run_attach", &json!({}));
    assert_eq!(seen["state"], "cancelled");
    // Resumed by its mode, a run waits for the same answer again.
    let words = ["ralph", "--resume", "--detach"];
    let resumed = doors.both(&words, "run_resume", &json!({"mode": "ralph"}));
    assert_eq!(resumed["id"], RUN);
    doors.await_questions();
    doors.both(&["cancel", "--session-id", RUN], "run_cancel", &json!({}));
    doors.close();
}

#[test]
fn house_a_stopped_run_is_limited_resumed_and_cleaned_up_with_the_same_objects() {
    let words = ["--max-iterations", "1", "greet people by name"];
    let mut doors = TwoDoors::after("autopilot", &words, 5);
    doors.both_refused(&["runs", "limit", RUN], "run_limit", &json!({"id": RUN}));
    let more = json!({"id": RUN, "max_iterations": 5, "budget_time": "2h"});
    let words = ["runs", "limit", RUN, "5", "--budget-time", "2h"];
    let limited = doors.both(&words, "run_limit", &more);
    assert_eq!(limited["records"].as_array().map(Vec::len), Some(2), "{limited}");
    let words = ["runs", "resume", RUN, "--detach", "--decide", "nonsense"];
    let why = doors.both_refused(&words, "run_resume", &json!({"id": RUN, "decide": ["nonsense"]}));
    assert!(why.contains("expected STEP=rerun, STEP=skip or STEP=adopt"), "{why}");
    let resumed = doors.both(&["runs", "resume", RUN, "--detach"], "run_resume", &json!({}));
    assert_eq!(resumed["id"], RUN);
    let ended = doors.both(&["runs", "attach"], "run_attach", &json!({}));
    assert_eq!(ended["state"], "complete", "{ended}");
    let swept = doors.both(&["runs", "gc"], "run_gc", &json!({}));
    assert_eq!(swept["removed"], json!([]), "{swept}");
    // Its work is nowhere else: both refuse to lose it until they are forced.
    let why = doors.both_refused(&["runs", "discard", RUN], "run_discard", &json!({"id": RUN}));
    assert!(why.contains("would lose work"), "{why}");
    let force = json!({"id": RUN, "force": true});
    let discarded = doors.both(&["runs", "discard", RUN, "--force"], "run_discard", &force);
    assert_eq!(discarded["commit"], "COMMIT", "{discarded}");
    doors.close();
}
