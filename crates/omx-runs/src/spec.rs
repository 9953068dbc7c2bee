//! What a run was asked to do. Written once when the run starts, and read on every resume.

use std::path::{Path, PathBuf};

use omx_kernel::price::ModelPrices;
use omx_kernel::{ForeignText, Mode, Refusal};
use omx_store::runs::RunFolder;
use serde::{Deserialize, Serialize};

use crate::migrate;

/// How a change is verified before a run may complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerificationLevel {
    /// By the check command.
    Light,
    /// By the check command and a verifier.
    Standard,
    /// By the check command, a verifier and an architect.
    Thorough,
}

/// Limits that end a run regardless of its progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Input and output tokens.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub micro_usd: Option<u64>,
    /// Seconds of work, summed over all resumes.
    pub seconds: Option<u64>,
}

impl Budget {
    /// Returns this budget with every limit that `other` sets replaced.
    pub fn changed_by(self, other: Self) -> Self {
        Self {
            tokens: other.tokens.or(self.tokens),
            micro_usd: other.micro_usd.or(self.micro_usd),
            seconds: other.seconds.or(self.seconds),
        }
    }
}

/// How long a run waits for what is not in its hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimits {
    /// Seconds for which a failing service or an unexplained rate limit is retried.
    pub patience_s: u64,
    /// Seconds that one run of the check may take.
    pub check_time_s: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { patience_s: 2 * 60 * 60, check_time_s: 30 * 60 }
    }
}

/// One stage of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineStage {
    /// Its name; the phase is `stage:<name>`.
    pub name: String,
    /// The role that carries it out.
    pub role: String,
    /// Instructions in addition to the task itself.
    #[serde(default)]
    pub prompt: String,
    /// The model. Defaults to the model of the role's tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The directory and branch a run works in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Workspace {
    /// A worktree of its own.
    Worktree {
        /// The worktree.
        path: PathBuf,
        /// Its branch.
        branch: String,
        /// The commit the branch started from.
        base: String,
    },
    /// The person's own directory.
    InPlace {
        /// The directory.
        path: PathBuf,
    },
}

impl Workspace {
    /// The directory agents work in.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Worktree { path, .. } | Self::InPlace { path } => path,
        }
    }
}

/// What a run was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The mode, by name.
    #[serde(with = "mode_name")]
    pub mode: Mode,
    /// The task, in the person's words.
    pub task: ForeignText,
    /// A short form of the task with the run's id, for file names. Runs of earlier versions
    /// have no id there.
    pub slug: String,
    /// When the run started.
    pub started_at: String,
    /// The agent, by name.
    pub agent: String,
    /// The model for every role, if the person chose one.
    pub model: Option<String>,
    /// What agents may do without asking: `edits`, `commands` or `all`.
    pub allow: String,
    /// The project's check command, if there is one.
    pub check: Option<ForeignText>,
    /// How results are verified.
    pub verification: VerificationLevel,
    /// The iteration limit, if the person set one.
    pub max_iterations: Option<u64>,
    /// What the run may use.
    pub budget: Budget,
    /// What models cost, for agents that do not report it.
    #[serde(default, skip_serializing_if = "ModelPrices::is_empty")]
    pub prices: ModelPrices,
    /// How long it waits.
    #[serde(default)]
    pub limits: RunLimits,
    /// Where it works.
    pub workspace: Workspace,
    /// The stages of a pipeline.
    pub stages: Vec<PipelineStage>,
    /// The rehearsal agent's scenario.
    pub scenario: Option<PathBuf>,
}

impl RunSpec {
    /// Reads the spec from a run's folder, in the current or an older format.
    pub fn load(folder: &RunFolder) -> Result<Self, Refusal> {
        let stored: migrate::StoredSpec = folder.read_spec()?;
        Ok(stored.into_spec())
    }

    /// Returns the spec in the format that a run's folder stores.
    pub fn stored(&self) -> impl Serialize {
        migrate::StoredSpec::current(self.clone())
    }

    /// The file name, without its extension, of the context snapshot taken when the run started.
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
