//! A measurement for people: `cargo test -p omx-mcp --release -- --ignored --nocapture`.

use std::time::Instant;

use serde_json::json;

use crate::client::{McpTestProject, TestConnection};

#[test]
#[ignore = "a measurement"]
fn reads_per_second() {
    const READS: u32 = 20_000;
    let mut client = TestConnection::connect(&McpTestProject::new());
    client.call(1, "state_write", &json!({"mode": "ralph", "active": true}));
    client.receive_for(1);
    let start = Instant::now();
    for _ in 0..READS {
        client.call(2, "state_read", &json!({"mode": "ralph"}));
        client.receive();
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.0} reads/s", f64::from(READS) / seconds);
    client.close();
}
