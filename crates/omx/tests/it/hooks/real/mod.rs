//! The real Codex and Claude Code, each in a fresh home after `omx setup`, with
//! a scripted model: omx inside a conversation from end to end.

mod cancelled;
mod compaction;
mod isolation;
mod live;
mod panes;
mod phases;
mod promises;
mod seen;
mod stage;
