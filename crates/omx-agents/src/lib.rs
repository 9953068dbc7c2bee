//! Coding agents behind one seam: a conversation in a folder that takes
//! orders and tells typed events, whichever program stands behind it.
//!
//! Each program is driven over its own machine protocol. A [`Protocol`] is a
//! pure state machine: lines and orders in, lines and events out. One loop
//! ([`Conversation`]) runs any of them over a real process, keeps every
//! deadline, and ends the process with all it started. Adding a program means
//! adding one module with a [`Driver`] and a [`Protocol`].

pub mod agent;
pub mod approval;
pub mod claude;
pub mod codex;
pub mod conversation;
pub mod driver;
pub mod environment;
pub mod event;
pub mod failure;
pub mod gemini;
pub mod json;
pub mod limits;
pub mod protocol;
pub mod results;
pub mod rpc;
pub mod version;

pub use agent::{
    Agent, AgentCommand, AgentMessage, ConversationId, ConversationSpec, ConversationStart,
};
pub use conversation::Conversation;
pub use driver::{AgentEnv, AgentInstallation, AgentKind, Driver, driver};
pub use event::AgentEvent;
pub use failure::Failure;
pub use limits::AgentLimits;
pub use protocol::Protocol;
