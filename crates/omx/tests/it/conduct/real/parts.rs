//! What the model answers, by the prompt it gets: a script matches phrases of the
//! step's prompt, so that it plays for every agent and as often as needed.

use omx_testkit::model::{ModelScript, ScriptTurn};
use serde_json::{Value, json};

/// Phrases of the prompts that the conductor sends.
pub const DRAFT: &str = "Plan the task:";
pub const DRAFT_AGAIN: &str = "A review of the finished change was not clean";
pub const REVIEW_PLAN: &str = "Review the plan below";
pub const REVISE: &str = "Revise the plan below";
pub const BUILD: &str = "Build what the plan below says";
pub const DO: &str = "Do the task completely";
pub const FIX: &str = "Find the cause and fix it there";
pub const VERIFY: &str = "Verify that the task is done";
pub const TIDY: &str = "Go over the whole change once";
pub const REVIEW: &str = "Review the change. A finding";
pub const DIAGNOSE: &str = "Find out why, down to the cause";

/// The lane in the schema of the answer identifies the reviewer.
pub fn lane(name: &str) -> String {
    format!("\"enum\":[{name:?}]")
}

/// The preceding step's result in the prompt identifies the step.
pub fn after(step: &str) -> String {
    format!("## From step {step}\n")
}

/// A greeting that requires a name; the check also tests one without.
pub const NAMES_ONLY: &str = "echo 'echo \"Hello, $1!\"' > greet.sh";
/// A greeting that passes the check.
pub const RIGHT: &str = "echo 'echo \"Hello, ${1:-world}!\"' > greet.sh";

pub fn plan(title: &str) -> Value {
    let subtask = json!({
        "id": "1", "subject": "Write greet.sh", "description": "Print it.", "role": "executor",
        "files": ["greet.sh"], "blocked_by": [], "acceptance": ["sh check.sh passes"],
    });
    json!({
        "title": title, "summary": "A script that greets.",
        "plan_markdown": format!("# {title}\n\nWrite greet.sh."),
        "test_spec_markdown": "# Tests\n\nsh check.sh",
        "subtasks": [subtask],
    })
}

pub fn review(lane: &str, verdict: &str, findings: &[&str]) -> Value {
    let findings: Vec<Value> = findings.iter().map(|title| finding(title)).collect();
    json!({"lane": lane, "verdict": verdict, "findings": findings, "summary": "I looked."})
}

fn finding(title: &str) -> Value {
    json!({
        "title": title, "file": "greet.sh", "line": 1, "severity": "major",
        "detail": "It is not there.",
    })
}

pub fn work(summary: &str) -> Value {
    json!({
        "summary": summary, "changed_files": ["greet.sh"],
        "commands": [{"command": "sh check.sh", "exit_code": 0}],
        "done": true, "blocked_reason": null,
    })
}

pub fn looked(summary: &str) -> Value {
    json!({
        "summary": summary, "changed_files": [], "commands": [], "done": true,
        "blocked_reason": null,
    })
}

pub fn verified() -> Value {
    let check = json!({
        "name": "greetings", "command": "sh check.sh", "exit_code": 0,
        "evidence": "both greetings are right",
    });
    json!({"passed": true, "checks": [check], "findings": []})
}

/// A script for prompts with all of these phrases.
pub fn script(name: &str, words: &[&str]) -> ModelScript {
    words.iter().fold(ModelScript::named(name), |script, words| script.when(words))
}

/// A prompt that is answered at once.
pub fn answers(name: &str, words: &[&str], answer: Value) -> ModelScript {
    script(name, words).turn(ScriptTurn::new().answer(answer).usage(1000, 100))
}

/// A prompt for which a command runs first.
pub fn works(name: &str, words: &[&str], command: &str, answer: Value) -> ModelScript {
    script(name, words).shell(command).turn(ScriptTurn::new().answer(answer).usage(1000, 100))
}
