//! One MCP server over standard input and output.
//!
//! A thin adapter: it reads JSON-RPC lines, hands the arguments of a tool call
//! to the operation of that name, and hands back what it answered. Arguments
//! and results pass through as text, so that they mean here exactly what they
//! mean on the command line (see `docs/decisions/0002-own-mcp-server.md`).

mod rpc;
mod schema;
mod server;
mod tools;

pub use server::{Server, serve};
pub use tools::{Group, TOOLS, Tool};
