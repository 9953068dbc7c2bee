//! Documents, requests and MCP lines that are nearly right: most of them reach
//! the rules behind the parser, and carry what other programs would write.

use super::mutate::mutated;
use crate::random::Random;

/// The modes that are drawn; each has rules of its own.
#[rustfmt::skip]
pub const MODES: &[&str] = &[
    "ralph", "autopilot", "ultrawork", "team", "pipeline", "ralplan", "code-review", "ultraqa",
    "ecomode", "swarm", "ultrapilot",
];

/// The sessions that are drawn.
pub const SESSIONS: &[&str] = &["s1", "s2"];

#[rustfmt::skip]
const NUMBERS: &[&str] = &[
    "0", "1", "2", "3", "49", "50", "51", "-1", "-0", "1.10", "1e400", "1E-400", "0.0", "1e2",
    "18446744073709551614", "18446744073709551615", "18446744073709551616", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "100000000000000000000000000000000000000000",
];

#[rustfmt::skip]
const STRINGS: &[&str] = &[
    "", "a", "\\ud800", "\\udc00\\ud800", "\\ud83d\\ude00", "\\u0000", "é", "\\/", "\\\\", "\\\"",
    "[[[", "}}", "../../outside/x", "/etc/passwd", "executing", "cancelled", "finish", "a\\nb",
    "\\u007f", "2026-11-15T10:00:00Z", "0000-01-01T00:00:00+23:59",
    "9999-12-31T23:59:60.999999999-23:59", "2026-02-29T00:00:00Z", "APPROVE", "plan.md",
];

#[rustfmt::skip]
const PHASES: &[&str] = &[
    "starting", "executing", "verifying", "fixing", "complete", "failed", "cancelled", "ralplan",
    "ralph", "code-review", "draft", "architect-review", "critic-review", "revise", "reviewing",
    "planning", "qa", "diagnose", "fix", "team-plan", "team-exec", "team-verify", "team-fix",
    "stage:a", "stage:b", "integrating", "blocked_on_user", "done", "verify", "nonsense", "",
];

#[rustfmt::skip]
const OUTCOMES: &[&str] = &[
    "continue", "progress", "finish", "blocked_on_user", "failed", "cancelled", "done", "error",
    "aborted", "userinterlude", "finished", "blocked", "?",
];

#[rustfmt::skip]
const TIMES: &[&str] = &[
    "2026-11-15T10:00:00.000Z", "2026-11-15T09:00:00Z", "1970-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z", "0000-01-01T00:00:00+23:59", "yesterday",
];

/// Fields the rules read.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "active", "active", "current_phase", "current_phase", "iteration", "max_iterations",
    "run_outcome", "lifecycle_outcome", "task_description", "updated_at", "completed_at", "error",
    "waiting", "linked_ultrawork", "linked_ecomode", "linked_team", "linked_to_ralph",
    "linked_ralph", "linked_to", "review_cycle", "review_verdict", "handoff_artifacts",
    "return_to_ralplan_reason", "completion_audit", "completion_audit_path", "last_check", "stages",
    "fix_loop_count", "max_fix_loops", "verification", "plan_path", "test_spec_path", "consensus",
    "failure_history", "review_history", "stage_results",
];

/// A string literal of this text.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// White space, mostly none.
fn space(rng: &mut Random) -> &'static str {
    if rng.one_in(8) { rng.pick(&[" ", "\n", "\t", "\r\n  "]) } else { "" }
}

/// A JSON value, at most so deep (and once in a while very deep).
pub fn json_value(rng: &mut Random, deep: usize) -> String {
    match rng.below(if deep == 0 { 8 } else { 13 }) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => "false".to_owned(),
        3 | 4 => rng.pick(NUMBERS).to_owned(),
        5..8 => format!("\"{}\"", rng.pick(STRINGS)),
        8 | 9 => {
            let items: Vec<String> = (0..rng.below(4))
                .map(|_| space(rng).to_owned() + &json_value(rng, deep - 1))
                .collect();
            format!("[{}{}]", items.join(","), space(rng))
        }
        10 | 11 => {
            let fields: Vec<String> = (0..rng.below(4))
                .map(|_| {
                    let name = format!("\"{}\"", rng.pick(STRINGS));
                    field(rng, &name, deep - 1)
                })
                .collect();
            format!("{{{}{}}}", fields.join(","), space(rng))
        }
        _ if rng.one_in(10) => nested(rng),
        _ => json_value(rng, deep - 1),
    }
}

