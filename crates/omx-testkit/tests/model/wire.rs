//! The three wire formats, seen by a client: text, tools, structured answers,
//! errors, as a stream and at once.

use omx_testkit::model::{ModelScript, ModelServer, ScriptTurn, ScriptedFailure};
use serde_json::{Value, json};

use crate::client::post;

const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages?beta=true";
const STREAM: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";
const GENERATE: &str = "/v1beta/models/m:generateContent";

fn openai(prompt: &str, stream: bool) -> Value {
    json!({
        "model": "m", "stream": stream, "input": [
            {"type": "message", "role": "developer", "content": "rules [[script:no]]"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}
        ],
        "tools": [
            {"type": "function", "name": "exec_command"},
            {"type": "custom", "name": "apply_patch"}, {"type": "tool_search"}
        ]
    })
}

fn anthropic(prompt: &str, stream: bool) -> Value {
    json!({
        "model": "m", "stream": stream, "tools": [{"name": "Bash"}, {"name": "Write"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    })
}

fn gemini(prompt: &str) -> Value {
    json!({
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "tools": [{"functionDeclarations": [{"name": "write_file"}, {"name": "mcp_tiny_add"}]}]
    })
}

fn server(turn: ScriptTurn) -> ModelServer {
    ModelServer::start([ModelScript::named("s").turn(turn)])
}

/// A turn with everything all three clients can do.
fn everything() -> ScriptTurn {
    ScriptTurn::new()
        .say("so it is")
        .shell("ls -l")
        .write("a.txt", "one\ntwo\n")
        .mcp("tiny", "add", json!({"a": 1}))
        .usage(7, 5)
}

#[test]
fn openai_at_once() {
    let server = server(everything());
    let answer = post(&server, RESPONSES, &openai("[[script:s]]", false)).json();
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["usage"]["input_tokens"], 7);
    assert_eq!(answer["usage"]["total_tokens"], 12);
    let output = answer["output"].as_array().unwrap();
    assert_eq!(output[0]["content"][0]["text"], "so it is");
    assert_eq!(output[1]["type"], "function_call");
    assert_eq!(output[1]["name"], "exec_command");
    assert_eq!(output[1]["arguments"], r#"{"cmd":"ls -l"}"#);
    assert_eq!(output[2]["type"], "custom_tool_call");
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch\n";
    assert_eq!((&output[2]["name"], &output[2]["input"]), (&"apply_patch".into(), &patch.into()));
    assert_eq!((&output[3]["namespace"], &output[3]["name"]), (&"mcp__tiny".into(), &"add".into()));
    let mut calls: Vec<&Value> = output[1..].iter().map(|item| &item["call_id"]).collect();
    calls.dedup();
    assert_eq!(calls.len(), 3, "every call has an id of its own");
}

#[test]
fn openai_stream() {
    let server = server(
        ScriptTurn::new().say("a b").shell("ls").slowly(std::time::Duration::from_millis(1)),
    );
    let answer = post(&server, RESPONSES, &openai("[[script:s]]", true));
    assert!(answer.whole && answer.has_header("content-type: text/event-stream"), "{answer:?}");
    assert_eq!(
        answer.names(),
        [
            "response.created",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.output_item.done",
            "response.completed"
        ]
    );
    let events = answer.events();
    assert!(events.iter().all(|(name, data)| data["type"] == name.as_str()));
    assert_eq!((&events[3].1["delta"], &events[4].1["delta"]), (&"a ".into(), &"b".into()));
    let done = &events[9].1["response"];
    assert_eq!(
        (&done["output"][0], &done["output"][1]),
        (&events[6].1["item"], &events[8].1["item"])
    );
}

#[test]
fn openai_names_of_mcp_tools() {
    let server = server(ScriptTurn::new().mcp("tiny", "add", json!({})));
    let called = |tools: Value| {
        let mut body = openai("[[script:s]]", false);
        body["tools"] = tools;
        let item = post(&server, RESPONSES, &body).json()["output"][0].clone();
        (item["namespace"].clone(), item["name"].clone())
    };
    let listed = json!([{"type": "namespace", "name": "x_tiny_x", "tools": [{"name": "add"}]}]);
    assert_eq!(called(listed), ("x_tiny_x".into(), "add".into()));
    assert_eq!(called(json!([{"type": "tool_search"}])), ("mcp__tiny".into(), "add".into()));
    let plain = json!([{"type": "function", "name": "shell"}]);
    assert_eq!(called(plain), (Value::Null, "mcp__tiny__add".into()));
}

#[test]
fn anthropic_at_once() {
    let server = server(everything());
    let answer = post(&server, MESSAGES, &anthropic("[[script:s]]", false)).json();
    assert_eq!(answer["stop_reason"], "tool_use");
    assert_eq!(answer["usage"]["output_tokens"], 5);
    let content = answer["content"].as_array().unwrap();
    assert_eq!(content[0], json!({"type": "text", "text": "so it is"}));
    assert_eq!(
        (&content[1]["name"], &content[1]["input"]["command"]),
        (&"Bash".into(), &"ls -l".into())
    );
    assert_eq!(content[2]["name"], "Write");
    assert_eq!(content[2]["input"], json!({"file_path": "a.txt", "content": "one\ntwo\n"}));
    assert_eq!(content[3]["name"], "mcp__tiny__add");
    assert_eq!(content[3]["input"], json!({"a": 1}));
}

#[test]
fn anthropic_stream() {
    let server = server(ScriptTurn::new().say("so").call("Agent", json!({"prompt": "p"})));
    let answer = post(&server, MESSAGES, &anthropic("[[script:s]]", true));
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let names =
        [&["message_start"], &block[..], &block, &["message_delta", "message_stop"]].concat();
    assert_eq!(answer.names(), names);
    let events = answer.events();
    assert_eq!(events[2].1["delta"], json!({"type": "text_delta", "text": "so"}));
    assert_eq!(events[4].1["content_block"]["input"], json!({}));
    let delta = json!({"type": "input_json_delta", "partial_json": "{\"prompt\":\"p\"}"});
    assert_eq!(events[5].1["delta"], delta);
    assert_eq!(events[7].1["delta"]["stop_reason"], "tool_use");
}

#[test]
fn gemini_at_once_and_as_a_stream() {
    let server = server(everything());
    let whole = post(&server, GENERATE, &gemini("[[script:s]]")).json();
    let parts = whole["candidates"][0]["content"]["parts"].as_array().unwrap();
    assert_eq!(parts[0], json!({"text": "so it is"}));
    assert_eq!(parts[1]["functionCall"]["name"], "run_shell_command");
    assert_eq!(
        parts[2]["functionCall"]["args"],
        json!({"file_path": "a.txt", "content": "one\ntwo\n"})
    );
    assert_eq!(parts[3]["functionCall"]["name"], "mcp_tiny_add");
    assert_eq!(whole["candidates"][0]["finishReason"], "STOP");
    assert_eq!(whole["usageMetadata"]["totalTokenCount"], 12);

    let events = post(&server, STREAM, &gemini("[[script:s]]")).events();
    assert_eq!(events.len(), 5);
    for (at, (name, data)) in events.iter().enumerate() {
        assert!(name.is_empty());
        let candidate = &data["candidates"][0];
        assert_eq!(candidate["finishReason"] == "STOP", at == 4, "only the last event ends it");
    }
    assert_eq!(
        events[1].1["candidates"][0]["content"]["parts"][0]["functionCall"]["args"]["command"],
        "ls -l"
    );
}

#[test]
fn structured_answers() {
    let server = server(ScriptTurn::new().answer(json!({"ok": true})));
    let schema = json!({"type": "object"});
    let mut codex = openai("[[script:s]]", false);
    codex["text"] = json!({"format": {"type": "json_schema", "strict": true, "schema": schema}});
    let text = post(&server, RESPONSES, &codex).json()["output"][0]["content"][0]["text"].clone();
    assert_eq!(text, r#"{"ok":true}"#);

    let mut claude = anthropic("[[script:s]]", false);
    claude["tools"][1] = json!({"name": "StructuredOutput", "input_schema": schema});
    let block = post(&server, MESSAGES, &claude).json()["content"][0].clone();
    assert_eq!(
        (&block["name"], &block["input"]),
        (&"StructuredOutput".into(), &json!({"ok": true}))
    );

    let parts = post(&server, GENERATE, &gemini("[[script:s]]")).json();
    let text = &parts["candidates"][0]["content"]["parts"][0]["text"];
    assert_eq!(text, "```json\n{\"ok\":true}\n```");
    let wanted: Vec<bool> =
        server.turns("s").iter().map(|one| one.schema() == Some(&schema)).collect();
    assert_eq!(wanted, [true, true, false]);
}

#[test]
fn errors_in_each_vendors_form() {
    let limit = ScriptedFailure::status(429).retry_after(3).resets_at(99).header("x-own", "1");
    let server = server(ScriptTurn::new().failing(limit));
    let answers = [
        post(&server, RESPONSES, &openai("[[script:s]]", true)),
        post(&server, MESSAGES, &anthropic("[[script:s]]", true)),
        post(&server, STREAM, &gemini("[[script:s]]")),
    ];
    for answer in &answers {
        assert_eq!(answer.status, 429);
        assert!(answer.has_header("retry-after: 3") && answer.has_header("x-own: 1"), "{answer:?}");
        assert_eq!(answer.json()["error"]["message"], "scripted failure");
    }
    let [openai, anthropic, gemini] = answers;
    assert_eq!(openai.json()["error"]["type"], "rate_limit_exceeded");
    assert_eq!(openai.json()["error"]["resets_at"], 99);
    assert_eq!(anthropic.json()["error"]["type"], "rate_limit_error");
    assert!(anthropic.has_header("anthropic-ratelimit-unified-reset: 99"), "{anthropic:?}");
    assert_eq!(gemini.json()["error"]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(gemini.json()["error"]["details"][0]["retryDelay"], "3s");
}

#[test]
fn a_patch_is_for_codex_only() {
    let server = server(ScriptTurn::new().patch("*** Begin Patch"));
    let output = post(&server, RESPONSES, &openai("[[script:s]]", false)).json()["output"].clone();
    assert_eq!(output[0]["input"], "*** Begin Patch");
    assert_eq!(post(&server, MESSAGES, &anthropic("[[script:s]]", true)).status, 400);
    assert_eq!(post(&server, STREAM, &gemini("[[script:s]]")).status, 400);
}
