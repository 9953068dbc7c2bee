//! The loop: a line in, a line out, until the pipe closes.

use std::io::{self, BufRead, BufReader, Read, Write};

use omx_kernel::{Shape, Value};
use omx_ops::Context;
use omx_store::json;

use crate::rpc::{self, Fault, Message};
use crate::tools::{Group, TOOLS, Tool};

/// A longer line is discarded and refused; no request needs as much.
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;

/// Versions of the protocol that are spoken, the newest first.
const PROTOCOL_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// What is served, to whom.
pub struct Server<'a> {
    /// The circumstances of every call.
    pub context: Context<'a>,
    /// The groups of tools that are offered.
    pub groups: Vec<Group>,
    /// The program's version.
    pub version: &'static str,
}

/// Serves until the input ends.
pub fn serve(
    server: &Server<'_>,
    input: &mut BufReader<impl Read>,
    mut output: impl Write,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return output.flush();
        }
        let whole = line.last() == Some(&b'\n') || (read as u64) < MAX_LINE_BYTES;
        let answer = if whole {
            server.answer(line.trim_ascii())
        } else {
            discard_line(input)?;
            let why = format!("the message is longer than {MAX_LINE_BYTES} bytes");
            Some(rpc::fault("null", Fault::InvalidRequest, &why))
        };
        if let Some(answer) = answer {
            output.write_all(answer.as_bytes())?;
        }
        // Requests that came together are answered together.
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
}

fn discard_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        let (used, ended) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}

impl Server<'_> {
    /// The line that answers this one, if it wants an answer.
    pub fn answer(&self, line: &[u8]) -> Option<String> {
        if line.is_empty() {
            return None;
        }
        match rpc::read(line) {
            Ok(Message::Notification | Message::Response) => None,
            Ok(Message::Request { id, method, params }) => {
                Some(match self.handle(&method, params) {
                    Ok(result) => rpc::result(id, &result),
                    Err((fault, why)) => rpc::fault(id, fault, &why),
                })
            }
            Err((fault, id, why)) => Some(rpc::fault(&id, fault, &why)),
        }
    }

    fn handle(&self, method: &str, params: Option<&str>) -> Result<Value, (Fault, String)> {
        match method {
            "initialize" => Ok(self.initialize(params)),
            "ping" => Ok(Value::object(Vec::new())),
            "tools/list" => {
                let offered = TOOLS.iter().filter(|tool| self.groups.contains(&tool.group));
                let listed = offered.map(Tool::listed).collect();
                Ok(Value::record([("tools", Value::array(listed))]))
            }
            "tools/call" => self.call(params),
            _ => Err((Fault::MethodNotFound, format!("unknown method {method:?}"))),
        }
    }

    fn initialize(&self, params: Option<&str>) -> Value {
        let fields = params.map(|text| json::parse_object(text, |_| true).unwrap_or_default());
        let asked = fields
            .iter()
            .flatten()
            .find(|(name, _)| name == "protocolVersion")
            .and_then(|(_, value)| value.as_str());
        let [newest, ..] = PROTOCOL_VERSIONS;
        let version = PROTOCOL_VERSIONS.into_iter().find(|known| Some(*known) == asked);
        let name = self.context.dialect.name;
        let tools = Value::record([("listChanged", Value::bool(false))]);
        Value::record([
            ("protocolVersion", Value::string(version.unwrap_or(newest))),
            ("capabilities", Value::record([("tools", tools)])),
            (
                "serverInfo",
                Value::record([
                    ("name", Value::string(name)),
                    ("version", Value::string(self.version)),
                ]),
            ),
        ])
    }

    fn call(&self, params: Option<&str>) -> Result<Value, (Fault, String)> {
        let invalid = |why: &str| (Fault::InvalidParams, why.to_owned());
        let params = params.ok_or_else(|| invalid("params are missing"))?;
        // Arguments stay text until the operation reads them.
        let fields = json::parse_object(params, |name| name == "name")
            .map_err(|why| (Fault::InvalidParams, why))?;
        let get = |wanted: &str| fields.iter().rev().find(|(name, _)| name == wanted);
        let name = get("name")
            .and_then(|(_, value)| value.as_str())
            .ok_or_else(|| invalid("name must be a string"))?;
        let tool = Tool::named(name)
            .filter(|tool| self.groups.contains(&tool.group))
            .ok_or_else(|| (Fault::InvalidParams, format!("unknown tool {name:?}")))?;
        let arguments = match get("arguments").map(|(_, value)| value.as_json()) {
            None | Some("null") => "{}",
            Some(text) => text,
        };
        Ok(match tool.call(&self.context, arguments) {
            Ok(value) => tool_result(&value, Outcome::Done),
            Err(refusal) => tool_result(&omx_ops::error_object(&refusal), Outcome::Refused),
        })
    }
}

/// How a tool call went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Refused,
}

/// The same object as text for a model and as structure for a program.
fn tool_result(value: &Value, outcome: Outcome) -> Value {
    let text = json::compact(value.as_json());
    let content = Value::record([("type", Value::string("text")), ("text", Value::string(&text))]);
    Value::record([
        ("content", Value::array(vec![content])),
        ("structuredContent", Value::from_parts(&text, Shape::Opaque)),
        ("isError", Value::bool(outcome == Outcome::Refused)),
    ])
}
