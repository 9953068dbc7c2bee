//! Who confines an agent, and to what: one rule for every agent program.
//!
//! An agent changes nothing but its workspace, private folders and parts of its own
//! state. Its own sandbox does that where it has one, omx where it does not; two file
//! sandboxes around one process do not work together.

use crate::agent_kind::AgentKind;
use crate::approval::AllowLevel;

/// What an agent may do to the files of its workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WorkspaceAccess {
    /// Read them: reviewers, verifiers, planners, and an agent that answers a question.
    ReadOnly,
    /// Change them.
    #[default]
    ReadWrite,
}

/// What the person wants where the system cannot confine agents (`sandbox`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SandboxSetting {
    /// Never start an agent that is not confined.
    Required,
    /// Confine agents; ask the person where that is impossible.
    #[default]
    Auto,
    /// Do not confine agents.
    Off,
}

impl SandboxSetting {
    /// Every setting, the strictest first.
    pub const ALL: [Self; 3] = [Self::Required, Self::Auto, Self::Off];

    /// The name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Auto => "auto",
            Self::Off => "off",
        }
    }

    /// Finds a setting by its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.as_str() == word)
    }
}

/// Whether this system can confine programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemConfinement {
    /// It can.
    Available,
    /// It has no means for it.
    Missing,
}

/// Who confines an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfinedBy {
    /// omx.
    Omx,
    /// The agent's own sandbox.
    Agent,
    /// Nobody.
    Nobody(UnconfinedReason),
}

/// Why an agent is not confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnconfinedReason {
    /// The person allows everything.
    AllAllowed,
    /// The person switched confinement off.
    SwitchedOff,
    /// The system has no means for it.
    Impossible,
}

/// What a start needs before an agent that is not confined may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnconfinedStart {
    /// Nothing: agents are confined, or the person chose not to.
    Permitted,
    /// The person's consent.
    NeedsPerson,
    /// The person's configuration forbids it.
    Forbidden,
}

/// Whether an agent's own sandbox is in force. With everything allowed, codex's is off
/// for those who may write.
pub fn has_own_sandbox(agent: AgentKind, allow: AllowLevel, access: WorkspaceAccess) -> bool {
    let is_off = (allow, access) == (AllowLevel::All, WorkspaceAccess::ReadWrite);
    agent == AgentKind::Codex && !is_off
}

/// Decides who confines an agent. An agent that only reads is confined even if everything
/// is allowed: what is allowed then is up to those who write.
pub fn confined_by(
    agent: AgentKind,
    allow: AllowLevel,
    access: WorkspaceAccess,
    setting: SandboxSetting,
    system: SystemConfinement,
) -> ConfinedBy {
    if has_own_sandbox(agent, allow, access) {
        return ConfinedBy::Agent;
    }
    if (allow, access) == (AllowLevel::All, WorkspaceAccess::ReadWrite) {
        return ConfinedBy::Nobody(UnconfinedReason::AllAllowed);
    }
    match (setting, system) {
        (SandboxSetting::Off, _) => ConfinedBy::Nobody(UnconfinedReason::SwitchedOff),
        (_, SystemConfinement::Missing) => ConfinedBy::Nobody(UnconfinedReason::Impossible),
        (_, SystemConfinement::Available) => ConfinedBy::Omx,
    }
}

/// Decides who confines what omx runs in the workspace itself, such as the check. It
/// executes what the agent wrote, and no agent's own sandbox surrounds it.
pub fn check_confined_by(
    allow: AllowLevel,
    setting: SandboxSetting,
    system: SystemConfinement,
) -> ConfinedBy {
    // The rule of an agent without a sandbox of its own.
    confined_by(AgentKind::Rehearsal, allow, WorkspaceAccess::ReadWrite, setting, system)
}

/// Decides what a start needs, given who confines its agents and checks.
pub fn unconfined_start(setting: SandboxSetting, confined: &[ConfinedBy]) -> UnconfinedStart {
    let impossible = ConfinedBy::Nobody(UnconfinedReason::Impossible);
    match setting {
        _ if !confined.contains(&impossible) => UnconfinedStart::Permitted,
        SandboxSetting::Required => UnconfinedStart::Forbidden,
        SandboxSetting::Auto => UnconfinedStart::NeedsPerson,
        SandboxSetting::Off => UnconfinedStart::Permitted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SystemConfinement::{Available, Missing};
    use WorkspaceAccess::{ReadOnly, ReadWrite};

    #[test]
    fn trust_3_0_exactly_one_sandbox_surrounds_an_agent() {
        for agent in AgentKind::ALL {
            for allow in AllowLevel::ALL {
                for access in [ReadOnly, ReadWrite] {
                    let own = has_own_sandbox(agent, allow, access);
                    let by = confined_by(agent, allow, access, SandboxSetting::Auto, Available);
                    let is_free = (allow, access) == (AllowLevel::All, ReadWrite);
                    let expected = match (own, is_free) {
                        (true, _) => ConfinedBy::Agent,
                        (false, true) => ConfinedBy::Nobody(UnconfinedReason::AllAllowed),
                        (false, false) => ConfinedBy::Omx,
                    };
                    assert_eq!(by, expected, "{agent} {allow:?} {access:?}");
                }
            }
        }
    }

    #[test]
    fn trust_3_0_readers_are_confined_whatever_is_allowed() {
        for agent in AgentKind::ALL {
            let by = confined_by(agent, AllowLevel::All, ReadOnly, SandboxSetting::Auto, Available);
            assert!(!matches!(by, ConfinedBy::Nobody(_)), "{agent}");
        }
    }

    #[test]
    fn trust_3_0_without_means_the_person_decides() {
        let by = |setting| {
            let agent = AgentKind::Claude;
            confined_by(agent, AllowLevel::Commands, ReadWrite, setting, Missing)
        };
        for (setting, needs) in [
            (SandboxSetting::Required, UnconfinedStart::Forbidden),
            (SandboxSetting::Auto, UnconfinedStart::NeedsPerson),
            (SandboxSetting::Off, UnconfinedStart::Permitted),
        ] {
            assert_eq!(unconfined_start(setting, &[by(setting)]), needs);
            assert_eq!(unconfined_start(setting, &[ConfinedBy::Agent]), UnconfinedStart::Permitted);
        }
    }

    #[test]
    fn trust_3_0a_the_check_is_confined_although_codex_confines_itself() {
        let check = |allow| check_confined_by(allow, SandboxSetting::Auto, Available);
        assert_eq!(check(AllowLevel::Edits), ConfinedBy::Omx);
        assert_eq!(check(AllowLevel::Commands), ConfinedBy::Omx);
        assert_eq!(check(AllowLevel::All), ConfinedBy::Nobody(UnconfinedReason::AllAllowed));
    }
}
