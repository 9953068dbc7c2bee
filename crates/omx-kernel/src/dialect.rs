//! The two families of names the same engine answers to. This record is the
//! only place that knows there are two.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names and words that differ between the families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// The program's name, and the name it is chosen by.
    pub name: &'static str,
    /// The name in sentences.
    pub label: &'static str,
    /// The folder that holds everything of a project.
    pub dir_name: &'static str,
    /// The project's configuration in JSON.
    pub project_config: &'static str,
    /// How environment names begin.
    pub env_prefix: &'static str,
    /// How tmux sessions and branches of teams begin.
    pub team_prefix: &'static str,
    /// How branches of runs begin.
    pub run_prefix: &'static str,
    /// What may stand between the sign and the name of a call in a prompt.
    pub call_prefixes: [&'static str; 2],
    /// What a person types in the agent to cancel.
    pub cancel_command: &'static str,
    /// What a person types in the agent to go on with autopilot.
    pub autopilot_command: &'static str,
    /// The report on a team nobody answered for; `{path}` is where its files are.
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
        team_prefix: "omx-team",
        run_prefix: "omx-run",
        call_prefixes: ["omx:", "oh-my-codex:"],
        cancel_command: "/cancel",
        autopilot_command: "/autopilot",
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
        team_prefix: "omc-team",
        run_prefix: "omc-run",
        call_prefixes: ["omc:", "oh-my-claudecode:"],
        cancel_command: "/oh-my-claudecode:cancel",
        autopilot_command: "/oh-my-claudecode:autopilot",
        team_report: &[
            "Members signaled: 0",
            "Responses received: 0",
            "Unresponsive: 0",
            "Team deleted: no",
            "Manual cleanup needed: yes ({path})",
        ],
    };

    /// Both, the default first.
    pub const ALL: [Dialect; 2] = [Self::OMX, Self::OMC];

    /// The dialect of that name.
    pub fn parse(name: &str) -> Option<Dialect> {
        Self::ALL.into_iter().find(|dialect| dialect.name == name)
    }

    /// The environment variable that holds a child's
    /// [`ChildContext`](crate::ChildContext).
    pub fn context_variable(&self) -> String {
        format!("{}CONTEXT", self.env_prefix)
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
