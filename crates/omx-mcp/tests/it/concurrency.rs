//! Several calls at once: no call delays another, a cancelled call stays silent.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{McpTestProject, TestConnection};
use crate::tools::{TEST_TOOLS, await_gate, open};

#[test]
fn mcp_a_waiting_tool_delays_no_ping_and_no_other_call() {
    let project = McpTestProject::new();
    let mut client = TestConnection::connect_to(&project, &TEST_TOOLS);
    client.call(1, "wait", &json!({"gate": "delay"}));
    client.ping(2);
    client.receive_for(2);
    client.call(3, "quick", &json!({}));
    client.receive_for(3);
    client.send(&json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}));
    client.receive_for(4);
    open("delay");
    let response = client.receive_for(1);
    assert_eq!(response["result"]["structuredContent"]["gate"], "delay");
    assert!(client.close().is_empty());
}

#[test]
fn mcp_a_write_that_finds_the_project_locked_delays_no_other_call() {
    let project = McpTestProject::new();
    let mut client = TestConnection::connect(&project);
    client.call(1, "state_write", &json!({"mode": "ralph", "active": true}));
    assert_eq!(client.receive_for(1)["result"]["isError"], false);
    let locked = project.store().lock(Duration::from_secs(60), "a test").unwrap();
    client.call(2, "state_write", &json!({"mode": "ralph", "state": {"mark": 2}}));
    client.ping(3);
    client.receive_for(3);
    client.call(4, "state_read", &json!({"mode": "ralph"}));
    assert_eq!(client.receive_for(4)["result"]["structuredContent"]["mark"], Value::Null);
    drop(locked);
    assert_eq!(client.receive_for(2)["result"]["isError"], false);
    client.call(5, "state_read", &json!({"mode": "ralph"}));
    assert_eq!(client.receive_for(5)["result"]["structuredContent"]["mark"], 2);
    assert!(client.close().is_empty());
}

#[test]
fn mcp_a_write_that_is_cancelled_while_it_waits_writes_nothing_and_stays_silent() {
    let project = McpTestProject::new();
    let mut client = TestConnection::connect(&project);
    client.call(1, "state_write", &json!({"mode": "ralph", "active": true}));
    client.receive_for(1);
    let locked = project.store().lock(Duration::from_secs(60), "a test").unwrap();
    client.call("two", "state_write", &json!({"mode": "ralph", "state": {"mark": 2}}));
    client.cancel("two");
    // The leader reads in order: once the ping is answered, the call is cancelled.
    client.expect_quiet();
    drop(locked);
    client.call(3, "state_write", &json!({"mode": "ralph", "state": {"other": 3}}));
    assert_eq!(client.receive_for(3)["result"]["isError"], false);
    client.call(4, "state_read", &json!({"mode": "ralph"}));
    let document = client.receive_for(4)["result"]["structuredContent"].clone();
    assert_eq!((&document["mark"], &document["other"]), (&Value::Null, &json!(3)));
    assert!(client.close().is_empty());
}

#[test]
fn mcp_a_cancelled_call_is_told_to_stop_and_gets_no_response() {
    let project = McpTestProject::new();
    let mut client = TestConnection::connect_to(&project, &TEST_TOOLS);
    client.call(1, "wait", &json!({"gate": "cancelled"}));
    client.call(2, "wait", &json!({"gate": "kept"}));
    await_gate("cancelled", |gate| gate.begun == 1);
    client.cancel(1);
    await_gate("cancelled", |gate| gate.cancelled == 1);
    // What was never sent, has finished or makes no sense is ignored.
    client.cancel(1);
    client.cancel(77);
    client.cancel(Value::Null);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}));
    client.expect_quiet();
    open("kept");
    client.receive_for(2);
    assert!(client.close().is_empty());
}

#[test]
fn mcp_calls_beyond_the_limit_wait_for_their_turn_and_can_be_cancelled_meanwhile() {
    let project = McpTestProject::new();
    let mut client = TestConnection::connect_to(&project, &TEST_TOOLS);
    for id in 0..12 {
        client.call(id, "wait", &json!({"gate": "many"}));
    }
    client.call(12, "wait", &json!({"gate": "queued"}));
    await_gate("many", |gate| gate.begun == 8);
    client.cancel(11);
    client.cancel(12);
    client.expect_quiet();
    open("many");
    let ids: BTreeSet<u64> = (0..11).map(|_| client.receive()["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..11).collect());
    client.expect_quiet();
    await_gate("many", |gate| gate.begun == 11);
    await_gate("queued", |gate| gate.begun == 0);
    assert!(client.close().is_empty());
}

#[test]
fn mcp_calls_that_run_when_the_input_closes_are_answered() {
    let project = McpTestProject::new();
    let mut client = TestConnection::connect_to(&project, &TEST_TOOLS);
    for id in 0..10 {
        client.call(id, "wait", &json!({"gate": "closing"}));
    }
    await_gate("closing", |gate| gate.begun == 8);
    open("closing");
    assert_eq!(client.close().len(), 10);
}

#[test]
fn mcp_progress_is_reported_under_the_clients_token() {
    let project = McpTestProject::new();
    let mut client = TestConnection::connect_to(&project, &TEST_TOOLS);
    for token in [json!("t1"), json!(7)] {
        let params = json!({"name": "steps", "_meta": {"progressToken": token}});
        client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        for done in 1..=3 {
            let wanted = json!({"progressToken": token, "progress": done, "total": 3,
                "message": format!("step {done}")});
            let line = client.receive();
            assert_eq!(line["method"], "notifications/progress");
            assert_eq!(line["params"], wanted);
            assert!(line.get("id").is_none(), "{line}");
        }
        assert_eq!(client.receive_for(1)["result"]["structuredContent"]["steps"], 3);
    }
    // Without a token there is no progress notification.
    client.call(2, "steps", &json!({}));
    client.receive_for(2);
    let params = json!({"name": "steps", "_meta": {"progressToken": [1]}});
    client.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}));
    client.receive_for(3);
    assert!(client.close().is_empty());
}

#[test]
fn mcp_quick_calls_sent_at_once_finish_in_order() {
    let project = McpTestProject::new();
    let mut client = TestConnection::connect(&project);
    client.call(0, "state_write", &json!({"mode": "ralph", "active": true}));
    client.receive_for(0);
    for round in 1..=40 {
        client.call(2 * round, "state_write", &json!({"mode": "ralph", "state": {"n": round}}));
        client.call(2 * round + 1, "state_read", &json!({"mode": "ralph"}));
    }
    for round in 1..=40 {
        client.receive_for(2 * round);
        let read = client.receive_for(2 * round + 1);
        assert_eq!(read["result"]["structuredContent"]["n"], round);
    }
    assert!(client.close().is_empty());
}
