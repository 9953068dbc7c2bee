//! Progress of a run, for the live view, for programs, and for `omx runs attach`.

use omx_kernel::ForeignText;
use serde::{Deserialize, Serialize};

use crate::step_key::StepKey;
use crate::usage::Usage;

/// The file in a run's folder that keeps its progress.
pub const EVENTS_FILE: &str = "events.jsonl";

/// One item of progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Progress {
    /// A step started.
    StepBegan {
        /// The step.
        step: StepKey,
        /// The mode it belongs to.
        mode: ForeignText,
        /// The phase of that mode.
        phase: ForeignText,
        /// The role that does it, or omx itself.
        who: ForeignText,
        /// What the step does, in a few words.
        what: ForeignText,
    },
    /// A step finished.
    StepFinished {
        /// The step.
        step: StepKey,
        /// The result, in a few words.
        how: ForeignText,
    },
    /// The agent reported its model.
    Model {
        /// The step.
        step: StepKey,
        /// The model's name.
        model: ForeignText,
    },
    /// The agent wrote something.
    Said {
        /// The step.
        step: StepKey,
        /// The text.
        text: ForeignText,
    },
    /// The agent uses a tool.
    Tool {
        /// The step.
        step: StepKey,
        /// The tool and what it works on.
        tool: ForeignText,
    },
    /// What the run has used so far.
    #[serde(rename = "spent")]
    Usage(Usage),
    /// Something failed.
    Trouble {
        /// The step.
        step: StepKey,
        /// The kind of failure, as a word for programs.
        kind: ForeignText,
        /// The failure, for people.
        text: ForeignText,
    },
    /// The run waits.
    Waiting {
        /// What it waits for.
        #[serde(rename = "for")]
        what: ForeignText,
        /// When the wait ends.
        until: ForeignText,
    },
    /// The run needs the person.
    NeedsYou {
        /// The step.
        step: StepKey,
        /// What the agent wants to do.
        what: ForeignText,
    },
    /// Anything else worth a line.
    Note(#[serde(with = "note")] ForeignText),
}

impl Progress {
    /// One line for a person, if this deserves one of its own.
    pub fn summary(&self) -> Option<String> {
        Some(match self {
            Self::StepBegan { step, mode, phase, who, what } => {
                let (who, what, mode) = (who.one_line(), what.one_line(), mode.one_line());
                format!("{step}: {who} {what} ({mode}, {})", phase.one_line())
            }
            Self::StepFinished { step, how } => format!("{step}: done, {}", how.one_line()),
            Self::Trouble { step, text, .. } => format!("{step}: {}", text.one_line()),
            Self::Waiting { what, until } => {
                format!("waiting ({}) until {}", what.one_line(), until.one_line())
            }
            Self::NeedsYou { step, what } => {
                format!("{step}: needs you: allow it to {}?", what.one_line())
            }
            Self::Note(text) => text.one_line().to_string(),
            Self::Model { .. } | Self::Said { .. } | Self::Tool { .. } | Self::Usage(_) => {
                return None;
            }
        })
    }
}

mod note {
    use omx_kernel::ForeignText;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Text {
        text: ForeignText,
    }

    pub(super) fn serialize<S: Serializer>(text: &ForeignText, to: S) -> Result<S::Ok, S::Error> {
        Text { text: text.clone() }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ForeignText, D::Error> {
        Text::deserialize(from).map(|text| text.text)
    }
}
