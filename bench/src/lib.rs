//! Side-by-side measurements of omx and the two systems it replaces.
//!
//! Absolute times say little about another machine, so every figure here is
//! taken in one run beside the existing systems (or beside the machine's own
//! floor) and judged against the figure the specification requires.
//! `main.rs` drives, `rows/` holds one file per kind of work, everything else
//! is the instrument.

pub mod clock;
pub mod error;
pub mod flush;
pub mod mcp;
pub mod measure;
pub mod neighbours;
pub mod options;
pub mod report;
pub mod rows;
pub mod stats;
pub mod sys;
pub mod systems;
