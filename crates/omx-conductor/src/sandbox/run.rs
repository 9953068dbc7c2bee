//! Builds the sandbox of each agent and check of a run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use omx_agents::AgentKind;
use omx_agents::sandbox::AgentSandbox;
use omx_kernel::approval::AllowLevel;
use omx_kernel::confinement::{
    ConfinedBy, SandboxSetting, SystemConfinement, WorkspaceAccess, check_confined_by, confined_by,
};
use omx_process::{Confinement, ConfinementMeans, FileRules};
use omx_runs::{PrivateFolders, PrivatePlaces};

use super::caches::{cache_variables, reader_variables};
use super::git_settings::git_variables;

/// What the person and the system say about confinement, read at the edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSetup {
    /// What the person wants.
    pub setting: SandboxSetting,
    /// What the system offers.
    pub means: ConfinementMeans,
    /// Folders and files whose content agents cannot read. All of them exist.
    pub hidden: Vec<PathBuf>,
    /// Folders that agents may change besides their own. All of them exist.
    pub writable: Vec<PathBuf>,
    /// Where private folders are made.
    pub places: PrivatePlaces,
}

impl SandboxSetup {
    fn system(&self) -> SystemConfinement {
        match self.means {
            ConfinementMeans::Missing(_) => SystemConfinement::Missing,
            _ => SystemConfinement::Available,
        }
    }

    /// Who confines an agent.
    pub fn confined_by(
        &self,
        agent: AgentKind,
        allow: AllowLevel,
        access: WorkspaceAccess,
    ) -> ConfinedBy {
        confined_by(agent, allow, access, self.setting, self.system())
    }

    /// Who confines the check.
    pub fn check_confined_by(&self, allow: AllowLevel) -> ConfinedBy {
        check_confined_by(allow, self.setting, self.system())
    }
}

/// The sandbox of a run, or of a single question.
#[derive(Debug)]
pub struct RunSandbox {
    setup: SandboxSetup,
    folders: PrivateFolders,
    /// The caches of the caller, by variable, from which private ones are filled.
    environment: BTreeMap<OsString, OsString>,
}

/// The sandbox of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSandbox {
    /// What confines it.
    pub confinement: Confinement,
    /// Variables that replace those of its environment.
    pub variables: BTreeMap<OsString, OsString>,
}

impl RunSandbox {
    /// Makes the private folders of a run with this name.
    pub fn create(
        setup: SandboxSetup,
        name: &str,
        environment: &BTreeMap<OsString, OsString>,
    ) -> io::Result<Self> {
        let folders = PrivateFolders::create(&setup.places, name)?;
        Ok(Self { setup, folders, environment: environment.clone() })
    }

    /// What the person and the system say.
    pub fn setup(&self) -> &SandboxSetup {
        &self.setup
    }

    /// Where omx listens for its agents.
    pub fn relay(&self) -> PathBuf {
        self.folders.relay()
    }

    /// The sandbox of an agent that works in this folder.
    pub fn of_agent(
        &self,
        agent: AgentKind,
        allow: AllowLevel,
        access: WorkspaceAccess,
        workspace: &Path,
        git: &[PathBuf],
    ) -> AgentSandbox {
        let by = self.setup.confined_by(agent, allow, access);
        if matches!(by, ConfinedBy::Nobody(_)) {
            return AgentSandbox { access, variables: git_variables(), ..AgentSandbox::default() };
        }
        AgentSandbox {
            access,
            means: (by == ConfinedBy::Omx).then(|| self.setup.means.clone()),
            rules: self.rules(access, workspace, git),
            private: Some(self.folders.caches()),
            variables: self.variables(access, workspace),
        }
    }

    /// The sandbox of a check that runs in this folder.
    pub fn of_check(&self, allow: AllowLevel, workspace: &Path, git: &[PathBuf]) -> CheckSandbox {
        let access = WorkspaceAccess::ReadWrite;
        if self.setup.check_confined_by(allow) != ConfinedBy::Omx {
            let confinement = Confinement::Unconfined;
            return CheckSandbox { confinement, variables: git_variables() };
        }
        CheckSandbox {
            confinement: Confinement::new(&self.setup.means, self.rules(access, workspace, git)),
            variables: self.variables(access, workspace),
        }
    }

    /// The rules for a workspace and for the git directory that agents have there.
    fn rules(&self, access: WorkspaceAccess, workspace: &Path, git: &[PathBuf]) -> FileRules {
        let mut paths = vec![self.folders.temporary(), self.folders.caches()];
        if access == WorkspaceAccess::ReadWrite {
            paths.push(workspace.to_owned());
            paths.extend(git.iter().filter(|path| path.exists()).cloned());
            paths.extend(self.setup.writable.iter().cloned());
        }
        FileRules { hidden: self.setup.hidden.clone(), ..FileRules::writing(paths) }
    }

    fn variables(&self, access: WorkspaceAccess, workspace: &Path) -> BTreeMap<OsString, OsString> {
        let caches = self.folders.caches();
        let mut variables = cache_variables(&caches, workspace, &self.environment);
        variables.insert("TMPDIR".into(), self.folders.temporary().into());
        variables.extend(git_variables());
        if access == WorkspaceAccess::ReadOnly {
            variables.extend(reader_variables(&caches));
        }
        variables
    }
}
