//! What a run shows while it works: for the live view, for programs, and for
//! whoever attaches later.

use serde::{Deserialize, Serialize};

use crate::step_key::StepKey;
use crate::usage::Usage;

/// The file in a run's folder that keeps what was shown.
pub const EVENTS_FILE: &str = "events.jsonl";

/// Something to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Progress {
    /// A step began.
    StepBegan {
        /// Which.
        step: StepKey,
        /// The mode it belongs to.
        mode: String,
        /// The phase.
        phase: String,
        /// Who does it: a role, or omx itself.
        who: String,
        /// What, in a few words.
        what: String,
    },
    /// A step is done.
    StepFinished {
        /// Which.
        step: StepKey,
        /// How, in a few words.
        how: String,
    },
    /// The agent's model.
    Model {
        /// In which step.
        step: StepKey,
        /// Its name.
        model: String,
    },
    /// The agent said something.
    Said {
        /// In which step.
        step: StepKey,
        /// The words.
        text: String,
    },
    /// The agent uses a tool.
    Tool {
        /// In which step.
        step: StepKey,
        /// Which, and on what.
        tool: String,
    },
    /// What the run has used so far.
    #[serde(rename = "spent")]
    Usage(Usage),
    /// Trouble.
    Trouble {
        /// In which step.
        step: StepKey,
        /// Its word.
        kind: String,
        /// In words.
        text: String,
    },
    /// The run waits.
    Waiting {
        /// What for.
        #[serde(rename = "for")]
        what: String,
        /// Until when.
        until: String,
    },
    /// Only the person can go on.
    NeedsYou {
        /// In which step.
        step: StepKey,
        /// What the agent wants to do.
        what: String,
    },
    /// Anything else worth a line.
    Note(#[serde(with = "note")] String),
}

mod note {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Text {
        text: String,
    }

    pub(super) fn serialize<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
        Text { text: text.to_owned() }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Text::deserialize(from).map(|text| text.text)
    }
}
