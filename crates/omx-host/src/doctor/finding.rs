//! What a check found, where, and how to fix it.

use std::path::Path;

/// The area of a check.
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
    /// What finished runs left behind.
    Leftovers,
}

impl CheckArea {
    /// The name in JSON output.
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

    /// The heading in text output.
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

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingLevel {
    /// It works.
    Fine,
    /// Worth knowing; nothing is broken.
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
    /// Run setup again.
    SetUp,
    /// Create the project's folders and their `.gitignore`.
    Folders,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The area.
    pub area: CheckArea,
    /// How serious a finding is.
    pub level: FindingLevel,
    /// The name in JSON output.
    pub name: &'static str,
    /// What was found, in one line.
    pub what: String,
    /// Where.
    pub place: Option<String>,
    /// What the person can do.
    pub remedy: Option<String>,
    /// What `--fix` does about it.
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

    /// A check that passed.
    pub(crate) fn fine(area: CheckArea, name: &'static str, what: impl Into<String>) -> Self {
        Self::new(area, FindingLevel::Fine, name, what)
    }

    /// A warning, and what the person can do.
    pub(crate) fn warning(
        area: CheckArea,
        name: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::new(area, FindingLevel::Warning, name, what) }
    }

    /// A failed check, and what the person can do.
    pub(crate) fn failure(
        area: CheckArea,
        name: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::new(area, FindingLevel::Failure, name, what) }
    }

    /// Adds the place.
    pub(crate) fn at(self, place: &Path) -> Self {
        Self { place: Some(place.to_string_lossy().into_owned()), ..self }
    }

    /// Adds what `--fix` does.
    pub(crate) fn fixed_by(self, fix: Fix) -> Self {
        Self { fix: Some(fix), ..self }
    }
}

/// The results of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoctorReport {
    /// The findings, by area.
    pub findings: Vec<DoctorFinding>,
}

impl DoctorReport {
    /// Whether a check failed.
    pub fn has_failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == FindingLevel::Failure)
    }

    /// The fixes that apply, each once.
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
