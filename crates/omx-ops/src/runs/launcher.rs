//! What run operations need from the program around them. This crate links neither
//! agents nor the conductor, so the edge finds agents and starts processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use omx_kernel::{AgentKind, CallingAgent, Dialect, Refusal, RunId};
use omx_store::Store;

use crate::context::Context;

/// Finds agents and starts the processes that drive runs.
pub trait RunLauncher: Sync {
    /// The agent that the caller works for, as the guard above it identifies it; `None`
    /// for the person and for hosts that the person started. Looked up only by operations
    /// that depend on it.
    fn calling_agent(&self) -> Option<CallingAgent> {
        None
    }

    /// Whether the caller is part of a conversation that the person has with a host's
    /// agent, as the process tree shows.
    fn is_in_conversation(&self, _dialect: Dialect) -> bool {
        false
    }

    /// The environment for git.
    fn environment(&self) -> BTreeMap<OsString, OsString>;

    /// The folder of the registry of live runs, if there is one.
    fn registry_folder(&self, dialect: Dialect) -> Option<PathBuf>;

    /// Finds this agent, or else the first one that is ready.
    fn find_agent(
        &self,
        context: &Context<'_>,
        store: &Store,
        named: Option<AgentKind>,
        scenario: Option<&Path>,
    ) -> Result<AgentKind, Refusal>;

    /// Starts a separate process that drives the run, and returns once that process
    /// holds the run. `decisions` are `STEP=rerun` or `STEP=skip`.
    fn drive_detached(
        &self,
        context: &Context<'_>,
        store: &Store,
        id: &RunId,
        decisions: &[String],
    ) -> Result<(), Refusal>;
}

/// A launcher for programs that start no runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLauncher;

impl RunLauncher for NoLauncher {
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        BTreeMap::new()
    }

    fn registry_folder(&self, _: Dialect) -> Option<PathBuf> {
        None
    }

    fn find_agent(
        &self,
        _: &Context<'_>,
        _: &Store,
        _: Option<AgentKind>,
        _: Option<&Path>,
    ) -> Result<AgentKind, Refusal> {
        Err(Refusal::invalid_input("this program cannot start runs"))
    }

    fn drive_detached(
        &self,
        _: &Context<'_>,
        _: &Store,
        _: &RunId,
        _: &[String],
    ) -> Result<(), Refusal> {
        Err(Refusal::invalid_input("this program cannot start runs"))
    }
}