fn field(rng: &mut Random, name: &str, deep: usize) -> String {
    let value = json_value(rng, deep);
    format!("{}{name}{}:{}{value}", space(rng), space(rng), space(rng))
}

/// Nesting around the limits of omx and of parsers, and far beyond.
fn nested(rng: &mut Random) -> String {
    let levels = match rng.below(24) {
        0..12 => 28 + rng.below(8),
        12..20 => 120 + rng.below(16),
        20..23 => 2_000,
        _ => 100_000,
    };
    let (open, close) = if rng.one_in(2) { ("[", "]") } else { ("{\"a\":", "}") };
    format!("{}1{}", open.repeat(levels), close.repeat(levels))
}

/// JSON text, mostly valid.
pub fn json_text(rng: &mut Random) -> String {
    let text = json_value(rng, 5);
    if rng.one_in(3) {
        String::from_utf8_lossy(&mutated(rng, text.as_bytes())).into_owned()
    } else {
        format!("{}{text}{}", space(rng), space(rng))
    }
}

/// The fields of a document or request: names the rules read with values that
/// mostly fit, and foreign ones, whose names begin with `x`.
fn fields(rng: &mut Random, count: usize) -> Vec<String> {
    (0..count).map(|_| one_field(rng)).collect()
}

fn one_field(rng: &mut Random) -> String {
    if rng.one_in(3) {
        let name = rng.pick(&["x", "x1", "x\\u0041", "xé", "x\\n", "x\\\"", "xx", "x."]);
        return field(rng, &format!("\"{name}\""), 4);
    }
    let name = rng.pick(NAMES);
    if rng.one_in(8) {
        return field(rng, &format!("\"{name}\""), 4);
    }
    format!("{}\"{name}\":{}{}", space(rng), space(rng), fitting(rng, name))
}

