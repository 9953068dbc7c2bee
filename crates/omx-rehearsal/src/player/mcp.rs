//! Calls an MCP tool as any client does: start the server, initialize, call the
//! tool, shut the server down.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::job::JobOutcome;
use super::job_process::JobProcess;
use crate::wire::ServerSpec;
use omx_agents::rpc::{Rpc, RpcIncoming};

/// The protocol version the client offers.
const PROTOCOL_VERSION: &str = "2025-06-18";
/// How long a server may take to exit once its input is closed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Calls a tool.
pub(super) fn call(
    server: &ServerSpec,
    tool: &str,
    args: Map<String, Value>,
    folder: &Path,
    timeout: Duration,
    process: &JobProcess,
) -> JobOutcome {
    let mut command = Command::new(&server.program);
    command
        .args(&server.args)
        .envs(&server.env)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let failed = |why: &dyn ToString| {
        JobOutcome::failed(format!("MCP server {:?}: {}", server.name, why.to_string()))
    };
    let mut child = match process.start(&mut command) {
        Ok(child) => child,
        Err(error) => return failed(&error),
    };
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return failed(&"no pipes");
    };
    let mut connection =
        Connection { input, output: read_lines(output), rpc: Rpc::version_2(timeout) };
    let deadline = Instant::now() + timeout;
    let result = connection.initialize(deadline).and_then(|()| {
        connection.request("tools/call", json!({"name": tool, "arguments": args}), deadline)
    });
    connection.close();
    process.stop();
    let _ = process.wait(child);
    match result {
        Ok(result) => read_result(&result),
        Err(why) => failed(&why),
    }
}

/// Reads the result of a tool call.
fn read_result(result: &Value) -> JobOutcome {
    let pieces = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = pieces.filter_map(|piece| piece["text"].as_str()).collect();
    let output = texts.join("\n");
    if result["isError"] == json!(true) {
        JobOutcome::failed(output)
    } else {
        JobOutcome::succeeded(output)
    }
}

struct Connection {
    input: ChildStdin,
    output: Receiver<Value>,
    rpc: Rpc<()>,
}

impl Connection {
    fn initialize(&mut self, deadline: Instant) -> Result<(), String> {
        let client = json!({"name": "omx-rehearsal", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client
        });
        self.request("initialize", params, deadline)?;
        let initialized = self.rpc.notification("notifications/initialized", json!({}));
        self.write(&initialized).map_err(|error| error.to_string())
    }

    fn request(&mut self, method: &str, params: Value, deadline: Instant) -> Result<Value, String> {
        let request = self.rpc.request_until((), method, params, deadline);
        self.write(&request).map_err(|error| error.to_string())?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.output.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => format!("{method} timed out"),
                RecvTimeoutError::Disconnected => {
                    format!("the server exited before it answered {method}")
                }
            })?;
            match self.rpc.parse_incoming(line) {
                RpcIncoming::Response((), answer) => return answer.map_err(|error| error.message),
                RpcIncoming::Request { id, method, .. } => {
                    let answer = match method.as_str() {
                        "ping" => self.rpc.response(&id, json!({})),
                        _ => self.rpc.reject(&id, -32601, "unknown method"),
                    };
                    self.write(&answer).map_err(|error| error.to_string())?;
                }
                RpcIncoming::Notification { .. } | RpcIncoming::Unknown(_) => {}
            }
        }
    }

    fn write(&mut self, line: &Value) -> io::Result<()> {
        self.input.write_all(format!("{line}\n").as_bytes())?;
        self.input.flush()
    }

    /// Closes the server's input and gives it a moment to exit on its own.
    fn close(self) {
        drop(self.input);
        let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
        let left = || deadline.saturating_duration_since(Instant::now());
        while self.output.recv_timeout(left()).is_ok() {}
    }
}

/// Reads a server's JSON lines on a thread, until it closes its output.
fn read_lines(output: ChildStdout) -> Receiver<Value> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            let Ok(line) = line else { return };
            let Ok(line) = serde_json::from_slice(&line) else { continue };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
