//! One MCP server over standard input and output.
//!
//! A thin adapter: it reads JSON-RPC lines, passes the arguments of a tool call
//! to the operation behind the tool, and returns the result. Arguments and results
//! keep their text, so they mean here exactly what they mean on the command line
//! (see `docs/decisions/0002-own-mcp-server.md`). It decides nothing itself.

mod call;
mod protocol;
mod rpc;
mod run_tools;
mod schema;
mod serve;
mod server;
mod session;
mod tools;

pub use protocol::PROTOCOL_VERSIONS;
pub use serve::serve;
pub use server::McpServer;
pub use tools::{McpTool, TOOLS, ToolAnnotations, ToolGroup, ToolScheduling};
