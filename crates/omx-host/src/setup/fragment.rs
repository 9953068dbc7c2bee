//! Fragments: the pieces omx adds to the person's files, as desired and as the
//! manifest records them.

use omx_kernel::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where in a file a fragment is.
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
    /// The path of names to it.
    pub(crate) fn path(&self) -> &[String] {
        match self {
            Self::Member(path) | Self::Element(path) | Self::Table(path) => path,
            Self::Block | Self::Whole => &[],
        }
    }
}

/// A fragment as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragment {
    /// Where it is.
    pub slot: FragmentSlot,
    /// Its value: a JSON value, a block's text, or the hash of a whole file.
    pub value: Value,
    /// Exactly the inserted text; empty if omx found the fragment and did not write it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// How many bytes of the text precede the fragment itself.
    #[serde(default)]
    pub lead: usize,
    /// How many containers around it were inserted with it.
    #[serde(default)]
    pub made: usize,
    /// The value it replaced, which uninstall restores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
}

impl Fragment {
    /// A fragment that exists already.
    pub(crate) fn found(slot: &FragmentSlot, value: &Value) -> Self {
        Self::written(slot, value, String::new(), 0, 0)
    }

    /// A fragment that was inserted with this text.
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

/// How omx recognizes its own fragment without a record in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recognizer {
    /// Not at all.
    Recorded,
    /// A group of hooks that calls `… hook --host HOST` and nothing else.
    Hook,
    /// A server whose command is `omx mcp`.
    Server,
    /// A status line whose command is `… hud`.
    StatusLine,
    /// A trust record. It is named after the hook's place, so it is about omx's hook.
    Trust,
    /// A trust record that may be about another hook that was in this place before.
    NewTrust,
}

impl Recognizer {
    /// Whether some version of omx wrote the value.
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

/// Whether a program in a command line has one of omx's names.
fn is_omx(program: &str) -> bool {
    let name = program.trim_matches('\'').rsplit('/').next().unwrap_or_default();
    Dialect::parse(name).is_some()
}

/// What to do where another value exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictRule {
    /// Report a conflict: the fragment is required.
    Required,
    /// Keep it: it is the person's choice.
    OnlyIfMissing,
}

/// A fragment as omx wants it.
#[derive(Clone, Debug)]
pub(crate) struct DesiredFragment {
    /// Where.
    pub slot: FragmentSlot,
    /// What.
    pub value: Value,
    /// How omx recognizes it.
    pub own: Recognizer,
    /// What to do where another value exists.
    pub rule: ConflictRule,
    /// A noun for messages, such as `omx's hook for Stop`.
    pub what: String,
}
