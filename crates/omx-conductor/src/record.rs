//! What a run's journal says. It is the truth of a run: everything else is
//! made from it.

use omx_agents::event::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::asked::Budget;
use crate::story::StepKey;

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A process took the run up, for the first time or again.
    Opened {
        /// The program's version.
        version: String,
    },
    /// A step begins. Written before anything of it happens.
    StepStarted {
        /// Which.
        step: StepKey,
        /// What it was given, as a hash.
        input: String,
        /// What the folder held, as a hash, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// The agent's own name for the conversation. Written before a word is said in it.
    Conversation {
        /// For which step.
        step: StepKey,
        /// The agent.
        agent: String,
        /// The id.
        id: String,
    },
    /// The agent showed that it has heard what it shall do. Until then nothing
    /// can have come of the step.
    Heard {
        /// For which step.
        step: StepKey,
    },
    /// Tokens were spent. Nothing is spent on what was not heard.
    Spent {
        /// For which step.
        step: StepKey,
        /// How many.
        #[serde(flatten)]
        usage: Spent,
    },
    /// A step's result was checked and is good.
    StepFinished {
        /// Which.
        step: StepKey,
        /// What it gave.
        result: Value,
        /// What the folder held after it, as a hash.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// A step came to nothing.
    StepFailed {
        /// Which.
        step: StepKey,
        /// Why.
        error: String,
    },
    /// The result of a step, or its beginning, no longer counts.
    StepForgotten {
        /// Which.
        step: StepKey,
        /// Why.
        why: String,
    },
    /// A changed input of a step was accepted by the person.
    InputAccepted {
        /// Which.
        step: StepKey,
        /// The input as it is now.
        input: String,
    },
    /// The run waits.
    Waiting {
        /// For which step.
        step: StepKey,
        /// What for.
        #[serde(rename = "for")]
        what: String,
        /// Until when, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// How long this process has had the run so far. Written with each
    /// finished step, so that a kill costs the time budget little.
    Worked {
        /// In milliseconds.
        worked_ms: u64,
    },
    /// The person's limit.
    LimitRaised {
        /// The most iterations from now on.
        max_iterations: u64,
    },
    /// The person's budget; what it does not name stays.
    BudgetRaised {
        /// What the run may spend from now on, with all it has spent.
        budget: Budget,
    },
    /// A process let go of the run.
    Closed {
        /// `complete`, `failed`, `blocked_on_user`, `cancelled`, `limit` or `interrupted`.
        outcome: String,
        /// In words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// How long this process had it, in milliseconds.
        worked_ms: u64,
    },
}

/// Tokens and money, as the journal keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Millionths of a US dollar, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
}

impl Spent {
    /// Adds what an agent told.
    pub fn add(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.micro_usd = match (self.micro_usd, more.micro_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default().saturating_add(b.unwrap_or_default())),
        };
    }

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl From<Usage> for Spent {
    fn from(usage: Usage) -> Self {
        Self { input: usage.input_tokens, output: usage.output_tokens, micro_usd: usage.micro_usd }
    }
}
