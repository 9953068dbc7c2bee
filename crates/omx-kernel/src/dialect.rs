//! The two naming families of the one engine. No other file knows that there are two.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::mode::Mode;

/// Everything that differs between the two families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// The program's name, which also selects the dialect.
    pub name: &'static str,
    /// The name in sentences.
    pub label: &'static str,
    /// The name of the state folder in a project.
    pub dir_name: &'static str,
    /// The file name of the project's JSON configuration.
    pub project_config: &'static str,
    /// The prefix of environment variables.
    pub env_prefix: &'static str,
    /// The environment variable that holds a child's
    /// [`ChildContext`](crate::ChildContext).
    pub context_variable: &'static str,
    /// The prefix of a team's tmux sessions and branches.
    pub team_prefix: &'static str,
    /// The prefix of a run's branches.
    pub run_prefix: &'static str,
    /// Prefixes allowed between the sign and the name of a call in a prompt.
    pub call_prefixes: [&'static str; 2],
    /// What the person types in a host to cancel.
    pub cancel_command: &'static str,
    /// What the person types in a host to resume autopilot.
    pub autopilot_command: &'static str,
    /// The word that cancels wherever it stands in a prompt.
    pub cancel_word: &'static str,
    /// The report on a team that no process answers for; `{path}` is its folder.
    pub team_report: &'static [&'static str],
}

impl Dialect {
    /// oh-my-codex.
    pub const OMX: Dialect = Dialect {
        name: "omx",
        label: "OMX",
        dir_name: ".omx",
        project_config: ".omx-config.json",
        env_prefix: "OMX_",
        context_variable: "OMX_CONTEXT",
        team_prefix: "omx-team",
        run_prefix: "omx-run",
        call_prefixes: ["omx:", "oh-my-codex:"],
        cancel_command: "/cancel",
        autopilot_command: "/autopilot",
        cancel_word: "cancelomx",
        team_report: &[
            "Workers signaled: 0",
            "Graceful exits: 0",
            "Force killed: 0",
            "tmux session destroyed: no",
            "State cleaned up: no",
        ],
    };

    /// oh-my-claudecode.
    pub const OMC: Dialect = Dialect {
        name: "omc",
        label: "OMC",
        dir_name: ".omc",
        project_config: ".omc-config.json",
        env_prefix: "OMC_",
        context_variable: "OMC_CONTEXT",
        team_prefix: "omc-team",
        run_prefix: "omc-run",
        call_prefixes: ["omc:", "oh-my-claudecode:"],
        cancel_command: "/oh-my-claudecode:cancel",
        autopilot_command: "/oh-my-claudecode:autopilot",
        cancel_word: "cancelomc",
        team_report: &[
            "Members signaled: 0",
            "Responses received: 0",
            "Unresponsive: 0",
            "Team deleted: no",
            "Manual cleanup needed: yes ({path})",
        ],
    };

    /// Both dialects, the default first.
    pub const ALL: [Dialect; 2] = [Self::OMX, Self::OMC];

    /// Finds a dialect by its name.
    pub fn parse(name: &str) -> Option<Dialect> {
        Self::ALL.into_iter().find(|dialect| dialect.name == name)
    }
}

impl Dialect {
    /// The dialect whose run a branch belongs to; the default for any other branch.
    pub fn of_branch(branch: &str) -> Dialect {
        let is_run = |dialect: &Dialect| {
            branch.strip_prefix(dialect.run_prefix).is_some_and(|rest| rest.starts_with('/'))
        };
        Self::ALL.into_iter().find(is_run).unwrap_or(Self::OMX)
    }

    /// Translates a text of omx's own, which is written in the default dialect, into this
    /// one: the program's name, its folders and variables, and what people type. Only for
    /// texts without anything foreign in them, such as paths.
    pub fn localize<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let from = Self::OMX;
        if *self == from {
            return Cow::Borrowed(text);
        }
        let mut text = text.replace(from.call_prefixes[1], self.call_prefixes[1]);
        let (family, own_family) = (from.call_prefixes[1], self.call_prefixes[1]);
        text = text.replace(family.trim_end_matches(':'), own_family.trim_end_matches(':'));
        for verb in ["cancel", "stop"] {
            let (word, own) = (format!("{verb}{}", from.name), format!("{verb}{}", self.name));
            text = text.replace(&word, &own);
        }
        text = replace_words(&text, from.name, self.name);
        text = replace_words(&text, from.label, self.label);
        for name in Mode::ALL.into_iter().map(Mode::name).chain(["cancel"]) {
            text = replace_calls(&text, name, self.call_prefixes[1]);
        }
        Cow::Owned(text)
    }
}

/// Replaces a name wherever it is a word of its own.
fn replace_words(text: &str, name: &str, other: &str) -> String {
    let mut translated = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let is_part = |c: char| c.is_alphanumeric();
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        translated.push_str(before);
        translated.push_str(if is_word { other } else { name });
        rest = after;
    }
    translated + rest
}

/// Adds the prefix to calls such as `/ralph`, but not to paths.
fn replace_calls(text: &str, name: &str, prefix: &str) -> String {
    let call = format!("/{name}");
    let mut translated = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&call) {
        let (before, after) = (&rest[..at], &rest[at + call.len()..]);
        let is_free = before.is_empty() && translated.is_empty()
            || before.ends_with([' ', '`', '(', '"', '\n']);
        // A dot that ends a sentence is not part of a path.
        let tail = after.strip_prefix('.').unwrap_or(after);
        let is_path = tail.starts_with(char::is_alphanumeric) || after.starts_with(['-', '_', '/']);
        translated.push_str(before);
        match is_free && !is_path {
            true => translated.push_str(&format!("/{prefix}{name}")),
            false => translated.push_str(&call),
        }
        rest = after;
    }
    translated + rest
}

/// A dialect is stored by its name.
impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for Dialect {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Self::parse(&name).ok_or_else(|| {
            serde::de::Error::unknown_variant(&name, &[Self::OMX.name, Self::OMC.name])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_1_5_a_text_is_translated_word_by_word_and_calls_get_their_prefix() {
        let text = "omx runs, .omx/x, _omx, comx omxs (omx) OMX_ROOT, OMX modes. Type cancelomx, \
                    `/cancel --all`, /autopilot. or $ralph; see docs/ralph/x, /team/a, /omx:ralph.";
        let omc = "omc runs, .omc/x, _omc, comx omxs (omc) OMC_ROOT, OMC modes. Type cancelomc, \
                   `/oh-my-claudecode:cancel --all`, /oh-my-claudecode:autopilot. or $ralph; \
                   see docs/ralph/x, /team/a, /omc:ralph.";
        assert_eq!(Dialect::OMC.localize(text), omc);
        assert_eq!(Dialect::OMX.localize(text), text);
        assert_eq!(Dialect::OMC.localize("oh-my-codex"), "oh-my-claudecode");
    }
}
