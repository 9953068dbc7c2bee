//! What the doctor is handed: everything the edge knows.

use std::path::PathBuf;

use omx_ops::Context;
use omx_store::Store;

use crate::setup::{SetupCatalog, SetupPaths};
use omx_kernel::HostKind;

/// An agent program as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCheck {
    /// Its name.
    pub name: String,
    /// What is known of it.
    pub state: AgentReadiness,
}

/// What is known of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentReadiness {
    /// It is installed and can work; its version.
    Ready(String),
    /// It is not installed; how it would be.
    Missing(Option<String>),
    /// It is installed and cannot work: why, and what to do.
    Unusable(String, Option<String>),
}

/// A place where omx can have been set up, and what setup brings there.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Where.
    pub paths: SetupPaths,
    /// What.
    pub catalog: SetupCatalog,
}

/// Everything that is examined.
pub struct DoctorEnv<'a> {
    /// The circumstances of this call.
    pub context: &'a Context<'a>,
    /// The project.
    pub store: &'a Store,
    /// Where omx can have been set up: for the person, for the project.
    pub installed: Vec<Installation>,
    /// The hosts that are on this machine.
    pub hosts: Vec<HostKind>,
    /// The agents.
    pub agents: Vec<AgentCheck>,
    /// Where git is.
    pub git: Option<PathBuf>,
    /// Where tmux is.
    pub tmux: Option<PathBuf>,
    /// The variable that marks processes omx started.
    pub mark: String,
}
