//! What a check found: what, where, how to put it right.

use std::path::Path;

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckArea {
    /// The agents omx drives.
    Agents,
    /// Other programs.
    Tools,
    /// The configuration.
    Config,
    /// The project's folder, its lock, its disk.
    Store,
    /// Documents.
    State,
    /// What was written into the hosts' files.
    Setup,
    /// Hooks.
    Hooks,
    /// The MCP server.
    Server,
    /// What ended runs left behind.
    Leftovers,
}

impl CheckArea {
    /// Its name, for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Tools => "tools",
            Self::Config => "config",
            Self::Store => "store",
            Self::State => "state",
            Self::Setup => "setup",
            Self::Hooks => "hooks",
            Self::Server => "mcp",
            Self::Leftovers => "leftovers",
        }
    }

    /// Its heading, for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Agents => "Agents",
            Self::Tools => "Programs",
            Self::Config => "Configuration",
            Self::Store => "Store",
            Self::State => "State",
            Self::Setup => "Setup",
            Self::Hooks => "Hooks",
            Self::Server => "MCP server",
            Self::Leftovers => "Leftovers",
        }
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingLevel {
    /// It works.
    Fine,
    /// To know; nothing is broken.
    Warning,
    /// It does not work.
    Failure,
}

impl FindingLevel {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Warning => "warning",
            Self::Failure => "failed",
        }
    }
}

/// What [`super::apply_fixes`] can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fix {
    /// Move unreadable documents aside.
    SetAside,
    /// Set up again what was set up.
    SetUp,
    /// Make the project's folders and their `.gitignore`.
    Folders,
}

/// One check and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    /// What it is about.
    pub area: CheckArea,
    /// How bad it is.
    pub level: FindingLevel,
    /// A word for programs.
    pub name: &'static str,
    /// What was found, in one line.
    pub what: String,
    /// Where.
    pub place: Option<String>,
    /// What to do about it.
    pub remedy: Option<String>,
    /// Whether `--fix` does it.
    pub fix: Option<Fix>,
}

impl DoctorFinding {
    fn new(
        area: CheckArea,
        level: FindingLevel,
        name: &'static str,
        what: impl Into<String>,
    ) -> Self {
        let what = what.into().replace('\n', " ");
        Self { area, level, name, what, place: None, remedy: None, fix: None }
    }

    /// Something works.
    pub(crate) fn fine(area: CheckArea, name: &'static str, what: impl Into<String>) -> Self {
        Self::new(area, FindingLevel::Fine, name, what)
    }

    /// Something to know, and what to do about it.
    pub(crate) fn warning(
        area: CheckArea,
        name: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::new(area, FindingLevel::Warning, name, what) }
    }

    /// Something does not work, and what to do about it.
    pub(crate) fn failure(
        area: CheckArea,
        name: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::new(area, FindingLevel::Failure, name, what) }
    }

    /// Where it is.
    pub(crate) fn at(self, place: &Path) -> Self {
        Self { place: Some(place.to_string_lossy().into_owned()), ..self }
    }

    /// That `--fix` can do it.
    pub(crate) fn fixed_by(self, fix: Fix) -> Self {
        Self { fix: Some(fix), ..self }
    }
}

/// All checks, by area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoctorReport {
    /// What came of each.
    pub findings: Vec<DoctorFinding>,
}

impl DoctorReport {
    /// Whether something does not work.
    pub fn has_failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == FindingLevel::Failure)
    }

    /// What can be put right, each once.
    pub fn fixes(&self) -> Vec<Fix> {
        let mut fixes: Vec<Fix> = Vec::new();
        for fix in self.findings.iter().filter_map(|finding| finding.fix) {
            if !fixes.contains(&fix) {
                fixes.push(fix);
            }
        }
        fixes
    }
}
