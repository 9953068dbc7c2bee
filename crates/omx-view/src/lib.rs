//! Views of active modes. They read one snapshot and change nothing.
//!
//! The only view so far is the status line, for a prompt, tmux or an agent's own status bar.

mod branch;
mod line;

pub use branch::branch;
pub use line::{Preset, StatusLine};
