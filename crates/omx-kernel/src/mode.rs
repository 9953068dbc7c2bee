//! The modes as one table. Differences between modes are data in this table, which the
//! rules in the other files read.

use crate::refusal::{Refusal, RefusalCode};

/// A mode: a workflow that omx knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Plan, implement, review, until the review is clean.
    Autopilot,
    /// Work until it is done and verified.
    Ralph,
    /// Work on independent tasks in parallel.
    Ultrawork,
    /// Like ultrawork, with the cheapest capable models.
    Ecomode,
    /// Check, diagnose, fix, until the check passes.
    Ultraqa,
    /// Equal agents share one pool of tasks.
    Swarm,
    /// Parallel workers on disjoint files.
    Ultrapilot,
    /// A sequence of agents, each with the results of the ones before.
    Pipeline,
    /// Agents with a lead, working in stages.
    Team,
    /// Planner, architect and critic agree on a plan.
    Ralplan,
    /// Two reviewers judge a change independently.
    CodeReview,
}

/// What a cancel does to a document besides ending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnCancel {
    /// The phase becomes `cancelled`.
    Ends,
    /// The phase stays, so that the run can resume from it.
    KeepsPhase,
    /// The phase becomes `cancelled`, but the run can be resumed.
    KeepsPlan,
}

/// Whether a mode tolerates others in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionRole {
    /// Excludes other drivers in the session, unless linked.
    Driver,
    /// Runs alongside any other mode.
    Companion,
}

/// The phases in which a run may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartsAt {
    /// Only the first.
    First,
    /// Any live phase.
    Any,
}

/// What counts as one round (`iteration`) of a mode's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoundCounting {
    /// Each held stop: the hold itself is the loop.
    Holds,
    /// Transitions of the mode's own. A held stop is not a round.
    Transitions,
}

/// Everything that differs between modes.
#[derive(Debug)]
pub struct ModeSpec {
    /// The mode's name, in files and requests.
    pub name: &'static str,
    /// The mode's name at the start of a sentence.
    pub title: &'static str,
    /// The live phases in order; empty for the pipeline, which names its own stages.
    pub phases: &'static [&'static str],
    /// The phases in which a run may start.
    pub starts_at: StartsAt,
    /// `max_iterations` of a start that gives none.
    pub max_iterations: Option<u64>,
    /// `iteration` of a start that gives none.
    pub first_iteration: u64,
    /// What counts as one round.
    pub rounds: RoundCounting,
    /// Whether it tolerates other modes in its session.
    pub role: SessionRole,
    /// What a cancel keeps.
    pub on_cancel: OnCancel,
    /// The message after a cancel. `{phase}` stands for the phase.
    pub cancelled_message: &'static str,
}

impl Mode {
    /// Every mode, in the order in which cancel ends them.
    pub const ALL: [Mode; 11] = [
        Mode::Autopilot,
        Mode::Ralph,
        Mode::Ultrawork,
        Mode::Ecomode,
        Mode::Ultraqa,
        Mode::Swarm,
        Mode::Ultrapilot,
        Mode::Pipeline,
        Mode::Team,
        Mode::Ralplan,
        Mode::CodeReview,
    ];

    /// The order in which the stop decision looks for a mode that holds.
    pub const STOP_PRIORITY: [Mode; 11] = [
        Mode::Ralph,
        Mode::Autopilot,
        Mode::Ultraqa,
        Mode::Ultrawork,
        Mode::Ecomode,
        Mode::Ralplan,
        Mode::CodeReview,
        Mode::Pipeline,
        Mode::Team,
        Mode::Swarm,
        Mode::Ultrapilot,
    ];

    /// Finds a mode by its name. `plan-consensus` is an older name of ralplan.
    pub fn parse(name: &str) -> Result<Mode, Refusal> {
        if name == "plan-consensus" {
            return Ok(Mode::Ralplan);
        }
        Mode::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
            Refusal::new(
                RefusalCode::UnknownMode,
                format!("unknown mode {}; the modes are {}", quote(name), names.join(", ")),
            )
        })
    }

    /// The mode's row in the table.
    pub const fn spec(self) -> &'static ModeSpec {
        &TABLE[self as usize]
    }

    /// The mode's name.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The mode's name at the start of a sentence.
    pub const fn title(self) -> &'static str {
        self.spec().title
    }

    /// The file name of the mode's document.
    pub fn file_name(self) -> String {
        format!("{}-state.json", self.name())
    }

    /// The file name that other programs use for the mode's document, if it differs.
    pub const fn foreign_file_name(self) -> Option<&'static str> {
        match self {
            Self::Ralplan => Some("plan-consensus.json"),
            _ => None,
        }
    }

    /// The mode whose document has this file name.
    pub fn from_file_name(file: &str) -> Option<Mode> {
        let name = file.strip_suffix("-state.json")?;
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether the mode excludes other drivers in its session.
    pub fn is_driver(self) -> bool {
        self.spec().role == SessionRole::Driver
    }
}

/// Quotes a caller's text, cut short so that an error stays one readable line.
pub(crate) fn quote(text: &str) -> String {
    let cut: String = text.chars().take(60).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{:?}", format!("{cut}{dots}"))
}

