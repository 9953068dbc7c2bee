//! What a check found: what, where, how to put it right.

use std::path::Path;

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Area {
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

impl Area {
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
pub enum Level {
    /// It works.
    Fine,
    /// To know; nothing is broken.
    Warning,
    /// It does not work.
    Failure,
}

impl Level {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Warning => "warning",
            Self::Failure => "failed",
        }
    }
}

/// What [`super::mend`] can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mend {
    /// Move unreadable documents aside.
    SetAside,
    /// Set up again what was set up.
    SetUp,
    /// Make the project's folders and their `.gitignore`.
    Folders,
}

/// One check and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub area: Area,
    /// How bad it is.
    pub level: Level,
    /// A word for programs.
    pub name: &'static str,
    /// What was found, in one line.
    pub what: String,
    /// Where.
    pub place: Option<String>,
    /// What to do about it.
    pub fix: Option<String>,
    /// Whether `--fix` does it.
    pub mend: Option<Mend>,
}

impl Finding {
    fn new(area: Area, level: Level, name: &'static str, what: impl Into<String>) -> Self {
        let what = what.into().replace('\n', " ");
        Self { area, level, name, what, place: None, fix: None, mend: None }
    }

    /// Something works.
    pub(crate) fn fine(area: Area, name: &'static str, what: impl Into<String>) -> Self {
        Self::new(area, Level::Fine, name, what)
    }

    /// Something to know, and what to do about it.
    pub(crate) fn warning(
        area: Area,
        name: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(area, Level::Warning, name, what) }
    }

    /// Something does not work, and what to do about it.
    pub(crate) fn failure(
        area: Area,
        name: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(area, Level::Failure, name, what) }
    }

    /// Where it is.
    pub(crate) fn at(self, place: &Path) -> Self {
        Self { place: Some(place.to_string_lossy().into_owned()), ..self }
    }

    /// That `--fix` can do it.
    pub(crate) fn mended_by(self, mend: Mend) -> Self {
        Self { mend: Some(mend), ..self }
    }
}

/// All checks, by area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What came of each.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether something does not work.
    pub fn has_failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == Level::Failure)
    }

    /// What can be put right, each once.
    pub fn mends(&self) -> Vec<Mend> {
        let mut mends: Vec<Mend> = Vec::new();
        for mend in self.findings.iter().filter_map(|finding| finding.mend) {
            if !mends.contains(&mend) {
                mends.push(mend);
            }
        }
        mends
    }
}
