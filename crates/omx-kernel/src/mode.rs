//! Every mode as one row of one table. What differs between modes stands here
//! as data; the rules in the other files read it.

use crate::refusal::{Refusal, RefusalCode};

/// A workflow omx knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Plan, implement, review, until the review is clean.
    Autopilot,
    /// Work until it is done and verified.
    Ralph,
    /// Work on independent parts in parallel.
    Ultrawork,
    /// The same with the cheapest capable models.
    Ecomode,
    /// Check, diagnose, fix, until the check passes.
    Ultraqa,
    /// Equal agents on one pool of tasks.
    Swarm,
    /// Parallel workers with disjoint files.
    Ultrapilot,
    /// A chain of agents.
    Pipeline,
    /// Agents with a lead, in stages.
    Team,
    /// Planner, architect and critic agree on a plan.
    Ralplan,
    /// Two lanes judge a change.
    CodeReview,
}

/// What cancelling does to a document, beyond ending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnCancel {
    /// The phase becomes `cancelled`.
    Ends,
    /// The phase stays as it was, so that the run can be resumed from it.
    KeepsPhase,
    /// The phase becomes `cancelled`, and the run can still be resumed.
    KeepsPlan,
}

/// Whether a mode drives its session alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionRole {
    /// Excludes other drivers of the session, unless linked.
    Driver,
    /// May stand beside any.
    Companion,
}

/// Where a run may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartsAt {
    /// Only in the first phase.
    First,
    /// In any phase but an end.
    Any,
}

/// One row of the table.
#[derive(Debug)]
pub struct ModeSpec {
    /// The mode's name, in files and requests.
    pub name: &'static str,
    /// How a sentence begins with it.
    pub title: &'static str,
    /// Live phases in order; empty for the pipeline, whose stages are its own.
    pub phases: &'static [&'static str],
    /// Where a run may begin.
    pub starts_at: StartsAt,
    /// `max_iterations` of a start that names none.
    pub max_iterations: Option<u64>,
    /// `iteration` of a start that names none.
    pub first_iteration: u64,
    /// Alone in its session, or beside others.
    pub role: SessionRole,
    /// What cancelling keeps.
    pub on_cancel: OnCancel,
    /// The line that says it was cancelled (autopilot's has the phase put in).
    pub cancelled_message: &'static str,
}

impl Mode {
    /// All modes, in the order in which they are cancelled.
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

    /// The order in which the stop decision looks for a mode to hold.
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

    /// Reads a mode's name. `plan-consensus` is an older name of ralplan.
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

    /// The mode's row.
    pub const fn spec(self) -> &'static ModeSpec {
        &TABLE[self as usize]
    }

    /// The mode's name.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The mode's name at the head of a sentence.
    pub const fn title(self) -> &'static str {
        self.spec().title
    }

    /// The name of the mode's document.
    pub fn file_name(self) -> String {
        format!("{}-state.json", self.name())
    }

    /// The mode whose document has this file name.
    pub fn from_file_name(file: &str) -> Option<Mode> {
        let name = file.strip_suffix("-state.json")?;
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether it excludes other drivers in its session.
    pub fn is_driver(self) -> bool {
        self.spec().role == SessionRole::Driver
    }
}

/// A name of the caller's, cut so that an error stays one readable line.
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
