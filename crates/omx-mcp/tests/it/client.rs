//! A client that talks to a server on another thread.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use omx_kernel::Timestamp;
use omx_mcp::{McpServer, McpTool, ToolGroup, serve};
use omx_ops::{Clock, Context};
use omx_store::Store;
use serde_json::{Value, json};

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000)
    }
}

/// A project in a temporary folder.
pub struct McpTestProject {
    folder: tempfile::TempDir,
}

impl McpTestProject {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn context(&self) -> Context<'static> {
        let context = Context::in_project(self.root(), &FixedClock, "mcp");
        Context { lock_deadline: Duration::from_secs(60), ..context }
    }

    pub fn store(&self) -> Store {
        self.context().store().unwrap()
    }
}

/// One connection.
pub struct TestConnection {
    input: PipeWriter,
    output: BufReader<PipeReader>,
    server: JoinHandle<std::io::Result<()>>,
}

impl TestConnection {
    /// Connects to a server of omx's own tools.
    pub fn connect(project: &McpTestProject) -> Self {
        Self::start(McpServer::new(project.context(), ToolGroup::ALL.to_vec(), "0"))
    }

    /// Connects to a server of other tools.
    pub fn connect_to(project: &McpTestProject, tools: &'static [McpTool]) -> Self {
        let server = McpServer::new(project.context(), ToolGroup::ALL.to_vec(), "0");
        Self::start(McpServer { tools, ..server })
    }

    fn start(server: McpServer<'static>) -> Self {
        let (server_input, input) = std::io::pipe().unwrap();
        let (output, server_output) = std::io::pipe().unwrap();
        let server = std::thread::spawn(move || {
            serve(&server, BufReader::new(server_input), std::io::BufWriter::new(server_output))
        });
        Self { input, output: BufReader::new(output), server }
    }

    pub fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub fn send_text(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        let id: Value = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    pub fn ping(&mut self, id: impl Into<Value>) {
        let id: Value = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    }

    pub fn cancel(&mut self, id: impl Into<Value>) {
        let id: Value = id.into();
        let params = json!({"requestId": id, "reason": "a test"});
        self.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }

    /// The next line of the server.
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the server closed the connection: {line:?}");
        serde_json::from_str(&line).unwrap()
    }

    /// The next line, which must be the response to this request.
    #[track_caller]
    pub fn receive_for(&mut self, id: impl Into<Value>) -> Value {
        let id: Value = id.into();
        let response = self.receive();
        assert_eq!(response["id"], id, "{response}");
        response
    }

    /// Sends a ping and expects its response next: nothing else was on its way.
    #[track_caller]
    pub fn expect_quiet(&mut self) {
        self.ping("quiet");
        self.receive_for("quiet");
    }

    /// Closes the input, and returns the lines that still come.
    pub fn close(self) -> Vec<Value> {
        drop(self.input);
        let lines = self.output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let lines = lines.collect();
        self.server.join().unwrap().unwrap();
        lines
    }
}
