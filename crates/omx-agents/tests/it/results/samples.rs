//! One valid result of each kind.

use omx_agents::results::{ResultKind, ReviewKind};
use serde_json::{Value, json};

pub fn good(kind: ResultKind) -> Value {
    match kind {
        ResultKind::Plan => json!({
            "title": "Parser without recursion",
            "summary": "The parser keeps its own stack.",
            "plan_markdown": "# Plan\n\n```rust\nfn parse() {}\n```\n",
            "test_spec_markdown": "# Tests\n",
            "subtasks": [
                subtask("a", &[]),
                subtask("b", &["a"]),
                subtask("c", &["a", "b"]),
            ],
        }),
        ResultKind::Review(kind) => {
            let verdict = match kind {
                ReviewKind::ArchitectInCodeReview => "WATCH",
                _ => "COMMENT",
            };
            json!({
                "lane": kind.lane().as_str(),
                "verdict": verdict,
                "findings": [finding(), {
                    "title": "No test", "file": null, "line": null,
                    "severity": "minor", "detail": "",
                }],
                "summary": "Read all of it.",
            })
        }
        ResultKind::Work => json!({
            "summary": "The parser keeps its own stack.",
            "changed_files": ["src/parser.rs", "/srv/tests/deep.rs"],
            "commands": [
                {"command": "cargo test", "exit_code": 101},
                {"command": "cargo test", "exit_code": 0},
            ],
            "done": true,
            "blocked_reason": null,
        }),
        ResultKind::Verification => json!({
            "passed": false,
            "checks": [
                {"name": "tests", "command": "cargo test", "exit_code": 101, "evidence": "1 failed"},
                {"name": "text", "command": null, "exit_code": null, "evidence": "README.md:3"},
            ],
            "findings": [finding()],
        }),
    }
}

pub fn subtask(id: &str, blocked_by: &[&str]) -> Value {
    json!({
        "id": id,
        "subject": "Replace the recursion",
        "description": "",
        "role": "executor",
        "files": ["src/parser.rs", "src/new..rs", "/srv/x.rs"],
        "blocked_by": blocked_by,
        "acceptance": ["cargo test exits 0"],
    })
}

fn finding() -> Value {
    json!({
        "title": "Leak", "file": "src/parser.rs", "line": 1,
        "severity": "blocker", "detail": "It leaks.",
    })
}

/// Replaces the value at a pointer, or removes it.
pub fn with(mut value: Value, pointer: &str, new: Option<Value>) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (value.pointer_mut(parent).expect(pointer), new) {
        (Value::Object(fields), Some(new)) => {
            fields.insert(name.to_owned(), new);
        }
        (Value::Object(fields), None) => {
            fields.remove(name).expect(pointer);
        }
        (Value::Array(items), Some(new)) => items[name.parse::<usize>().unwrap()] = new,
        _ => panic!("nothing at {pointer}"),
    }
    value
}