/// A value that field could well have.
fn fitting(rng: &mut Random, name: &str) -> String {
    let mut word = |words: &[&'static str]| quoted(rng.pick(words));
    match name {
        "active" => rng.pick(&["true", "true", "false"]).to_owned(),
        "current_phase" => word(PHASES),
        "run_outcome" | "lifecycle_outcome" => word(OUTCOMES),
        "updated_at" | "completed_at" => word(TIMES),
        "iteration" | "max_iterations" | "review_cycle" | "fix_loop_count" | "max_fix_loops" => {
            rng.pick(NUMBERS).to_owned()
        }
        "linked_to" => word(&["autopilot", "ralph", ""]),
        "waiting" => r#"{"kind":"network"}"#.to_owned(),
        "handoff_artifacts" => {
            r#"{"ralplan":{"plan_path":"plan.md","test_spec_path":"audit.json"},"ralph":{"changed_files":["a"],"evidence":[{"command":"t","exit_code":0}]}}"#.to_owned()
        }
        "review_verdict" => format!(
            r#"{{"recommendation":{},"architectural_status":{},"clean":{}}}"#,
            word(&["APPROVE", "COMMENT", "REQUEST CHANGES"]),
            word(&["CLEAR", "WATCH", "BLOCK"]),
            rng.pick(&["true", "false"])
        ),
        "completion_audit" => {
            r#"{"passed":true,"checklist":["a"],"evidence":[{"command":"t","exit_code":0}]}"#.to_owned()
        }
        "last_check" => format!(r#"{{"command":"t","exit_code":{}}}"#, rng.pick(&["0", "1"])),
        "stages" => r#"["a",{"name":"b"}]"#.to_owned(),
        "verification" => r#"{"passed":true,"checks":["t"]}"#.to_owned(),
        "consensus" => r#"{"critic":"APPROVE","architect":"APPROVE"}"#.to_owned(),
        "plan_path" | "test_spec_path" | "completion_audit_path" => {
            word(&["plan.md", "audit.json", "../outside/canary", "missing"])
        }
        _ if name.starts_with("linked") => "true".to_owned(),
        _ => json_value(rng, 3),
    }
}

/// What may stand in a document's file: mostly a document.
pub fn document(rng: &mut Random) -> Vec<u8> {
    let count = rng.below(9);
    let mut all = fields(rng, count);
    if !rng.one_in(3) {
        all.insert(0, r#""active":true"#.to_owned());
    }
    if rng.one_in(2) {
        all.push(format!("\"revision\":{}", rng.pick(NUMBERS)));
    }
    let text = format!("{}{{{}{}}}", space(rng), all.join(","), space(rng));
    match rng.below(10) {
        0 => mutated(rng, text.as_bytes()),
        1 => odd_bytes(rng),
        2 => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        _ => text.into_bytes(),
    }
}

/// Bytes that are hardly JSON.
pub fn odd_bytes(rng: &mut Random) -> Vec<u8> {
    match rng.below(5) {
        0 => Vec::new(),
        1 => vec![0; rng.below(600)],
        2 => json_text(rng).into_bytes(),
        _ => (0..rng.below(200)).map(|_| rng.number() as u8).collect(),
    }
}

/// The text of a request for one of the state operations or cancel.
pub fn request(rng: &mut Random) -> String {
    let mut all = Vec::new();
    let odd = rng.one_in(10);
    if !rng.one_in(12) {
        all.push(if odd {
            field(rng, "\"mode\"", 2)
        } else {
            format!("\"mode\":{}", quoted(rng.pick(&MODES[..6])))
        });
    }
    if rng.one_in(2) {
        let session = if rng.one_in(10) {
            format!("\"{}\"", rng.pick(STRINGS))
        } else {
            quoted(rng.pick(SESSIONS))
        };
        all.push(format!("\"session_id\":{session}"));
    }
    if !rng.one_in(3) {
        let count = rng.below(5);
        all.extend(fields(rng, count));
    }
    if rng.one_in(6) {
        let count = rng.below(4);
        let inner = fields(rng, count).join(",");
        all.push(format!("\"state\":{{{inner}}}"));
    }
    for (name, times) in
        [("start", 6), ("resume", 10), ("all_sessions", 20), ("force", 20), ("every_session", 20)]
    {
        if rng.one_in(times) {
            all.push(format!("\"{name}\":{}", rng.pick(&["true", "true", "false", "null", "1"])));
        }
    }
    if rng.one_in(12) {
        all.push(format!("\"expected_revision\":{}", rng.pick(NUMBERS)));
    }
    if rng.one_in(20) {
        all.push(format!(
            "\"workingDirectory\":{}",
            quoted(rng.pick(&[".", "", "missing", "plan.md"]))
        ));
    }
    let text = format!("{{{}}}", all.join(","));
    if rng.one_in(8) {
        String::from_utf8_lossy(&mutated(rng, text.as_bytes())).into_owned()
    } else {
        text
    }
}

/// A line for an MCP server.
pub fn rpc_line(rng: &mut Random) -> Vec<u8> {
    let id = match rng.below(8) {
        0 => String::new(),
        1 => format!("\"id\":{},", json_value(rng, 3)),
        2 => format!("\"id\":\"{}\",", rng.pick(STRINGS)),
        _ => format!("\"id\":{},", rng.pick(NUMBERS)),
    };
    let tools = [
        "state_read",
        "state_write",
        "state_write",
        "state_clear",
        "state_list_active",
        "state_get_status",
        "cancel",
        "nothing",
    ];
    let body = match rng.below(10) {
        0 => format!("\"method\":{},\"params\":{}", json_value(rng, 2), json_value(rng, 4)),
        1 => format!("\"method\":\"initialize\",\"params\":{}", json_value(rng, 4)),
        2 => r#""method":"initialize","params":{"protocolVersion":"2025-06-18"}"#.to_owned(),
        3 => format!("\"method\":\"{}\"", rng.pick(&["ping", "tools/list", "tools/call", "x", ""])),
        4 => format!("\"{}\":{}", rng.pick(&["result", "error", "params"]), json_value(rng, 2)),
        _ => {
            let arguments = if rng.one_in(10) { json_value(rng, 4) } else { request(rng) };
            let name = rng.pick(&tools);
            format!(r#""method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}"#)
        }
    };
    let version = if rng.one_in(15) { json_value(rng, 1) } else { "\"2.0\"".to_owned() };
    let line = format!("{{\"jsonrpc\":{version},{id}{body}}}");
    let line = if rng.one_in(5) { mutated(rng, line.as_bytes()) } else { line.into_bytes() };
    // A line ends at the first newline, whatever was meant.
    line.into_iter().map(|byte| if byte == b'\n' { b' ' } else { byte }).collect()
}
