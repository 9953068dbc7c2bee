//! A running host: prompts in, ends of turns out, over its own machine protocol.
//! Nothing bypasses hooks or their trust.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use omx_testkit::real_cli::{AgentCli, AgentHome};
use serde_json::{Value, json};

/// No turn of a test takes longer.
const DEADLINE: Duration = Duration::from_secs(180);

/// A running host with one conversation.
pub struct LiveHost {
    cli: AgentCli,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    session: Option<String>,
    turn: Option<String>,
    next_id: u64,
}

impl LiveHost {
    /// Starts the program with a new conversation.
    pub fn start(cli: AgentCli, home: &AgentHome) -> Self {
        let mut command = home.command(cli.program());
        match cli {
            AgentCli::Codex => {
                command.arg("app-server");
            }
            AgentCli::Claude => {
                command.args(["-p", "--input-format", "stream-json", "--output-format"]);
                command.args(["stream-json", "--verbose", "--allowedTools"]);
                command.arg("Bash,Write,Edit,Read,Agent,mcp__omx");
            }
            AgentCli::Gemini => unreachable!("not spoken here"),
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Ok(value) = serde_json::from_str(&line)
                    && sender.send(value).is_err()
                {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut live = Self { cli, child, stdin, lines, session: None, turn: None, next_id: 0 };
        if cli == AgentCli::Codex {
            live.request("initialize", json!({"clientInfo": {"name": "test", "version": "0"}}));
            live.send(json!({"method": "initialized"}));
            let opened = live.request("thread/start", json!({"cwd": home.root()}));
            live.session = opened["thread"]["id"].as_str().map(str::to_owned);
            assert!(live.session.is_some(), "{opened}");
        }
        live
    }

    fn send(&mut self, line: Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("the host reads");
    }

    /// Waits for a line.
    #[track_caller]
    fn await_line(&mut self, what: &str, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut seen = Vec::new();
        loop {
            let left = DEADLINE.saturating_sub(begun.elapsed());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no {what}; seen: {seen:#?}");
            };
            if let Some(id) = line["session_id"].as_str().filter(|_| self.cli == AgentCli::Claude) {
                self.session.get_or_insert_with(|| id.to_owned());
            }
            if wanted(&line) {
                return line;
            }
            seen.push(line);
        }
    }

    /// A request of Codex's protocol and its result.
    #[track_caller]
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(json!({"id": id, "method": method, "params": params}));
        let answer = self.await_line(method, |line| line["id"] == id && line["method"].is_null());
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The person types; the turn continues on its own.
    pub fn prompt(&mut self, text: &str) {
        match self.cli {
            AgentCli::Codex => {
                let thread = self.session.clone();
                let input = json!([{"type": "text", "text": text}]);
                let begun = self.request("turn/start", json!({"threadId": thread, "input": input}));
                self.turn = begun["turn"]["id"].as_str().map(str::to_owned);
            }
            _ => self.send(json!({
                "type": "user",
                "message": {"role": "user", "content": [{"type": "text", "text": text}]}
            })),
        }
    }

    /// Waits for the end of the turn and returns the host's name for how it ended.
    #[track_caller]
    pub fn ended(&mut self) -> String {
        let cli = self.cli;
        // Subagents have turns, too.
        let own = self.session.clone();
        let line = self.await_line("end of the turn", |line| match cli {
            AgentCli::Codex => {
                line["method"] == "turn/completed"
                    && line["params"]["threadId"].as_str() == own.as_deref()
            }
            _ => line["type"] == "result",
        });
        let word = match cli {
            AgentCli::Codex => &line["params"]["turn"]["status"],
            _ => &line["subtype"],
        };
        word.as_str().unwrap_or_default().to_owned()
    }

    /// A prompt and its turn, to a good end.
    #[track_caller]
    pub fn turn(&mut self, text: &str) {
        self.prompt(text);
        let end = self.ended();
        assert!(["completed", "success"].contains(&end.as_str()), "{end}");
    }

    /// The person interrupts the turn.
    pub fn interrupt(&mut self) {
        match self.cli {
            AgentCli::Codex => {
                let (thread, turn) = (self.session.clone(), self.turn.clone());
                self.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}));
            }
            _ => self.send(json!({
                "type": "control_request",
                "request_id": "interrupt-1",
                "request": {"subtype": "interrupt"}
            })),
        }
    }

    /// Compacts the conversation's history.
    #[track_caller]
    pub fn compact(&mut self) {
        match self.cli {
            AgentCli::Codex => {
                let thread = self.session.clone();
                self.request("thread/compact/start", json!({"threadId": thread}));
            }
            _ => self.prompt("/compact"),
        }
        self.ended();
    }

    /// The conversation's id.
    #[track_caller]
    pub fn session(&self) -> &str {
        self.session.as_deref().expect("the conversation has begun")
    }
}

impl Drop for LiveHost {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
