//! Guarded runs and deadlines with real processes. The guard is this test binary itself,
//! started again (see [`stage`]).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod confinement;
mod deadlines;
mod guard;
mod stage;
