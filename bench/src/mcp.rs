//! A native MCP client over stdio that can keep many requests in flight, so
//! that what is measured is the server and not the client's round trip.

use crate::error::{BenchError, BenchResult, WithContext};
use crate::measure::{ProgramCall, milliseconds};
use crate::sys;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// A server silent for this long is given up. One honest call of OMC's takes
/// a minute and a half (`rows/sessions.rs`).
const PATIENCE: Duration = Duration::from_mins(3);

/// A running server.
#[derive(Debug)]
pub struct BenchServer {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    chunk: Vec<u8>,
    pending: Vec<u8>,
    consumed: usize,
    next_id: u64,
}

/// One slice of pipelined calls.
#[derive(Clone, Copy, Debug)]
pub struct CallSlice {
    /// Calls answered as they should be, per second.
    pub rate: f64,
    /// Calls answered as they should be.
    pub right: u32,
    /// Calls answered otherwise.
    pub refused: u64,
}

impl BenchServer {
    /// Starts the server; also says how many ms passed until it answered
    /// `initialize`.
    ///
    /// # Errors
    /// When it does not start or does not answer.
    pub fn start(run: &ProgramCall) -> BenchResult<(Self, f64)> {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "omx-bench", "version": "0.1.0"}}});
        let hello = format!("{hello}\n");
        let mut command = run.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().context(|| format!("start {}", run.words()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut client = Self {
            child,
            input,
            output: output.context(|| "the server has no output")?,
            chunk: vec![0; 65_536],
            pending: Vec::new(),
            consumed: 0,
            next_id: 1,
        };
        client.send(hello.as_bytes())?;
        let answer = client.line()?;
        let ready = milliseconds(start.elapsed());
        let answer: Value = serde_json::from_slice(&answer).context(|| "parse initialize")?;
        if answer["result"]["serverInfo"].is_null() {
            return Err(BenchError::new(format!("initialize answered {answer}")));
        }
        client.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok((client, ready))
    }

    /// One call and its answer (`result`), and the ms it took.
    ///
    /// # Errors
    /// When the server does not answer or answers with an error.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> BenchResult<(Value, f64)> {
        let id = self.take_id();
        let request = request(id, tool, &arguments.to_string());
        let start = Instant::now();
        self.send(&request)?;
        loop {
            let line = self.line()?;
            if id_of(&line) != Some(id) {
                continue;
            }
            let took = milliseconds(start.elapsed());
            let mut answer: Value =
                serde_json::from_slice(&line).context(|| format!("parse {tool}'s answer"))?;
            if answer["result"].is_null() || answer["result"]["isError"] == json!(true) {
                return Err(BenchError::new(format!("{tool} answered {answer}")));
            }
            return Ok((answer["result"].take(), took));
        }
    }

    /// Calls the tool for about `time` with `window` calls in flight, then
    /// waits for the rest. `arguments` gets a number of its own for each call;
    /// an answer is right when it contains `expected` and is no error.
    ///
    /// # Errors
    /// When the server stops answering or answers a call twice.
    pub fn pump(
        &mut self,
        time: Duration,
        window: usize,
        tool: &str,
        arguments: impl Fn(u64) -> String,
        expected: &str,
    ) -> BenchResult<CallSlice> {
        let mut open = HashSet::new();
        let (mut right, mut refused) = (0_u32, 0);
        let mut batch = Vec::new();
        let start = Instant::now();
        loop {
            if start.elapsed() < time {
                batch.clear();
                while open.len() < window {
                    let id = self.take_id();
                    batch.extend_from_slice(&request(id, tool, &arguments(id)));
                    open.insert(id);
                }
                self.send(&batch)?;
            }
            if open.is_empty() {
                break;
            }
            // Everything that has arrived, so that the refill is one write.
            let mut line = Some(self.line()?);
            while let Some(answer) = line {
                if let Some(id) = id_of(&answer) {
                    if !open.remove(&id) {
                        return Err(BenchError::new(format!("call {id} was answered twice")));
                    }
                    if is_right(&answer, expected) {
                        right += 1;
                    } else {
                        refused += 1;
                    }
                }
                line = self.buffered_line();
            }
        }
        let rate = f64::from(right) / start.elapsed().as_secs_f64();
        Ok(CallSlice { rate, right, refused })
    }

    /// The server's largest resident set so far, MiB.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn peak_memory(&self) -> BenchResult<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&path).context(|| format!("read {path}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: Option<u32> =
            line.and_then(|rest| rest.trim().trim_end_matches(" kB").trim().parse().ok());
        Ok(f64::from(kib.context(|| "no VmHWM in the server's status")?) / 1024.0)
    }

    fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn send(&mut self, bytes: &[u8]) -> BenchResult<()> {
        let input = self.input.as_mut().context(|| "the server has no input")?;
        input.write_all(bytes).context(|| "write to the server")
    }

    /// The next line, waiting for it.
    fn line(&mut self) -> BenchResult<Vec<u8>> {
        loop {
            if let Some(line) = self.buffered_line() {
                return Ok(line);
            }
            self.pending.drain(..self.consumed);
            self.consumed = 0;
            let ready =
                sys::readable(self.output.as_fd(), PATIENCE).context(|| "wait for the server")?;
            if !ready {
                return Err(BenchError::new("the server does not answer"));
            }
            let count = self.output.read(&mut self.chunk).context(|| "read from the server")?;
            if count == 0 {
                return Err(BenchError::new("the server has ended"));
            }
            self.pending.extend_from_slice(self.chunk.get(..count).unwrap_or_default());
        }
    }

    /// The next line that is already here.
    fn buffered_line(&mut self) -> Option<Vec<u8>> {
        let rest = self.pending.get(self.consumed..)?;
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        let line = rest.get(..end)?.to_vec();
        self.consumed += end + 1;
        Some(line)
    }
}