const TABLE: [ModeSpec; 11] = [
    ModeSpec {
        name: "autopilot",
        title: "Autopilot",
        phases: &["ralplan", "ralph", "code-review"],
        starts_at: StartsAt::First,
        max_iterations: Some(10),
        first_iteration: 1,
        rounds: RoundCounting::Transitions,
        role: SessionRole::Driver,
        on_cancel: OnCancel::KeepsPhase,
        cancelled_message: "Autopilot cancelled at phase: {phase}. Progress preserved for resume.",
    },
    ModeSpec {
        name: "ralph",
        title: "Ralph",
        phases: &["starting", "executing", "verifying", "fixing"],
        starts_at: StartsAt::Any,
        max_iterations: Some(50),
        first_iteration: 0,
        rounds: RoundCounting::Holds,
        role: SessionRole::Driver,
        on_cancel: OnCancel::Ends,
        cancelled_message: "Ralph cancelled. Persistent mode deactivated.",
    },
    ModeSpec {
        name: "ultrawork",
        title: "Ultrawork",
        phases: &["planning", "executing", "verifying"],
        starts_at: StartsAt::Any,
        max_iterations: Some(50),
        first_iteration: 0,
        rounds: RoundCounting::Holds,
        role: SessionRole::Companion,
        on_cancel: OnCancel::Ends,
        cancelled_message: "Ultrawork cancelled. Parallel execution mode deactivated.",
    },
    ModeSpec {
        name: "ecomode",
        title: "Ecomode",
        phases: &["planning", "executing", "verifying"],
        starts_at: StartsAt::Any,
        max_iterations: Some(50),
        first_iteration: 0,
        rounds: RoundCounting::Holds,
        role: SessionRole::Companion,
        on_cancel: OnCancel::Ends,
        cancelled_message: "Ecomode cancelled. Token-efficient execution mode deactivated.",
    },
    ModeSpec {
        name: "ultraqa",
        title: "UltraQA",
        phases: &["qa", "diagnose", "fix"],
        starts_at: StartsAt::Any,
        max_iterations: Some(5),
        first_iteration: 1,
        rounds: RoundCounting::Transitions,
        role: SessionRole::Driver,
        on_cancel: OnCancel::Ends,
        cancelled_message: "UltraQA cancelled. QA cycling workflow stopped.",
    },
    ModeSpec {
        name: "swarm",
        title: "Swarm",
        phases: &["executing"],
        starts_at: StartsAt::Any,
        max_iterations: None,
        first_iteration: 0,
        rounds: RoundCounting::Transitions,
        role: SessionRole::Driver,
        on_cancel: OnCancel::Ends,
        cancelled_message: "Swarm cancelled. Coordinated agents stopped.",
    },
    ModeSpec {
        name: "ultrapilot",
        title: "Ultrapilot",
        phases: &["planning", "executing", "integrating", "verifying"],
        starts_at: StartsAt::Any,
        max_iterations: None,
        first_iteration: 0,
        rounds: RoundCounting::Transitions,
        role: SessionRole::Driver,
        on_cancel: OnCancel::Ends,
        cancelled_message: "Ultrapilot cancelled. Parallel autopilot workers stopped.",
    },
    ModeSpec {
        name: "pipeline",
        title: "Pipeline",
        phases: &[],
        starts_at: StartsAt::Any,
        max_iterations: None,
        first_iteration: 0,
        rounds: RoundCounting::Transitions,
        role: SessionRole::Driver,
        on_cancel: OnCancel::Ends,
        cancelled_message: "Pipeline cancelled. Sequential agent chain stopped.",
    },
    ModeSpec {
        name: "team",
        title: "Team",
        phases: &["team-plan", "team-prd", "team-exec", "team-verify", "team-fix"],
        starts_at: StartsAt::Any,
        max_iterations: None,
        first_iteration: 0,
        rounds: RoundCounting::Transitions,
        role: SessionRole::Driver,
        on_cancel: OnCancel::Ends,
        cancelled_message: "Team cancelled. Teammates shut down and cleaned up.",
    },
    ModeSpec {
        name: "ralplan",
        title: "Plan Consensus",
        phases: &["draft", "architect-review", "critic-review", "revise"],
        starts_at: StartsAt::First,
        max_iterations: Some(5),
        first_iteration: 1,
        rounds: RoundCounting::Transitions,
        role: SessionRole::Driver,
        on_cancel: OnCancel::KeepsPlan,
        cancelled_message: "Plan Consensus cancelled. Planning session ended.",
    },
    ModeSpec {
        name: "code-review",
        title: "Code review",
        phases: &["reviewing"],
        starts_at: StartsAt::Any,
        max_iterations: Some(1),
        first_iteration: 0,
        rounds: RoundCounting::Transitions,
        role: SessionRole::Companion,
        on_cancel: OnCancel::Ends,
        cancelled_message: "Code review cancelled. No verdict recorded.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_1_the_table_is_in_the_order_of_the_enum() {
        for (index, mode) in Mode::ALL.into_iter().enumerate() {
            assert_eq!(mode as usize, index);
            assert_eq!(Mode::parse(mode.name()), Ok(mode));
            assert_eq!(Mode::from_file_name(&mode.file_name()), Some(mode));
        }
        assert_eq!(Mode::parse("plan-consensus"), Ok(Mode::Ralplan));
    }

    #[test]
    fn state_3_2_an_unknown_mode_is_refused_with_the_list() {
        let refusal = Mode::parse("banana").unwrap_err();
        assert_eq!(refusal.code, RefusalCode::UnknownMode);
        for mode in Mode::ALL {
            assert!(refusal.message.contains(mode.name()));
        }
    }
}
