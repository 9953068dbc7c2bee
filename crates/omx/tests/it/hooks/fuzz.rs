//! R16 for hooks: any payload over any documents, in time, with an answer that
//! is one JSON object, and nothing written outside the project and the home.

use omx_testkit::fuzz::{Random, document, fuzz_at_most, json_value, mutated, odd_bytes, quoted};
use serde_json::Value;

use super::kit::answer;
use crate::project;

const EVENTS: [&str; 14] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SubagentStop",
    "StopFailure",
    "Interrupt",
    "PreCompact",
    "BeforeAgent",
    "AfterAgent",
    "Notification",
    "",
];

const FIELDS: [&str; 14] = [
    "prompt",
    "tool_name",
    "tool_input",
    "source",
    "stop_reason",
    "stopReason",
    "error",
    "resets_at",
    "last_assistant_message",
    "agent_id",
    "user_requested",
    "prompt_response",
    "transcript_path",
    "other",
];

const WORDS: [&str; 12] = [
    "$ralph x",
    "cancelomx",
    "stop",
    "continue",
    "$autopilot",
    "/team a $ralph b",
    "rate_limit",
    "mcp__omx__state_write",
    "compact",
    "\u{0}",
    "…",
    "ralph: mend it",
];

fn payload(rng: &mut Random, root: &str) -> Vec<u8> {
    let mut fields = vec![
        format!("\"hook_event_name\":{}", quoted(rng.pick(&EVENTS))),
        format!("\"session_id\":{}", quoted(rng.pick(&["s1", "s2", "", "../x", "s 1"]))),
        format!("\"cwd\":{}", quoted(root)),
    ];
    for _ in 0..rng.below(6) {
        let value = if rng.one_in(2) { quoted(rng.pick(&WORDS)) } else { json_value(rng, 4) };
        fields.push(format!("{}:{value}", quoted(rng.pick(&FIELDS))));
    }
    let text = format!("{{{}}}", fields.join(","));
    match rng.below(6) {
        0 => mutated(rng, text.as_bytes()),
        1 => odd_bytes(rng),
        _ => text.into_bytes(),
    }
}

#[test]
fn fuzz_hooks() {
    fuzz_at_most("fuzz_hooks", 60, |rng| {
        let project = project();
        for path in ["s1/ralph-state.json", "s1/autopilot-state.json", "s2/team-state.json"] {
            if !rng.one_in(3) {
                project.write(&format!(".omx/state/sessions/{path}"), document(rng));
            }
        }
        let root = project.root().display().to_string();
        for _ in 0..5 {
            let payload = payload(rng, &root);
            let host = rng.pick(&["codex", "claude", "gemini"]);
            let value: Value = answer(project.omx_command(&["hook", "--host", host]), &payload);
            assert!(value.is_object(), "{value}");
        }
        let mut places: Vec<_> = std::fs::read_dir(project.folder())
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        places.sort();
        assert_eq!(places, ["home", "project"]);
    });
}
