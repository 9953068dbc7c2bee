//! What makes quick calls quick: they run on the thread that reads, and the responses to
//! requests that came together leave together. How many a second that makes, `bench/compare`
//! measures (P7).

use std::collections::HashSet;
use std::io::{self, BufReader, Write};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use omx_mcp::{McpServer, ToolGroup, serve};
use serde_json::{Value, json};

use crate::client::McpTestProject;

/// What a client would see, and what it took.
#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    flushes: usize,
    threads: HashSet<ThreadId>,
}

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Seen>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut seen = self.0.lock().unwrap();
        seen.threads.insert(thread::current().id());
        seen.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap().flushes += 1;
        Ok(())
    }
}

#[test]
fn quality_p7_quick_calls_take_no_thread_and_no_flush_of_their_own() {
    const CALLS: usize = 64;
    let project = McpTestProject::new();
    let server = McpServer::new(project.context(), ToolGroup::ALL.to_vec(), "0");
    let requests: String = (0..CALLS)
        .map(|id| {
            let params = json!({"name": "state_read", "arguments": {"mode": "ralph"}});
            let request =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            format!("{request}\n")
        })
        .collect();
    let output = Output::default();
    let input = BufReader::with_capacity(requests.len(), requests.as_bytes());
    serve(&server, input, output.clone()).unwrap();
    let seen = output.0.lock().unwrap();
    let ids: Vec<Value> = String::from_utf8_lossy(&seen.bytes)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].take())
        .collect();
    assert_eq!(ids, (0..CALLS).map(Value::from).collect::<Vec<_>>());
    // One for all of them, one when the connection ends.
    assert_eq!(seen.flushes, 2);
    assert_eq!(seen.threads, HashSet::from([thread::current().id()]));
}
