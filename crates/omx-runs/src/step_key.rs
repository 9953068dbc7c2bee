//! The name of a step.

use std::fmt;

use omx_kernel::EscapedText;
use serde::{Deserialize, Serialize};

/// The name of a step within its run, such as `c2.build.work`: the names of the
/// enclosing workflow parts, joined by dots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepKey(String);

impl StepKey {
    /// The step with this name.
    pub fn new(name: String) -> Self {
        Self(name)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A journal may contain anything.
        EscapedText::one_line(&self.0).fmt(f)
    }
}
