//! A part: one thing of omx's in a file of the person's, as it is wanted and
//! as the manifest remembers it.

use omx_kernel::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a part stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FragmentSlot {
    /// A member of a JSON object, by its path.
    Member(Vec<String>),
    /// An element of the JSON array with this path.
    Element(Vec<String>),
    /// A TOML table, by its path.
    Table(Vec<String>),
    /// The marked block of a Markdown file.
    Block,
    /// The whole file.
    Whole,
}

impl FragmentSlot {
    /// The names that lead to it.
    pub(crate) fn path(&self) -> &[String] {
        match self {
            Self::Member(path) | Self::Element(path) | Self::Table(path) => path,
            Self::Block | Self::Whole => &[],
        }
    }
}

/// A part as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragment {
    /// Where it stands.
    pub slot: FragmentSlot,
    /// What it says: a JSON value, a block's text, or the hash of a whole file.
    pub value: Value,
    /// The very text that was put in; empty if the part was found, not written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// How many bytes of the text stand before the part proper.
    #[serde(default)]
    pub lead: usize,
    /// How many of the containers around it came with it.
    #[serde(default)]
    pub made: usize,
    /// What stood there before and is to be put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
}

impl Fragment {
    /// A part that stands there already.
    pub(crate) fn found(slot: &FragmentSlot, value: &Value) -> Self {
        Self::written(slot, value, String::new(), 0, 0)
    }

    /// A part that was put in with this text.
    pub(crate) fn written(
        slot: &FragmentSlot,
        value: &Value,
        text: String,
        lead: usize,
        made: usize,
    ) -> Self {
        Self { slot: slot.clone(), value: value.clone(), text, lead, made, before: None }
    }
}

/// How omx knows a thing of its own again when the manifest does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recognizer {
    /// Only by the manifest.
    Recorded,
    /// A group of hooks that calls `… hook --host HOST` and nothing else.
    Hook,
    /// A server that is started as `omx mcp`.
    Server,
    /// A status line that is `… hud`.
    StatusLine,
    /// A record of trust: its place is its name, so whatever stands there is about ours.
    Trust,
    /// A record of trust that may be about something else which stood there before.
    NewTrust,
}

impl Recognizer {
    /// Whether a value was written by some omx.
    pub fn matches(self, value: &Value) -> bool {
        let calls = |value: &Value, words: &str| {
            let command = value["command"].as_str().unwrap_or_default();
            command.split_once(words).is_some_and(|(program, _)| is_omx(program))
        };
        match self {
            Self::Recorded => false,
            Self::Trust | Self::NewTrust => true,
            Self::Hook => {
                let hooks = value["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
                !hooks.is_empty() && hooks.iter().all(|hook| calls(hook, " hook --host "))
            }
            Self::Server => {
                is_omx(value["command"].as_str().unwrap_or_default())
                    && value["args"] == serde_json::json!(["mcp"])
            }
            Self::StatusLine => calls(value, " hud"),
        }
    }
}

/// Whether a program, as a command line names it, has a name of omx's.
fn is_omx(program: &str) -> bool {
    let name = program.trim_matches('\'').rsplit('/').next().unwrap_or_default();
    Dialect::parse(name).is_some()
}

/// What is wanted of a part that is already there with another content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictRule {
    /// Ours or nothing: what stands there and is not ours is a conflict.
    Needed,
    /// Only where nothing stands: what is there is the person's choice.
    IfNone,
}

/// A part as it should be.
#[derive(Clone, Debug)]
pub(crate) struct DesiredFragment {
    /// Where.
    pub slot: FragmentSlot,
    /// What.
    pub value: Value,
    /// How it is known again.
    pub own: Recognizer,
    /// What to do when the place is taken.
    pub rule: ConflictRule,
    /// In words, for messages: `the hook Stop`.
    pub what: String,
}
