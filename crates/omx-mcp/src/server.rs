//! What the server answers, without how it reads and writes.

use omx_kernel::Value;
use omx_kernel::value::push_quoted;
use omx_ops::Context;
use omx_store::json;

use crate::call::ToolCall;
use crate::protocol::negotiate_version;
use crate::rpc::{self, RpcError, RpcErrorCode, RpcMessage};
use crate::tools::{McpTool, TOOLS, ToolGroup};

/// The tools a server offers, and the circumstances of their calls.
pub struct McpServer<'a> {
    /// The circumstances of every call.
    pub context: Context<'a>,
    /// The tools that exist.
    pub tools: &'static [McpTool],
    /// The groups of tools that are offered.
    pub groups: Vec<ToolGroup>,
    /// The program's version.
    pub version: &'static str,
}

impl<'a> McpServer<'a> {
    /// A server of omx's own tools.
    pub fn new(context: Context<'a>, groups: Vec<ToolGroup>, version: &'static str) -> Self {
        Self { context, tools: TOOLS, groups, version }
    }

    /// Answers one line on the calling thread; `None` if it wants no response.
    pub fn answer(&self, line: &[u8]) -> Option<String> {
        if line.is_empty() {
            return None;
        }
        match rpc::parse_message(line) {
            Ok(RpcMessage::Notification { .. } | RpcMessage::Response) => None,
            Ok(RpcMessage::Request { id, method, params }) => Some(match method.as_ref() {
                "tools/call" => match self.parse_call(params) {
                    Ok(call) => rpc::format_result(id, &run_tool(&call, &self.context)),
                    Err(error) => rpc::format_error(id, &error),
                },
                method => format_response(id, self.answer_method(method, params)),
            }),
            Err(invalid) => Some(rpc::format_error(&invalid.id, &invalid.error)),
        }
    }

    /// Answers every method except `tools/call`.
    pub(crate) fn answer_method(
        &self,
        method: &str,
        params: Option<&str>,
    ) -> Result<Value, RpcError> {
        match method {
            "initialize" => Ok(self.initialize(params)),
            "ping" => Ok(Value::object(Vec::new())),
            "tools/list" => {
                let dialect = self.context.dialect;
                let tools = self.offered_tools().map(|tool| tool.describe(dialect)).collect();
                Ok(Value::record([("tools", Value::array(tools))]))
            }
            _ => Err(RpcError::new(
                RpcErrorCode::MethodNotFound,
                format!("unknown method {method:?}"),
            )),
        }
    }

    fn offered_tools(&self) -> impl Iterator<Item = &'static McpTool> {
        self.tools.iter().filter(|tool| self.groups.contains(&tool.group))
    }

    fn initialize(&self, params: Option<&str>) -> Value {
        let fields = params.map(|text| json::parse_object(text, |_| true).unwrap_or_default());
        let requested = fields
            .iter()
            .flatten()
            .find(|(name, _)| name == "protocolVersion")
            .and_then(|(_, value)| value.as_str());
        let tools = Value::record([("listChanged", Value::bool(false))]);
        let info = Value::record([
            ("name", Value::string(self.context.dialect.name)),
            ("version", Value::string(self.version)),
        ]);
        Value::record([
            ("protocolVersion", Value::string(negotiate_version(requested))),
            ("capabilities", Value::record([("tools", tools)])),
            ("serverInfo", info),
        ])
    }

    /// Parses the parameters of `tools/call`. The arguments stay text until the
    /// operation reads them.
    pub(crate) fn parse_call(&self, params: Option<&str>) -> Result<ToolCall, RpcError> {
        let params = params.ok_or_else(|| RpcError::invalid_params("params are missing"))?;
        let fields =
            json::parse_object(params, |name| name == "name").map_err(RpcError::invalid_params)?;
        let get = |wanted: &str| fields.iter().rev().find(|(name, _)| name == wanted);
        let name = get("name")
            .and_then(|(_, value)| value.as_str())
            .ok_or_else(|| RpcError::invalid_params("name must be a string"))?;
        let tool = self
            .offered_tools()
            .find(|tool| tool.name == name.replace('-', "_"))
            .ok_or_else(|| RpcError::invalid_params(format!("unknown tool {name:?}")))?;
        let arguments = match get("arguments").map(|(_, value)| value.as_json()) {
            None | Some("null") => "{}",
            Some(text) => text,
        };
        let progress_token = get("_meta").and_then(|(_, meta)| progress_token(meta.as_json()));
        Ok(ToolCall { tool, arguments: arguments.to_owned(), progress_token })
    }
}

/// The token under which the client wants progress, as JSON text.
fn progress_token(meta: &str) -> Option<String> {
    let fields = json::parse_object(meta, |_| false).ok()?;
    let (_, token) = fields.into_iter().rev().find(|(name, _)| name == "progressToken")?;
    let token = token.as_json();
    rpc::RequestId::parse(token).map(|_| token.to_owned())
}

/// Runs a tool and returns its result as JSON text. A refusal is a result too: the model
/// reads it and reacts.
pub(crate) fn run_tool(call: &ToolCall, context: &Context<'_>) -> String {
    let (value, is_error) = match call.tool.call(context, &call.arguments) {
        // The report of a cancel may carry an error: what was done, and what could not be.
        // In other objects `error` is a field like any other.
        Ok(value) => {
            let is_partial = matches!(call.tool.name, "cancel" | "run_cancel");
            let is_error = is_partial && value.get("error").is_some();
            (value, if is_error { "true" } else { "false" })
        }
        Err(refusal) => (omx_ops::error_object(&refusal), "true"),
    };
    let object = json::compact(value.as_json());
    // The same object twice: as text for the model, as structure for programs. Written
    // out here, because most of the time of a quick call would go into building values.
    let mut result = String::with_capacity(3 * object.len() + 128);
    result.push_str(r#"{"content":[{"type":"text","text":"#);
    push_quoted(&mut result, &object);
    result.push_str(r#"}],"structuredContent":"#);
    result.push_str(&object);
    result.push_str(r#","isError":"#);
    result.push_str(is_error);
    result.push('}');
    result
}

/// Formats the response to a request.
pub(crate) fn format_response(id: &str, result: Result<Value, RpcError>) -> String {
    match result {
        Ok(result) => rpc::format_result(id, result.as_json()),
        Err(error) => rpc::format_error(id, &error),
    }
}
