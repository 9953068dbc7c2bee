//! The sandbox of a conversation: what omx confines an agent's process to.
//!
//! The owner of the conversation decides who confines the agent and which folders every
//! agent may change; the driver adds the parts of its program's own state that a
//! conversation cannot do without.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use omx_kernel::confinement::WorkspaceAccess;
use omx_process::{Confinement, ConfinementMeans, FileRules, Launch};

use crate::driver::{AgentEnv, Driver};

/// The sandbox of a conversation. The default confines nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentSandbox {
    /// What the agent may do to the files of its folder.
    pub access: WorkspaceAccess,
    /// What omx confines the agent with. Without it, omx does not: the agent confines
    /// itself, or nobody does.
    pub means: Option<ConfinementMeans>,
    /// The files that the agent may change and read, without its program's own state.
    pub rules: FileRules,
    /// A folder that the agent may change and that is removed with the run.
    pub private: Option<PathBuf>,
    /// Variables that replace those of the agent's environment: its temporary folder, its
    /// caches.
    pub variables: BTreeMap<OsString, OsString>,
}

impl AgentSandbox {
    /// The confinement of an agent's processes. Makes the folders of the program's state
    /// that do not exist yet, since a rule can only name what exists, and its private state.
    pub(crate) fn confinement(
        &mut self,
        driver: &dyn Driver,
        env: &AgentEnv,
    ) -> Result<Confinement, String> {
        let Some(means) = &self.means else { return Ok(Confinement::Unconfined) };
        let mut rules = self.rules.clone();
        let own_login = driver.kind().login_files();
        rules.hidden.retain(|path| !own_login.iter().any(|name| path.ends_with(name)));
        for folder in driver.state_folders(env) {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder
                .create(&folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
            rules.writable.push(folder);
        }
        if let Some(folder) = &self.private {
            let made = driver.private_state(env, folder);
            let variables = made.map_err(|error| format!("cannot make private state: {error}"))?;
            self.variables.extend(variables);
        }
        Ok(Confinement::new(means, rules))
    }

    /// Puts a process into the sandbox.
    pub(crate) fn enclose(&self, launch: &Launch, confinement: &Confinement) -> Launch {
        let mut enclosed = launch.clone();
        enclosed.confinement = confinement.clone();
        let own = self.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
        enclosed.environment.extend(own);
        enclosed
    }
}

/// Folders of the person's home that an agent's program keeps state in.
pub(crate) fn state_below(base: Option<PathBuf>, names: &[&str]) -> Vec<PathBuf> {
    base.map(|base| names.iter().map(|name| base.join(name)).collect()).unwrap_or_default()
}
