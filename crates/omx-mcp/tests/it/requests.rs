//! What the server answers to requests.

use omx_mcp::{PROTOCOL_VERSIONS, TOOLS};
use serde_json::{Value, json};

use crate::client::{McpTestProject, TestConnection};

#[test]
fn mcp_the_version_of_the_client_is_used_where_it_is_known() {
    let mut client = TestConnection::connect(&McpTestProject::new());
    for version in PROTOCOL_VERSIONS.into_iter().chain(["1999-01-01"]) {
        let params = json!({"protocolVersion": version});
        client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
        let known = PROTOCOL_VERSIONS.contains(&version);
        let wanted = if known { version } else { PROTOCOL_VERSIONS[0] };
        assert_eq!(client.receive_for(1)["result"]["protocolVersion"], wanted);
    }
    assert!(client.close().is_empty());
}

#[test]
fn mcp_every_tool_has_a_description_a_schema_and_four_annotations() {
    let mut client = TestConnection::connect(&McpTestProject::new());
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let listed = client.receive_for(1)["result"]["tools"].as_array().unwrap().clone();
    assert_eq!(listed.len(), TOOLS.len());
    for (tool, row) in listed.iter().zip(TOOLS) {
        assert_eq!(tool["name"], row.name);
        assert_eq!(tool["inputSchema"]["type"], "object", "{}", row.name);
        let hints = tool["annotations"].as_object().unwrap();
        let names: Vec<&str> = hints.keys().map(String::as_str).collect();
        let wanted = ["destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"];
        assert_eq!(names, wanted, "{}", row.name);
        assert!(hints.values().all(Value::is_boolean), "{}", row.name);
        let is_reader = hints["readOnlyHint"] == true;
        assert!(!(is_reader && hints["destructiveHint"] == true), "{}", row.name);
    }
    assert!(client.close().is_empty());
}

#[test]
fn mcp_a_line_that_is_no_message_has_its_error_and_the_server_continues() {
    let mut client = TestConnection::connect(&McpTestProject::new());
    for (line, code) in [
        ("{", -32700),
        ("42", -32600),
        (r#"{"jsonrpc":"2.0","id":5,"method":"nope"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nope"}}"#, -32602),
    ] {
        client.send_text(line);
        assert_eq!(client.receive()["error"]["code"], code, "{line}");
    }
    client.send_text(&"x".repeat(4 * 1024 * 1024 + 1));
    assert_eq!(client.receive()["error"]["code"], -32600);
    client.send_text("");
    client.expect_quiet();
    assert!(client.close().is_empty());
}

#[test]
fn mcp_a_refusal_is_a_result_with_the_error_object() {
    let mut client = TestConnection::connect(&McpTestProject::new());
    client.call(1, "state_read", &json!({"mode": "nope"}));
    let result = client.receive_for(1)["result"].clone();
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["code"], "unknown_mode");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    assert!(client.close().is_empty());
}
