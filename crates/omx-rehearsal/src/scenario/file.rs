//! A scenario file as it is written: one struct for each of its tables.

use serde::Deserialize;
use toml::Spanned;

use super::values::{
    Amount, Bounded, ErrorStatus, JsonObject, LimitSeconds, Millis, Moment, NonEmpty, Seconds,
    Times,
};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct ScenarioFile {
    pub(super) seed: Option<Bounded<0, { u64::MAX }>>,
    pub(super) entry: Spanned<Vec<Spanned<EntryTable>>>,
}

/// One `[[entry]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct EntryTable {
    pub(super) role: Option<NonEmpty>,
    pub(super) phase: Option<NonEmpty>,
    #[serde(rename = "match")]
    pub(super) text: Option<NonEmpty>,
    pub(super) times: Option<Times>,
    pub(super) required: Option<bool>,
    #[serde(rename = "do")]
    pub(super) steps: Spanned<Vec<Spanned<StepTable>>>,
}

/// One step. Exactly one key is set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct StepTable {
    pub(super) say: Option<String>,
    pub(super) answer: Option<String>,
    pub(super) write: Option<WriteTable>,
    pub(super) patch: Option<PatchTable>,
    pub(super) run: Option<RunTable>,
    pub(super) mcp: Option<McpTable>,
    pub(super) result: Option<JsonObject>,
    pub(super) delay_ms: Option<Millis>,
    pub(super) usage: Option<UsageTable>,
    pub(super) fail: Option<FailTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct WriteTable {
    pub(super) path: NonEmpty,
    pub(super) content: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct PatchTable {
    pub(super) path: NonEmpty,
    pub(super) find: NonEmpty,
    pub(super) replace: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct RunTable {
    pub(super) command: NonEmpty,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct McpTable {
    pub(super) server: Option<NonEmpty>,
    pub(super) tool: NonEmpty,
    #[serde(default)]
    pub(super) args: JsonObject,
    pub(super) timeout_s: Option<Seconds>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct UsageTable {
    pub(super) input: Amount,
    pub(super) output: Amount,
    pub(super) cached: Option<Amount>,
    pub(super) micro_usd: Option<Amount>,
}

/// `fail`. Which keys may be set depends on the kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct FailTable {
    pub(super) kind: FailKind,
    pub(super) message: Option<Spanned<String>>,
    pub(super) until: Option<Spanned<Moment>>,
    pub(super) reset_in_s: Option<Spanned<LimitSeconds>>,
    pub(super) status: Option<Spanned<ErrorStatus>>,
    pub(super) deaf: Option<Spanned<bool>>,
}

/// The kinds of `fail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailKind {
    RateLimit,
    Auth,
    Network,
    Service,
    Cut,
    UnknownModel,
    Crash,
    Hang,
}

impl FailKind {
    /// The kind as the file writes it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Auth => "auth",
            Self::Network => "network",
            Self::Service => "service",
            Self::Cut => "cut",
            Self::UnknownModel => "unknown_model",
            Self::Crash => "crash",
            Self::Hang => "hang",
        }
    }

    /// Whether a key may stand beside this kind.
    pub(super) fn allows(self, key: &str) -> bool {
        match key {
            "message" => !matches!(self, Self::Crash | Self::Hang),
            "until" | "reset_in_s" => self == Self::RateLimit,
            "status" => self == Self::Service,
            "deaf" => self == Self::Hang,
            _ => false,
        }
    }
}
