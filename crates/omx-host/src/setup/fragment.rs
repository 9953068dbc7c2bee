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
    /// A group of hooks that calls `… hook --host HOST` of this dialect and nothing else.
    Hook(Dialect),
    /// A server whose command is `… mcp` of this dialect.
    Server(Dialect),
    /// A status line whose command is `… hud` of this dialect.
    StatusLine(Dialect),
    /// A trust record. It is named after the hook's place, so it is about omx's hook.
    Trust,
    /// A trust record that may be about another hook that was in this place before.
    NewTrust,
}

impl Recognizer {
    /// Whether some version of this dialect wrote the value. The other dialect's
    /// fragments are not ours: both may be set up side by side.
    pub fn matches(self, value: &Value) -> bool {
        match self {
            Self::Recorded => false,
            Self::Trust | Self::NewTrust => true,
            Self::Hook(dialect) => hook_dialect(value) == Some(dialect),
            Self::Server(dialect) => {
                let words: Vec<&str> = value["args"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                let program = value["command"].as_str().unwrap_or_default();
                let called = format!("{program} {}", words.join(" "));
                called_dialect(&called, " mcp") == Some(dialect) && words.last() == Some(&"mcp")
            }
            Self::StatusLine(dialect) => {
                called_dialect(value["command"].as_str().unwrap_or_default(), " hud")
                    == Some(dialect)
            }
        }
    }
}

/// The dialect of a group of hooks that calls nothing but its `hook --host HOST`.
pub(crate) fn hook_dialect(group: &Value) -> Option<Dialect> {
    let hooks = group["hooks"].as_array()?;
    let mut dialects = hooks
        .iter()
        .map(|hook| called_dialect(hook["command"].as_str().unwrap_or_default(), " hook --host "));
    let first = dialects.next()??;
    dialects.all(|dialect| dialect == Some(first)).then_some(first)
}

/// The dialect of a command line before these words: the one that it selects, or else the
/// one that the program is named after. `None` if it calls another program.
fn called_dialect(command: &str, words: &str) -> Option<Dialect> {
    let (call, _) = command.split_once(words)?;
    let (program, selected) = match call.split_once(" --dialect ") {
        Some((program, name)) => (program, Some(name)),
        None => (call, None),
    };
    let name = program.trim_matches('\'').rsplit('/').next().unwrap_or_default();
    let by_name = Dialect::parse(name)?;
    selected.map_or(Some(by_name), |name| Dialect::parse(name.trim()))
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