impl Drop for BenchServer {
    /// Closes the input, which ends a well-behaved server; ends others.
    fn drop(&mut self) {
        drop(self.input.take());
        for _ in 0..200 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // Failure means it has just ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(id: u64, tool: &str, arguments: &str) -> Vec<u8> {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments}}}}}\n"
    )
    .into_bytes()
}

/// The `id` of an answer, found without parsing all of it: quotes inside text
/// content are escaped, so the first plain `"id":` is the message's own.
fn id_of(line: &[u8]) -> Option<u64> {
    let mark = b"\"id\":";
    let at = line.windows(mark.len()).position(|window| window == mark)?;
    let digits: String = line
        .get(at + mark.len()..)?
        .iter()
        .map(|&byte| char::from(byte))
        .skip_while(|digit| *digit == ' ')
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

fn is_right(line: &[u8], expected: &str) -> bool {
    let text = String::from_utf8_lossy(line);
    text.contains(expected) && !text.contains("\"isError\":true") && text.contains("\"result\"")
}

#[cfg(test)]
mod tests {
    use super::{id_of, is_right};

    #[test]
    fn ids_in_both_places() {
        assert_eq!(id_of(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), Some(7));
        assert_eq!(
            id_of(
                br#"{"result":{"content":[{"text":"{\"id\":1,\"session_id\":\"x\"}"}]},"id":12}"#
            ),
            Some(12)
        );
        assert_eq!(id_of(br#"{"method":"notifications/message"}"#), None);
    }

    #[test]
    fn errors_are_not_right() {
        assert!(is_right(br#"{"id":1,"result":{"text":"executing"}}"#, "executing"));
        assert!(!is_right(
            br#"{"id":1,"result":{"isError":true,"text":"executing"}}"#,
            "executing"
        ));
        assert!(!is_right(br#"{"id":1,"error":{"message":"executing"}}"#, "executing"));
    }
}
