//! The rules of omx: the modes and their phases, the allowed transitions, links between
//! modes, what cancel does and when a stop is held.
//!
//! Everything here is a pure function of documents, events and time. The crate touches no
//! file, clock, environment or process, so that hooks, the command line, MCP, the
//! conductor and the views always decide alike.

mod absent_files;
pub mod activity;
pub mod agent_acts;
mod agent_kind;
pub mod approval;
pub mod bare_call;
mod base_document;
pub mod cancel;
pub mod checkout_state;
pub mod child_context;
pub mod config_keys;
pub mod confinement;
mod counters;
pub mod dialect;
pub mod document;
pub mod environment;
pub mod evidence;
pub mod fields;
pub mod foreign;
pub mod git_settings;
mod hold_bounds;
pub mod hold_text;
mod host_kind;
pub mod ids;
pub mod left_out;
pub mod limits;
pub mod links;
pub mod message;
mod misspelled;
pub mod mode;
pub mod nearest;
pub mod outcome;
pub mod phase;
pub mod presets;
pub mod price;
pub mod progress;
pub mod project_config;
pub mod refusal;
pub mod request;
pub mod retry;
pub mod review;
mod review_cycle;
mod run_state;
pub mod session_events;
pub mod snapshot;
pub mod start;
pub mod state_paths;
pub mod stop;
pub mod time;
pub mod transition;
pub mod value;
pub mod write;
mod write_goal;

pub use absent_files::AbsentFiles;
pub use agent_acts::{CallingAgent, GuardedAct};
pub use agent_kind::AgentKind;
pub use base_document::IterationLimits;
pub use child_context::ChildContext;
pub use counters::GiveUpReason;
pub use dialect::Dialect;
pub use document::{Document, DocumentStatus};
pub use foreign::{EscapedText, ForeignText};
pub use host_kind::HostKind;
pub use ids::{RunId, Scope, SessionId};
pub use mode::Mode;
pub use outcome::RunEnding;
pub use refusal::{Refusal, RefusalCode};
pub use run_state::{CloseReason, RunState};
pub use snapshot::Snapshot;
pub use state_paths::StatePaths;
pub use time::Timestamp;
pub use value::{Shape, Value};
