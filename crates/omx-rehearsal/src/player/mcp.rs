//! A call of an MCP tool, as any client makes it: start the server, introduce
//! oneself, call, and let the server go.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::child::Child;
use super::job::Done;
use crate::wire::Server;
use omx_agents::rpc::{Rpc, RpcIncoming};

/// The version of the protocol that is offered.
const VERSION: &str = "2025-06-18";
/// How long a server may take to leave once its input is closed.
const FAREWELL: Duration = Duration::from_millis(500);

/// Calls a tool.
pub(super) fn call(
    server: &Server,
    tool: &str,
    args: Map<String, Value>,
    folder: &Path,
    timeout: Duration,
    child: &Child,
) -> Done {
    let mut command = Command::new(&server.program);
    command
        .args(&server.args)
        .envs(&server.env)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let failed = |why: &dyn ToString| {
        Done::failed(format!("MCP server {:?}: {}", server.name, why.to_string()))
    };
    let mut process = match child.start(&mut command) {
        Ok(process) => process,
        Err(error) => return failed(&error),
    };
    let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
        return failed(&"it has no pipes");
    };
    let mut line = Line { input, output: lines_of(output), rpc: Rpc::version_2(timeout) };
    let deadline = Instant::now() + timeout;
    let result = line
        .introduce(deadline)
        .and_then(|()| line.ask("tools/call", json!({"name": tool, "arguments": args}), deadline));
    line.close();
    child.stop();
    let _ = child.wait(process);
    match result {
        Ok(result) => done(&result),
        Err(why) => failed(&why),
    }
}

/// What a tool's result means.
fn done(result: &Value) -> Done {
    let pieces = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = pieces.filter_map(|piece| piece["text"].as_str()).collect();
    let output = texts.join("\n");
    if result["isError"] == json!(true) { Done::failed(output) } else { Done::succeeded(output) }
}

struct Line {
    input: ChildStdin,
    output: Receiver<Value>,
    rpc: Rpc<()>,
}

impl Line {
    fn introduce(&mut self, deadline: Instant) -> Result<(), String> {
        let client = json!({"name": "omx-rehearsal", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({
            "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client
        });
        self.ask("initialize", hello, deadline)?;
        let told = self.rpc.notification("notifications/initialized", json!({}));
        self.write(&told).map_err(|error| error.to_string())
    }

    fn ask(&mut self, method: &str, params: Value, deadline: Instant) -> Result<Value, String> {
        let request = self.rpc.request_until((), method, params, deadline);
        self.write(&request).map_err(|error| error.to_string())?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.output.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => format!("no answer to {method} in time"),
                RecvTimeoutError::Disconnected => format!("it left before it answered {method}"),
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

    /// Closes the server's input and gives it a moment to leave by itself.
    fn close(self) {
        drop(self.input);
        let deadline = Instant::now() + FAREWELL;
        let left = || deadline.saturating_duration_since(Instant::now());
        while self.output.recv_timeout(left()).is_ok() {}
    }
}

/// The JSON lines of a server, until it closes its output.
fn lines_of(output: ChildStdout) -> Receiver<Value> {
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
