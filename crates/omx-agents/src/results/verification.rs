//! A verification: whether finished work holds, with the evidence.

use super::field::Text;
use super::record::record;
use super::review::Finding;

record! {
    /// Whether work holds what was asked for.
    pub struct Verification {
        /// Whether every criterion is met.
        passed: bool as bool,
        /// What was checked, failures included.
        checks: Vec<Check> as &[Check],
        /// What is not met; empty when all is.
        findings: Vec<Finding> as &[Finding],
    }
}

record! {
    /// One check.
    pub struct Check {
        /// What was checked.
        name: Text as &str,
        /// The command, as it was run; null if none was.
        command: Option<Text> as Option<&str>,
        /// The exit code that was seen; null if no command was run.
        exit_code: Option<i64> as Option<i64>,
        /// What decides it: lines of output, or a place in a file.
        evidence: String as &str,
    }
}
