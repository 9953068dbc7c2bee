//! Tokens and money.

use serde::{Deserialize, Serialize};

/// Tokens and money that a step or a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Millionths of a US dollar, if the agent reports its cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
}

impl Usage {
    /// Adds another usage.
    pub fn add(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.micro_usd = match (self.micro_usd, more.micro_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default().saturating_add(b.unwrap_or_default())),
        };
    }

    /// Input plus output tokens.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
