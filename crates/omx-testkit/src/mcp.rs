//! A small MCP client that speaks raw lines, so that tests see every byte.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

/// No answer of a test's server takes longer.
const DEADLINE: Duration = Duration::from_secs(20);

/// A server process and the pipe to it.
#[derive(Debug)]
pub struct McpClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    next_id: u64,
}

impl McpClient {
    /// Starts a server and shakes hands with it.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the server starts");
        let stdin = child.stdin.take();
        let lines = reader(child.stdout.take().expect("a pipe"));
        let mut client = Self { child, stdin, lines, next_id: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"}
        });
        let answer = client.request("initialize", &hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// The server's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes and a newline.
    pub fn send_bytes(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the pipe is open");
        stdin.write_all(line).and_then(|()| stdin.write_all(b"\n")).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    /// Sends a line.
    pub fn send_line(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
    }

    /// The next line from the server, as it came.
    #[track_caller]
    pub fn receive_line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("an answer in time")
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send_line(
            &json!({"jsonrpc":"2.0","id":id,"method":method,"params":params}).to_string(),
        );
        let answer: Value = serde_json::from_str(&self.receive_line()).expect("JSON");
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool with arguments as raw text; the raw text of the result line comes back.
    #[track_caller]
    pub fn call_raw(&mut self, tool: &str, arguments: &str) -> String {
        self.next_id += 1;
        let id = self.next_id;
        self.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        ));
        self.receive_line()
    }

    /// Calls a tool: whether it is an error, and its structured content.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> (bool, Value) {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().expect("text content");
        let same: Value = serde_json::from_str(text).expect("the text is the same object");
        assert_eq!(same, result["structuredContent"], "text and structure differ");
        (result["isError"] == true, result["structuredContent"].clone())
    }

    /// Closes the pipe and waits for the server to end; its exit code.
    pub fn close(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reader(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
