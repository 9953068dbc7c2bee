//! What a run was asked for: written once at its start, read at every resume.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use omx_kernel::Mode;

/// How a change is verified before a run may call itself complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rigour {
    /// The check command.
    Light,
    /// And a verifier.
    Standard,
    /// And an architect.
    Thorough,
}

/// What ends a run however far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub micro_usd: Option<u64>,
    /// Seconds of work, over all resumes.
    pub seconds: Option<u64>,
}

impl Budget {
    /// This budget with the other's limits where that has any.
    pub fn changed_by(self, other: Self) -> Self {
        Self {
            tokens: other.tokens.or(self.tokens),
            micro_usd: other.micro_usd.or(self.micro_usd),
            seconds: other.seconds.or(self.seconds),
        }
    }
}

/// One stage of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its name; the phase is `stage:<name>`.
    pub name: String,
    /// The role that does it.
    pub role: String,
    /// What it shall do, besides the task itself.
    #[serde(default)]
    pub prompt: String,
    /// The model; without one, that of the role's tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Where a run works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ground {
    /// In a worktree of its own.
    Worktree {
        /// The worktree.
        path: PathBuf,
        /// Its branch.
        branch: String,
        /// The commit it began at.
        base: String,
    },
    /// In the person's own folder.
    InPlace {
        /// The folder.
        path: PathBuf,
    },
}

impl Ground {
    /// The folder agents work in.
    pub fn folder(&self) -> &std::path::Path {
        match self {
            Self::Worktree { path, .. } | Self::InPlace { path } => path,
        }
    }
}

/// A run as it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The mode, by name.
    #[serde(with = "mode_name")]
    pub mode: Mode,
    /// The person's words.
    pub task: String,
    /// A short name made of them, for files.
    pub slug: String,
    /// When it began.
    pub started_at: String,
    /// The agent, by name.
    pub agent: String,
    /// The model for every role, if the person named one.
    pub model: Option<String>,
    /// What agents may do: `edits`, `commands` or `all`.
    pub allow: String,
    /// The project's check, if there is one.
    pub check: Option<String>,
    /// How results are verified.
    pub rigour: Rigour,
    /// The most iterations, if the person set it.
    pub max_iterations: Option<u64>,
    /// What it may spend.
    pub budget: Budget,
    /// Where it works.
    pub ground: Ground,
    /// The stages of a pipeline.
    pub stages: Vec<Stage>,
    /// The rehearsal agent's scenario.
    pub scenario: Option<PathBuf>,
}

impl Asked {
    /// The name of the file that keeps what the run knew when it began,
    /// without its ending.
    pub fn context_name(&self) -> String {
        let time: String = self.started_at.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("{}-{time}", self.slug)
    }
}

mod mode_name {
    use omx_kernel::Mode;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(mode: &Mode, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(mode.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Mode, D::Error> {
        let name = String::deserialize(from)?;
        Mode::parse(&name).map_err(|refusal| D::Error::custom(refusal.message))
    }
}
