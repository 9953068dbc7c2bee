//! Drives coding agents behind one interface: a conversation in a folder that
//! takes commands and emits typed events, whichever program runs behind it.
//!
//! Each program is driven over its own machine protocol. A [`Protocol`] is a
//! pure state machine: lines and commands in, lines and events out. One loop
//! ([`Conversation`]) runs any of them over a real process, enforces every
//! deadline, and terminates the process with everything it started. To add a
//! program, add one module with a [`Driver`] and a [`Protocol`].

pub mod agent;
pub mod approval;
pub mod claude;
pub mod codex;
pub mod conversation;
pub mod conversation_record;
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
pub mod sandbox;
pub mod version;

pub use agent::{
    Agent, AgentCommand, AgentMessage, ConversationId, ConversationSpec, ConversationStart,
};
pub use conversation::Conversation;
pub use conversation_record::ConversationRecord;
pub use driver::{AgentEnv, AgentInstallation, AgentKind, Driver, driver};
pub use event::AgentEvent;
pub use failure::Failure;
pub use limits::AgentLimits;
pub use protocol::Protocol;
