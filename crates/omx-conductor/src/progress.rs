//! What a run shows while it works: for the live view, for programs, and for
//! whoever attaches later.

use omx_agents::event::{Ask, ToolAction};
use omx_agents::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::prompts;
use crate::record::Spent;
use crate::story::{Step, StepKey, Work};

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
    /// What was spent so far.
    Spent(Spent),
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

impl Progress {
    pub(crate) fn began(step: &Step) -> Self {
        let (who, what) = match &step.work {
            Work::Errand(errand) => {
                (errand.role.clone(), prompts::in_short(&errand.purpose).to_owned())
            }
            Work::Check => ("omx".to_owned(), "runs the check".to_owned()),
            Work::KeepPlan(_) => ("omx".to_owned(), "keeps the plan".to_owned()),
        };
        Self::StepBegan {
            step: step.key.clone(),
            mode: step.mode.name().to_owned(),
            phase: step.phase.clone(),
            who,
            what,
        }
    }

    pub(crate) fn finished(step: &Step, result: &Value) -> Self {
        let word = |name: &str| result.get(name).and_then(Value::as_str).map(str::to_owned);
        let count = |name: &str| result.get(name).and_then(Value::as_array).map_or(0, Vec::len);
        let how = if let Some(verdict) = word("verdict") {
            match count("findings") {
                0 => verdict,
                1 => format!("{verdict}, 1 finding"),
                many => format!("{verdict}, {many} findings"),
            }
        } else if let Some(passed) = result.get("passed").and_then(Value::as_bool) {
            if passed { "passed".to_owned() } else { "not passed".to_owned() }
        } else if let Some(code) = result.get("exit_code") {
            format!("exit {code}")
        } else if let Some(path) = word("plan_path") {
            path
        } else {
            word("title").or_else(|| word("summary")).unwrap_or_default()
        };
        Self::StepFinished { step: step.key.clone(), how }
    }

    pub(crate) fn tool(step: &StepKey, tool: &ToolAction) -> Self {
        let tool = match tool {
            ToolAction::Command(line) => format!("runs {line}"),
            ToolAction::Edit(paths) => {
                let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                format!("edits {}", names.join(", "))
            }
            ToolAction::Mcp { server, tool } => format!("calls {server} {tool}"),
            ToolAction::Other(name) => format!("uses {name}"),
        };
        Self::Tool { step: step.clone(), tool }
    }

    pub(crate) fn trouble(step: &StepKey, trouble: &Failure) -> Self {
        Self::Trouble {
            step: step.clone(),
            kind: trouble.kind().to_owned(),
            text: trouble.to_string(),
        }
    }

    pub(crate) fn needs_you(step: &StepKey, ask: &Ask) -> Self {
        Self::NeedsYou { step: step.clone(), what: in_words(ask) }
    }
}

/// What an agent wants to do.
pub(crate) fn in_words(ask: &Ask) -> String {
    match ask {
        Ask::Edit { paths, .. } => format!("edit {}", paths.join(", ")),
        Ask::Command { command, .. } => format!("run {command}"),
        Ask::Tool { server, tool } => format!("call {server} {tool}"),
        Ask::Other { what } => what.clone(),
    }
}
