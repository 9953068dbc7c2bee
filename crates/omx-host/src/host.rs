//! The programs in whose conversations omx shows itself.

/// A host: an agent program a person talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// Codex.
    Codex,
    /// Claude Code.
    Claude,
    /// Gemini CLI.
    Gemini,
}

impl Host {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Codex, Self::Claude, Self::Gemini];

    /// Its name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
        }
    }

    /// The host of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.as_str() == name)
    }
}
