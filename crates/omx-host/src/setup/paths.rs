//! Where setup works and what it installs. The binary passes these values in.

use std::path::{Path, PathBuf};

use omx_kernel::Dialect;

use crate::HostKind;
use crate::hosts::{HomeVariable, host_spec};
use crate::role::Role;

/// Whether setup is for all projects of the person, or for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupScope {
    /// For all projects: in the person's home.
    User,
    /// For this project: in its folder.
    Project(PathBuf),
}

/// Where the hosts keep the person's files.
#[derive(Clone, Debug)]
pub struct HostHomes {
    homes: Vec<(HostKind, LocatedHome)>,
}

#[derive(Clone, Debug)]
struct LocatedHome {
    folder: PathBuf,
    parent: PathBuf,
}

impl HostHomes {
    /// Finds the folders of all hosts. `variable` looks up the absolute path in a
    /// variable, if there is one.
    pub fn locate(home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let locate = |kind: HostKind| {
            let spec = host_spec(kind).home;
            let located = match (variable(spec.variable), spec.names) {
                // Files that belong beside the folder move into it.
                (Some(named), HomeVariable::Folder) => {
                    LocatedHome { folder: named.clone(), parent: named }
                }
                (Some(named), HomeVariable::Parent) => {
                    LocatedHome { folder: named.join(spec.folder), parent: named }
                }
                (None, _) => {
                    LocatedHome { folder: home.join(spec.folder), parent: home.to_owned() }
                }
            };
            (kind, located)
        };
        Self { homes: HostKind::ALL.map(locate).to_vec() }
    }

    fn get(&self, host: HostKind) -> &LocatedHome {
        &self.homes[host as usize].1
    }

    /// The folder of a host, such as `~/.codex`.
    pub fn folder(&self, host: HostKind) -> &Path {
        &self.get(host).folder
    }

    /// The folder of a host's files that are not in its own folder, such as
    /// `~/.claude.json`.
    pub fn parent(&self, host: HostKind) -> &Path {
        &self.get(host).parent
    }
}

/// Where setup reads and writes.
#[derive(Clone, Debug)]
pub struct SetupPaths {
    /// The hosts' folders.
    pub homes: HostHomes,
    /// For what setup is.
    pub scope: SetupScope,
    /// The dialect that is set up.
    pub dialect: Dialect,
    /// The program that the hosts call.
    pub omx: PathBuf,
    /// Its version.
    pub version: String,
    /// The folder of manifests.
    pub manifests: PathBuf,
    /// For a project: the hosts that already call omx's hooks in every project.
    pub hooked: Vec<HostKind>,
    /// Files that the setup of another dialect wrote as a whole. They are not ours, whatever
    /// is in them.
    pub of_others: Vec<PathBuf>,
}

impl SetupPaths {
    /// The arguments before the command that the hosts call: they select the dialect,
    /// unless the program's name does.
    pub(crate) fn dialect_arguments(&self) -> Vec<&'static str> {
        let stem = self.omx.file_stem().and_then(|stem| stem.to_str());
        let by_name = stem.and_then(Dialect::parse).unwrap_or(Dialect::OMX);
        if by_name == self.dialect { Vec::new() } else { vec!["--dialect", self.dialect.name] }
    }

    /// The manifest of this scope.
    pub fn manifest(&self) -> PathBuf {
        match &self.scope {
            SetupScope::User => self.manifests.join("user.json"),
            SetupScope::Project(root) => {
                let name = root.file_name().map_or("root".into(), |name| name.to_string_lossy());
                let hash = super::text::hash(root.as_os_str().as_encoded_bytes());
                let short = hash.trim_start_matches("sha256:").get(..16).unwrap_or_default();
                self.manifests.join(format!("{name}-{short}.json"))
            }
        }
    }
}

/// A skill: a folder with that name and a `SKILL.md` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Its name.
    pub name: String,
    /// The text of its `SKILL.md`.
    pub text: String,
}

/// What setup installs besides hooks and the server.
#[derive(Clone, Debug, Default)]
pub struct SetupCatalog {
    /// Roles, which become agents of the hosts.
    pub roles: Vec<Role>,
    /// Skills.
    pub skills: Vec<SkillFile>,
    /// The block of guidance for each host, marks included. A host without one gets none.
    pub guidance: Vec<(HostKind, String)>,
}

impl SetupCatalog {
    pub(crate) fn guidance(&self, host: HostKind) -> Option<&str> {
        self.guidance.iter().find(|(known, _)| *known == host).map(|(_, text)| text.as_str())
    }
}
