//! The verdict of a verifier on finished work, with its evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::objects;
use super::review::ReviewFinding;
use super::text::{NonBlankText, optional};

/// Whether finished work meets its criteria.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct VerificationResult {
    /// Whether every criterion is met.
    pub passed: bool,
    /// Everything that was checked, including what failed.
    #[serde(deserialize_with = "objects")]
    pub checks: Vec<VerificationCheck>,
    /// The criteria that are not met; empty if all are.
    #[serde(deserialize_with = "objects")]
    pub findings: Vec<ReviewFinding>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct VerificationCheck {
    /// What was checked.
    pub name: NonBlankText,
    /// The command line, exactly as it was run; null if no command was run.
    #[serde(default, deserialize_with = "optional")]
    pub command: Option<NonBlankText>,
    /// The exit code it returned; null if no command was run.
    pub exit_code: Option<i64>,
    /// What decides the check: lines of output, or a place in a file.
    pub evidence: String,
}
