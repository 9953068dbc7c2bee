//! Where setup works and what it brings: values that the edge hands in.

use std::path::{Path, PathBuf};

use crate::HostKind;
use crate::role::Role;

/// For everything the person does, or for one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupScope {
    /// In the person's home.
    User,
    /// In this project's folder.
    Project(PathBuf),
}

/// Where the hosts keep what is the person's.
#[derive(Clone, Debug)]
pub struct HostHomes {
    /// Codex's folder: `~/.codex`.
    pub codex: PathBuf,
    /// Claude Code's folder: `~/.claude`.
    pub claude: PathBuf,
    /// Claude Code's own file: `~/.claude.json`.
    pub claude_file: PathBuf,
    /// Gemini CLI's folder: `~/.gemini`.
    pub gemini: PathBuf,
}

impl HostHomes {
    /// The folder of a host.
    pub fn of(&self, host: HostKind) -> &Path {
        match host {
            HostKind::Codex => &self.codex,
            HostKind::Claude => &self.claude,
            HostKind::Gemini => &self.gemini,
        }
    }
}

/// Where everything is.
#[derive(Clone, Debug)]
pub struct SetupPaths {
    /// The hosts' folders.
    pub homes: HostHomes,
    /// What is set up.
    pub scope: SetupScope,
    /// The program the hosts are to call.
    pub omx: PathBuf,
    /// Its version.
    pub version: String,
    /// The folder of manifests.
    pub manifests: PathBuf,
    /// For a project: the hosts that call omx's hooks in every project already.
    pub hooked: Vec<HostKind>,
}

impl SetupPaths {
    /// The file that remembers what was written.
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

/// A skill: a folder of that name with a `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Its name.
    pub name: String,
    /// The text of its `SKILL.md`.
    pub text: String,
}

/// What is brought besides hooks and the server.
#[derive(Clone, Debug, Default)]
pub struct SetupCatalog {
    /// Roles, which become the hosts' agents.
    pub roles: Vec<Role>,
    /// Skills.
    pub skills: Vec<SkillFile>,
    /// The block of guidance for a host's agent, from mark to mark; none: no block.
    pub guidance: Vec<(HostKind, String)>,
}

impl SetupCatalog {
    pub(crate) fn guidance(&self, host: HostKind) -> Option<&str> {
        self.guidance.iter().find(|(known, _)| *known == host).map(|(_, text)| text.as_str())
    }
}
