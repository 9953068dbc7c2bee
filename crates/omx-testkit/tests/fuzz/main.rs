//! quality.md R16: state files, requests and MCP lines of any content. No
//! panic, no hang, nothing lost, nothing written outside the root.
//!
//! Each target runs for about two seconds; `scripts/fuzz SECONDS` runs longer.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod mcp;
mod ops;
mod place;
mod store;
