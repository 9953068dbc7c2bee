//! A single tool call through the relay, for commands that a confined agent types: it can
//! do with them what it can do through its server, and nothing else.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use omx_kernel::{Refusal, RefusalCode, Value};
use omx_store::json;

use crate::children;
use crate::cli::GlobalArgs;
use crate::exit::Exit;
use crate::output::{self, Format};

/// A call of a tool.
pub struct RelayedCall {
    /// The tool's name.
    pub tool: &'static str,
    /// Its arguments, an object.
    pub arguments: Value,
}

/// What the tool answered.
pub enum RelayedAnswer {
    /// Its result.
    Result(Value),
    /// A refusal, as an object with `error` and `code`.
    Error(Value),
}

/// Where omx listens that drives the run of this agent. A confined agent cannot write
/// documents itself. With a project of its own choice, it is on its own.
pub fn relay_of_agent(global: &GlobalArgs) -> Result<Option<PathBuf>, Refusal> {
    let relay = children::inherited()?.and_then(|inherited| inherited.relay);
    Ok(relay.filter(|relay| global.root.is_none() && relay.exists()))
}

impl RelayedAnswer {
    /// Prints a result in this way, and a refusal like the program's own.
    pub fn print(&self, format: Format, print: impl FnOnce(&Value) -> Exit) -> Exit {
        match self {
            Self::Result(value) => print(value),
            Self::Error(error) if format == Format::Json => {
                output::value(error, format);
                Exit::Failed
            }
            Self::Error(error) => {
                let text = |name| error.get(name).and_then(Value::as_str).unwrap_or_default();
                output::note(&format!("error: {} [{}]", text("error"), text("code")));
                Exit::Failed
            }
        }
    }
}

impl RelayedCall {
    /// Sends the call and waits for its answer.
    pub fn send(&self, relay: &Path) -> Result<RelayedAnswer, Refusal> {
        let failed = |why: &dyn std::fmt::Display| {
            let why = format!("the run that this agent works for does not answer: {why}");
            Refusal::new(RefusalCode::Io, why)
        };
        let text = self.exchange(relay).map_err(|error| failed(&error))?;
        let response = json::parse(text.trim()).map_err(|error| failed(&error))?;
        let result = response.get("result");
        let is_error = result.and_then(|result| result.get("isError")?.as_bool()) == Some(true);
        let content = result.and_then(|result| result.get("structuredContent")).cloned();
        let content = content.ok_or_else(|| failed(&"its answer has no content"))?;
        Ok(if is_error { RelayedAnswer::Error(content) } else { RelayedAnswer::Result(content) })
    }

    fn exchange(&self, relay: &Path) -> io::Result<String> {
        let arguments = json::compact(self.arguments.as_json());
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\
             \"{}\",\"arguments\":{arguments}}}}}\n",
            self.tool
        );
        let mut stream = UnixStream::connect(relay)?;
        stream.write_all(request.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }
}
