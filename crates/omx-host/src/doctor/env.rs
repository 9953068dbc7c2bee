//! What the doctor checks. The binary passes it in.

use std::path::PathBuf;

use omx_ops::Context;
use omx_store::Store;

use crate::setup::{SetupCatalog, SetupPaths};
use omx_kernel::HostKind;

/// An agent, and whether it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCheck {
    /// Its name.
    pub name: String,
    /// Whether it is ready.
    pub state: AgentReadiness,
}

/// Whether an agent is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentReadiness {
    /// It is installed and works; its version.
    Ready(String),
    /// It is not installed; how to install it.
    Missing(Option<String>),
    /// It is installed but does not work: why, and what to do.
    Unusable(String, Option<String>),
}

/// A scope in which omx may be set up, and what setup installs there.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Where.
    pub paths: SetupPaths,
    /// What.
    pub catalog: SetupCatalog,
}

/// Everything the doctor checks.
pub struct DoctorEnv<'a> {
    /// The circumstances of this call.
    pub context: &'a Context<'a>,
    /// The project.
    pub store: &'a Store,
    /// The scopes in which omx may be set up: the person's and the project's.
    pub installed: Vec<Installation>,
    /// The hosts that are installed.
    pub hosts: Vec<HostKind>,
    /// The agents.
    pub agents: Vec<AgentCheck>,
    /// Where git is.
    pub git: Option<PathBuf>,
    /// Where tmux is.
    pub tmux: Option<PathBuf>,
    /// Where bubblewrap is.
    pub bubblewrap: Option<PathBuf>,
    /// The variable that marks processes started by omx.
    pub mark: String,
}

impl DoctorEnv<'_> {
    /// The name under which the person calls the program, for remedies.
    pub(super) fn program(&self) -> &'static str {
        self.context.dialect.name
    }
}
