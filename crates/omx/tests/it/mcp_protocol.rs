//! The MCP protocol of the server: every line in and out, byte for byte.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use omx_testkit::{TestProject, await_condition};
use serde_json::{Value, json};

use crate::cancel_kit::MODES;
use crate::project;

/// Sends bytes to a new server, closes the pipe, and takes the lines of its answer.
#[track_caller]
fn exchange(project: &TestProject, bytes: &[u8]) -> Vec<String> {
    let outcome = project.omx_stdin(&["mcp"], bytes);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(outcome.stdout.is_empty() || outcome.stdout.ends_with('\n'));
    outcome.stdout.lines().map(str::to_owned).collect()
}

/// The only answer to one line.
#[track_caller]
fn answer(line: &str) -> Value {
    let lines = exchange(&project(), format!("{line}\n").as_bytes());
    assert_eq!(lines.len(), 1, "{lines:?}");
    serde_json::from_str(&lines[0]).unwrap()
}

const PING: &str = r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":"last","result":{}}"#;

#[test]
fn mcp_initialize_negotiates_the_version() {
    let newest = "2025-11-25";
    let table = [
        (json!({"protocolVersion": "2025-11-25"}), newest),
        (json!({"protocolVersion": "2025-06-18"}), "2025-06-18"),
        (json!({"protocolVersion": "2025-03-26"}), "2025-03-26"),
        (json!({"protocolVersion": "2024-11-05"}), "2024-11-05"),
        (json!({"protocolVersion": "1999-01-01"}), newest),
        (json!({"protocolVersion": "2099-01-01"}), newest),
        (json!({"protocolVersion": 7}), newest),
        (json!({}), newest),
    ];
    for (params, wanted) in table {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let result = answer(&request.to_string())["result"].clone();
        assert_eq!(
            result,
            json!({"protocolVersion": wanted, "capabilities": {"tools": {"listChanged": false}},
                "serverInfo": {"name": "omx", "version": env!("CARGO_PKG_VERSION")}})
        );
    }
    let missing = answer(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    assert_eq!(missing["result"]["protocolVersion"], newest);
}

#[test]
fn mcp_the_server_has_the_name_of_its_dialect() {
    let project = project();
    let line = br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    let outcome = project.omx_stdin(&["mcp", "--dialect", "omc"], line);
    assert!(outcome.stdout.contains(r#""serverInfo":{"name":"omc""#), "{outcome:?}");
}

#[test]
fn mcp_ping_is_answered_with_an_empty_object() {
    assert_eq!(exchange(&project(), format!("{PING}\n").as_bytes()), [PONG]);
    // Also when the last line has no end, or ends as on Windows.
    assert_eq!(exchange(&project(), PING.as_bytes()), [PONG]);
    assert_eq!(exchange(&project(), format!("\r\n\n{PING}\r\n").as_bytes()), [PONG]);
}

/// Every tool, in the order of the list.
pub const TOOL_NAMES: [&str; 19] = [
    "state_read",
    "state_write",
    "state_clear",
    "state_list_active",
    "state_get_status",
    "cancel",
    "run_start",
    "run_status",
    "run_list",
    "run_list_live",
    "run_show",
    "run_attach",
    "run_answer",
    "run_cancel",
    "run_limit",
    "run_resume",
    "run_integrate",
    "run_discard",
    "run_gc",
];

#[test]
fn mcp_tools_are_listed_with_schemas() {
    let listed = answer(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOL_NAMES);
    for tool in tools {
        let name = &tool["name"];
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        let properties = schema["properties"].as_object().unwrap();
        for (property, schema) in properties {
            let kind = schema["type"].as_str().unwrap_or_default();
            let known = ["string", "boolean", "integer", "object", "array"];
            assert!(known.contains(&kind), "{name}.{property}: {schema}");
            assert!(schema["description"].is_string(), "{name}.{property}");
        }
        for required in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{name}: {required}");
        }
        assert_eq!(schema["additionalProperties"], *name == "state_write", "{name}");
        let reads = [
            "state_read",
            "state_list_active",
            "state_get_status",
            "run_status",
            "run_list",
            "run_list_live",
            "run_show",
            "run_attach",
        ];
        let is_reader = reads.contains(&name.as_str().unwrap());
        assert_eq!(tool["annotations"]["readOnlyHint"], is_reader, "{name}");
    }
    let modes = tools[0]["inputSchema"]["properties"]["mode"]["enum"].as_array().unwrap();
    assert!(MODES.iter().all(|mode| modes.contains(&json!(mode))), "{modes:?}");
    let one_group = project().omx_stdin(&["mcp", "--tools", "state"], PING.as_bytes());
    assert_eq!(one_group.code, Some(0));
    let unknown = project().omx(&["mcp", "--tools", "nope"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(1), ""), "{unknown:?}");
}

#[test]
fn mcp_every_broken_line_gets_its_error_and_the_server_continues() {
    let call = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{params}}}"#)
            .into_bytes()
    };
    let table: Vec<(Vec<u8>, Value, i64)> = vec![
        (b"{".to_vec(), json!(null), -32700),
        (b"nonsense".to_vec(), json!(null), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x".to_vec(), json!(null), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(), json!(null), -32700),
        (b"\0".to_vec(), json!(null), -32700),
        (b"42".to_vec(), json!(null), -32600),
        (b"null".to_vec(), json!(null), -32600),
        (format!("[{PING}]").into_bytes(), json!(null), -32600),
        (b"[]".to_vec(), json!(null), -32600),
        (br#"{"id":7,"method":"ping"}"#.to_vec(), json!(7), -32600),
        (br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#.to_vec(), json!(7), -32600),
        (br#"{"jsonrpc":"2.0","id":7}"#.to_vec(), json!(7), -32600),
        (br#"{"jsonrpc":"2.0","id":7,"method":5}"#.to_vec(), json!(7), -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(), json!(null), -32600),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_vec(), json!(null), -32600),
        (br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#.to_vec(), json!(null), -32600),
        (br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#.to_vec(), json!(null), -32600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_vec(), json!(null), -32600),
        (br#"{"jsonrpc":"2.0","id":5,"method":"nope"}"#.to_vec(), json!(5), -32601),
        (br#"{"jsonrpc":"2.0","id":5,"method":"resources/list"}"#.to_vec(), json!(5), -32601),
        (br#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#.to_vec(), json!(5), -32602),
        (call("[]"), json!(5), -32602),
        (call("{}"), json!(5), -32602),
        (call(r#"{"name":7}"#), json!(5), -32602),
        (call(r#"{"name":"nope"}"#), json!(5), -32602),
    ];
    let project = project();
    let mut input = Vec::new();
    for (line, _, _) in &table {
        input.extend(line);
        input.push(b'\n');
    }
    input.extend(PING.as_bytes());
    let lines = exchange(&project, &input);
    assert_eq!(lines.len(), table.len() + 1);
    for (line, (sent, id, code)) in lines.iter().zip(&table) {
        let answer: Value = serde_json::from_str(line).unwrap();
        let sent = String::from_utf8_lossy(sent);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (id, &json!(code)),
            "{sent}: {answer}"
        );
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(answer.get("result").is_none(), "{answer}");
    }
    assert_eq!(lines.last().map(String::as_str), Some(PONG));
    assert!(!project.root().join(".omx").exists());
}

#[test]
fn mcp_ids_come_back_as_they_were_sent() {
    for id in ["0", "-7", "9223372036854775807", r#""""#, r#""a\u0062\"c""#, r#""é""#] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let wanted = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(exchange(&project(), line.as_bytes()), [wanted]);
    }
}

#[test]
fn mcp_notifications_and_responses_get_no_answer() {
    let silent = [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"nope"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"state_write","arguments":{"mode":"ralph","active":true}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}"#,
        "",
        "   ",
    ];
    let project = project();
    assert_eq!(exchange(&project, format!("{}\n{PING}\n", silent.join("\n")).as_bytes()), [PONG]);
    assert!(!project.root().join(".omx").exists(), "a notification does nothing");
    assert_eq!(exchange(&project, b""), Vec::<String>::new());
}

#[test]
fn mcp_a_line_over_four_mebibytes_is_refused_and_the_next_one_answered() {
    const MOST: usize = 4 * 1024 * 1024;
    let padded = |length: usize| {
        let mut line = PING.to_owned();
        line.extend(std::iter::repeat_n(' ', length - PING.len()));
        line
    };
    // With its end, the longest line has just as many bytes.
    let lines = exchange(&project(), format!("{}\n{PING}\n", padded(MOST - 1)).as_bytes());
    assert_eq!(lines, [PONG, PONG]);
    for length in [MOST, MOST + 1, 3 * MOST] {
        let lines = exchange(&project(), format!("{}\n{PING}\n", padded(length)).as_bytes());
        let refused: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(null), &json!(-32600)));
        assert_eq!(lines[1..], [PONG], "{length}");
    }
}

#[test]
fn mcp_pipelined_requests_are_answered_in_order() {
    let project = project();
    project.put(json!({"mode": "ralph", "active": true}));
    let mut client = project.mcp();
    let mut text = String::new();
    for id in 1..=500 {
        let params = match id % 3 {
            0 => json!({"name": "state_write", "arguments": {"mode": "ralph", "state": {"n": id}}}),
            1 => json!({"name": "state_read", "arguments": {"mode": "ralph"}}),
            _ => json!({"name": "nope"}),
        };
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        text += &format!("{request}\n");
    }
    client.send_line(text.trim_end());
    let mut written = json!(null);
    for id in 1..=500 {
        let answer: Value = serde_json::from_str(&client.receive_line()).unwrap();
        assert_eq!(answer["id"], id);
        let result = &answer["result"]["structuredContent"];
        match id % 3 {
            0 => written = json!(id),
            // A read sees the write before it.
            1 => assert_eq!(result["n"], written, "{answer}"),
            _ => assert_eq!(answer["error"]["code"], -32602),
        }
    }
    assert_eq!(client.close(), Some(0));
}

#[test]
fn mcp_missing_arguments_count_as_empty() {
    let project = project();
    let mut client = project.mcp();
    for params in [
        json!({"name": "state_list_active"}),
        json!({"name": "state_list_active", "arguments": null}),
    ] {
        let answer = client.request("tools/call", &params);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert_eq!(
            answer["result"]["structuredContent"],
            json!({"active_modes": [], "entries": []})
        );
    }
    for arguments in [json!([]), json!("x"), json!(7)] {
        let (refused, object) = client.call("state_list_active", &arguments);
        assert!(refused && object["code"] == "invalid_input", "{object}");
    }
}

#[test]
fn mcp_values_pass_byte_for_byte() {
    let fields = r#""zeta":18446744073709551617,"price":1.10,"lone":"\ud800","huge":1e400,"order":{"b":1,"a":[2,1.0]},"text":"\u00e9é\/","alpha":-0"#;
    let project = project();
    let mut client = project.mcp();
    let written =
        client.call_raw("state_write", &format!(r#"{{"mode":"ralph","active":true,{fields}}}"#));
    assert!(written.contains(r#""isError":false"#), "{written}");
    client.call_raw("state_write", r#"{"mode":"ralph","iteration":1,"state":{"one more":0.10}}"#);
    let read = client.call_raw("state_read", r#"{"mode":"ralph"}"#);
    let wanted = format!(r#",{fields},"one more":0.10}}"#);
    assert!(read.contains(&format!("{wanted},\"isError\"")), "structure: {read}");
    // As text the same bytes, once more in quotes.
    let quoted = wanted.replace('\\', r"\\").replace('"', "\\\"");
    assert!(read.contains(&format!("{quoted}\"")), "text: {read}");
    let file = project.read(project.state("ralph-state.json"));
    for field in [
        r#""zeta": 18446744073709551617"#,
        r#""lone": "\ud800""#,
        r#""huge": 1e400"#,
        r#""price": 1.10"#,
    ] {
        assert!(
            file.contains(field) || file.contains(&field.replace(": ", ":")),
            "{field}: {file}"
        );
    }
    let status = client.call_raw("state_get_status", "{}");
    assert!(status.contains(&wanted), "{status}");
}

#[test]
fn mcp_the_server_ends_with_the_pipe() {
    let client = project().mcp();
    assert_eq!(client.close(), Some(0));
}

#[test]
fn mcp_the_server_ends_with_its_parent_even_if_the_pipe_stays_open() {
    let project = project();
    let script = "exec 3<&0; \"$0\" mcp <&3 & echo $!; wait";
    let mut parent = project
        .command("sh")
        .args(["-c", script])
        .arg(project.binary())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = parent.stdin.take().unwrap();
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let server: u32 = lines.next().unwrap().unwrap().parse().unwrap();
    writeln!(pipe, "{PING}").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), PONG);
    let is_running = || {
        let stat = std::fs::read_to_string(format!("/proc/{server}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    assert!(is_running());
    parent.kill().unwrap();
    parent.wait().unwrap();
    await_condition("the end of the server", Duration::from_secs(10), || !is_running());
    drop(pipe);
}
