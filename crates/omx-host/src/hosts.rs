//! The table of hosts: one row each, kept beside the host's own setup.
//!
//! Everything that differs between hosts is a field of [`HostSpec`], so a new host is
//! a variant of [`HostKind`] and one file with its row.

use omx_kernel::HostKind;

use crate::setup::{HookForm, HostSetup, claude, codex, gemini};

/// What omx knows about one host.
#[derive(Debug)]
pub struct HostSpec {
    /// Which host.
    pub kind: HostKind,
    /// Where it keeps its files.
    pub home: HostHome,
    /// The file with instructions for its agent, in its folder and in a project.
    pub guidance_file: &'static str,
    /// The block omx writes into that file.
    pub guidance: &'static str,
    /// The files in its folder that can hold hooks.
    pub hook_files: &'static [&'static str],
    /// The events it reports to omx, and how many seconds a hook may take. A hook ends
    /// long before; the limit is for a machine that is stuck.
    pub events: &'static [(&'static str, u64)],
    /// The event before a tool runs. The doctor sends one to see whether hooks work.
    pub tool_event: &'static str,
    /// How a hook entry is written.
    pub hook_form: HookForm,
    /// How a hook's output is written.
    pub output: OutputForm,
    /// How the entry begins that its transcript gets when the person interrupts the agent;
    /// `None` if the host reports an event.
    pub interrupt_mark: Option<&'static str>,
    /// The variable with a file of exports for every command of a conversation.
    pub environment_file: Option<&'static str>,
    /// The variable with the project's folder.
    pub project_folder: Option<&'static str>,
    /// How setup changes its files.
    pub(crate) setup: HostSetup,
}

/// Where a host keeps its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostHome {
    /// Its folder, in the person's home and in a project.
    pub folder: &'static str,
    /// The variable that moves it.
    pub variable: &'static str,
    /// What the variable names.
    pub names: HomeVariable,
}

/// What a host's variable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeVariable {
    /// The host's folder itself.
    Folder,
    /// The folder that holds the host's folder.
    Parent,
}

/// How a host wants the output of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputForm {
    /// The decision that holds a stop.
    pub hold: &'static str,
    /// The versions that also take a hold as feedback, which they do not call an error.
    pub feedback: Option<FeedbackSupport>,
    /// The field with changed arguments of a tool.
    pub arguments: &'static str,
    /// Whether changed arguments count only beside an approval.
    pub approval: ApprovalForm,
}

/// Which versions of a host hold a stop for a context instead of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackSupport {
    /// The variable in which the host names itself to its hooks.
    pub variable: &'static str,
    /// What its value begins with; the version follows.
    pub prefix: &'static str,
    /// The first version that is known to do it. Older ones would not hold the stop.
    pub since: [u32; 3],
}

impl FeedbackSupport {
    /// Whether a host that names itself like this takes a hold as feedback.
    pub fn covers(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(self.prefix) else { return false };
        let version = rest.split('_').next().unwrap_or_default();
        let mut numbers = version.split(['-', '.']).map_while(|part| part.parse::<u32>().ok());
        let version: [Option<u32>; 3] = [numbers.next(), numbers.next(), numbers.next()];
        matches!(version, [Some(major), Some(minor), Some(patch)] if [major, minor, patch] >= self.since)
    }
}

/// Whether a host takes changed arguments only beside an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalForm {
    /// Changed arguments stand alone; the host's own approval still applies.
    Absent,
    /// Changed arguments need `permissionDecision: allow`.
    Required,
}

/// Every host's row, in the order of [`HostKind::ALL`].
const HOSTS: [&HostSpec; HostKind::ALL.len()] = [&codex::SPEC, &claude::SPEC, &gemini::SPEC];

/// The row of a host.
pub const fn host_spec(kind: HostKind) -> &'static HostSpec {
    HOSTS[kind as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surface_6_2a_only_versions_that_are_known_to_hold_for_feedback_get_it() {
        let feedback = host_spec(HostKind::Claude).output.feedback.unwrap();
        for name in ["claude-code_2-1-197_harness", "claude-code_2-2-0", "claude-code_3-0-0_x"] {
            assert!(feedback.covers(name), "{name}");
        }
        for name in ["claude-code_2-1-196_harness", "claude-code_2-1", "claude-code", "", "x_9-9-9"]
        {
            assert!(!feedback.covers(name), "{name}");
        }
    }

    #[test]
    fn every_host_has_its_row() {
        for kind in HostKind::ALL {
            let spec = host_spec(kind);
            assert_eq!(spec.kind, kind);
            assert!(spec.events.iter().any(|(event, _)| *event == spec.tool_event), "{kind}");
            assert!(!spec.hook_files.is_empty(), "{kind}");
        }
    }
}
