//! The rules of the specification as tests, one for each numbered line, and the proofs of
//! modes.md 6: random sequences and a model check.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod approval;
mod cancel;
mod child_context;
mod counters;
mod evidence;
mod fields;
mod hold_bounds;
mod lifecycle;
mod links;
mod loopholes;
mod model;
mod outcomes;
mod phases;
mod pipeline;
mod properties;
mod sequence;
mod state_paths;
mod stop;
mod support;
mod time;
mod transitions;
