//! The sandbox of a run: what its agents and its check may change and read.

mod caches;
mod cargo_home;
mod git_settings;
mod run;

pub use run::{CheckSandbox, RunSandbox, SandboxSetup};
