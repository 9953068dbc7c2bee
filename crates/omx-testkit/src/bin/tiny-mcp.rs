//! The smallest MCP server, for agents under test: one tool, `add`.

#![allow(clippy::print_stdout, reason = "a tool of the tests")]

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        // A notification wants no answer.
        let Some(id) = request.get("id") else { continue };
        let mut answer = json!({"jsonrpc": "2.0", "id": id});
        match result(&request) {
            Some(result) => answer["result"] = result,
            None => answer["error"] = json!({"code": -32601, "message": "unknown method"}),
        }
        println!("{answer}");
        let _ = std::io::stdout().flush();
    }
}

fn result(request: &Value) -> Option<Value> {
    let params = &request["params"];
    Some(match request["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "tiny", "version": "1"}
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [{
            "name": "add", "description": "Adds two numbers",
            "inputSchema": {
                "type": "object", "required": ["a", "b"],
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}
            }
        }]}),
        "tools/call" => {
            let number = |name: &str| params["arguments"][name].as_i64().unwrap_or_default();
            let sum = format!("sum={}", number("a") + number("b"));
            json!({"content": [{"type": "text", "text": sum}]})
        }
        _ => return None,
    })
}
