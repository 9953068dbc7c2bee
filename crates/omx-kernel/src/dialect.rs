//! The two naming families of the one engine. No other file knows that there are two.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
