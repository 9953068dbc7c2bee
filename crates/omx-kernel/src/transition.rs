//! The allowed transitions of each mode, with the evidence they require.

use crate::evidence::Requirement;
use crate::mode::Mode;
use crate::outcome::RunEnding;
use crate::refusal::{Refusal, RefusalCode, join_alternatives};

/// The counter that a transition increases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterUpdate {
    /// None.
    Nothing,
    /// `iteration`: another round of the mode's loop.
    Iteration,
    /// `iteration` and `review_cycle`: the review was not clean.
    ReviewCycle,
    /// `fix_loop_count`.
    FixLoop,
}

/// An allowed transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The phase it leaves.
    pub from: &'static str,
    /// The phase it enters.
    pub to: &'static str,
    /// The evidence it requires.
    pub requirement: Requirement,
    /// The counter it increases.
    pub counter: CounterUpdate,
}

/// The conditions of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransitionTerms {
    /// The evidence it requires.
    pub requirement: Requirement,
    /// The counter it increases.
    pub counter: CounterUpdate,
}

impl TransitionTerms {
    const FREE: TransitionTerms =
        TransitionTerms { requirement: Requirement::Nothing, counter: CounterUpdate::Nothing };

    const fn with_requirement(requirement: Requirement) -> Self {
        TransitionTerms { requirement, counter: CounterUpdate::Nothing }
    }
}

/// Where a request wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransitionTarget<'a> {
    /// To a live phase.
    Live(&'a str),
    /// To an end.
    End(RunEnding),
}

const fn step(from: &'static str, to: &'static str, requirement: Requirement) -> Transition {
    Transition { from, to, requirement, counter: CounterUpdate::Nothing }
}

const fn counted(
    from: &'static str,
    to: &'static str,
    requirement: Requirement,
    counter: CounterUpdate,
) -> Transition {
    Transition { from, to, requirement, counter }
}

const COMPLETE: &str = "complete";

/// Returns the transitions of a mode. A pipeline's follow from its list of stages.
pub const fn transitions(mode: Mode) -> &'static [Transition] {
    use Requirement::{
        BothLanes, CheckOrAudit, CheckedVerification, CleanReview, CompletionAudit, Consensus,
        Nothing, OpenReview, PassingCheck, PlanHandoff, TasksEnded, Verification, WorkHandoff,
    };
    match mode {
        Mode::Autopilot => {
            const {
                &[
                    step("ralplan", "ralph", PlanHandoff),
                    step("ralph", "code-review", WorkHandoff),
                    step("code-review", COMPLETE, CleanReview),
                    counted("code-review", "ralplan", OpenReview, CounterUpdate::ReviewCycle),
                ]
            }
        }
        Mode::Ralph => {
            const {
                &[
                    step("starting", "executing", Nothing),
                    step("executing", "verifying", Nothing),
                    step("verifying", "fixing", Nothing),
                    step("fixing", "executing", Nothing),
                    step("verifying", COMPLETE, CompletionAudit),
                ]
            }
        }
        Mode::Ralplan => {
            const {
                &[
                    step("draft", "architect-review", Nothing),
                    step("architect-review", "critic-review", Nothing),
                    counted("critic-review", "revise", Nothing, CounterUpdate::Iteration),
                    step("revise", "architect-review", Nothing),
                    step("critic-review", COMPLETE, Consensus),
                ]
            }
        }
        Mode::CodeReview => const { &[step("reviewing", COMPLETE, BothLanes)] },
        Mode::Ultraqa => {
            const {
                &[
                    step("qa", "diagnose", Nothing),
                    step("diagnose", "fix", Nothing),
                    counted("fix", "qa", Nothing, CounterUpdate::Iteration),
                    step("qa", COMPLETE, PassingCheck),
                ]
            }
        }
        Mode::Ultrawork | Mode::Ecomode => {
            const {
                &[
                    step("planning", "executing", Nothing),
                    step("executing", "verifying", Nothing),
                    step("verifying", "executing", Nothing),
                    step("verifying", COMPLETE, CheckOrAudit),
                ]
            }
        }
        Mode::Team => {
            const {
                &[
                    step("team-plan", "team-prd", Nothing),
                    step("team-plan", "team-exec", Nothing),
                    step("team-prd", "team-exec", Nothing),
                    step("team-exec", "team-verify", Nothing),
                    counted("team-verify", "team-fix", Nothing, CounterUpdate::FixLoop),
                    step("team-fix", "team-exec", Nothing),
                    step("team-verify", COMPLETE, CheckedVerification),
                ]
            }
        }
        Mode::Ultrapilot => {
            const {
                &[
                    step("planning", "executing", Nothing),
                    step("executing", "integrating", Nothing),
                    step("integrating", "verifying", Nothing),
                    step("verifying", "executing", Nothing),
                    step("verifying", COMPLETE, Verification),
                ]
            }
        }
        Mode::Swarm => const { &[step("executing", COMPLETE, TasksEnded)] },
        Mode::Pipeline => const { &[] },
    }
}

/// Returns the conditions for going from `from` to `target`, or refuses the transition.
/// `from` is `None` if there is no document yet.
pub fn find_terms(
    mode: Mode,
    from: Option<&str>,
    target: TransitionTarget<'_>,
    stages: &[String],
) -> Result<TransitionTerms, Refusal> {
    match target {
        TransitionTarget::Live(to) if from == Some(to) => Ok(TransitionTerms::FREE),
        TransitionTarget::End(RunEnding::Blocked | RunEnding::Failed | RunEnding::Cancelled) => {
            Ok(TransitionTerms::FREE)
        }
        _ if mode == Mode::Pipeline => pipeline_terms(from, target, stages),
        _ => table_terms(mode, from, target),
    }
    .map_err(|()| refuse_transition(mode, from, target, stages))
}

fn table_terms(
    mode: Mode,
    from: Option<&str>,
    target: TransitionTarget<'_>,
) -> Result<TransitionTerms, ()> {
    let known = from.filter(|from| mode.spec().phases.contains(from));
    let to = match target {
        TransitionTarget::Live(to) => to,
        TransitionTarget::End(_) => COMPLETE,
    };
    match known {
        Some(from) => transitions(mode)
            .iter()
            .find(|step| step.from == from && step.to == to)
            .map(|step| TransitionTerms { requirement: step.requirement, counter: step.counter })
            .ok_or(()),
        // An unknown phase, set by another program, may go back to the first phase, or to
        // the end under the usual conditions.
        None if mode.spec().phases.first() == Some(&to) => Ok(TransitionTerms::FREE),
        None => transitions(mode)
            .iter()
            .find(|step| step.to == to && to == COMPLETE)
            .map(|step| TransitionTerms::with_requirement(step.requirement))
            .ok_or(()),
    }
}

fn pipeline_terms(
    from: Option<&str>,
    target: TransitionTarget<'_>,
    stages: &[String],
) -> Result<TransitionTerms, ()> {
    let result = Ok(TransitionTerms::with_requirement(Requirement::StageResult));
    let index_of = |phase: &str| stages.iter().position(|stage| stage == phase);
    let Some(from) = from else {
        return match target {
            TransitionTarget::Live(to) if stages.is_empty() || index_of(to) == Some(0) => {
                Ok(TransitionTerms::FREE)
            }
            _ => Err(()),
        };
    };
    if stages.is_empty() {
        return result;
    }
    // The autopilot preset goes back from its review, as autopilot does.
    if stages == Mode::Autopilot.spec().phases && from == "code-review" {
        match target {
            TransitionTarget::Live("ralplan") => {
                let (requirement, counter) = (Requirement::OpenReview, CounterUpdate::ReviewCycle);
                return Ok(TransitionTerms { requirement, counter });
            }
            TransitionTarget::End(_) => {
                return Ok(TransitionTerms::with_requirement(Requirement::ReviewedStage));
            }
            TransitionTarget::Live(_) => {}
        }
    }
    match (index_of(from), target) {
        (Some(at), TransitionTarget::Live(to)) if index_of(to) == Some(at + 1) => result,
        (Some(at), TransitionTarget::End(_)) if at + 1 == stages.len() => result,
        (None, TransitionTarget::Live(to)) if index_of(to) == Some(0) => Ok(TransitionTerms::FREE),
        _ => Err(()),
    }
}

/// Returns the phases that may follow, for a message.
pub fn next_phases(mode: Mode, from: Option<&str>, stages: &[String]) -> Vec<String> {
    let mut words: Vec<String> = if mode == Mode::Pipeline {
        match from.and_then(|from| stages.iter().position(|stage| stage == from)) {
            Some(at) => {
                let next = stages.get(at + 1).cloned().unwrap_or_else(|| COMPLETE.to_owned());
                let back = stages == Mode::Autopilot.spec().phases && next == COMPLETE;
                std::iter::once(next).chain(back.then(|| stages[0].clone())).collect()
            }
            None => vec![stages.first().cloned().unwrap_or_else(|| "stage:<name>".to_owned())],
        }
    } else {
        let from_known = transitions(mode).iter().filter(|step| Some(step.from) == from);
        let mut words: Vec<String> = from_known.map(|step| step.to.to_owned()).collect();
        if words.is_empty() {
            words.extend(mode.spec().phases.first().map(|first| (*first).to_owned()));
        }
        words
    };
    words.extend(["failed".to_owned(), "cancelled".to_owned()]);
    words
}

fn refuse_transition(
    mode: Mode,
    from: Option<&str>,
    target: TransitionTarget<'_>,
    stages: &[String],
) -> Refusal {
    let to = match target {
        TransitionTarget::Live(to) => to,
        TransitionTarget::End(_) => COMPLETE,
    };
    let origin = match from {
        Some(from) => format!("from {from:?}"),
        None => "at the start".to_owned(),
    };
    let mut message = format!(
        "{} cannot go {origin} to {to:?}; allowed next: {}",
        mode.name(),
        join_alternatives(&next_phases(mode, from, stages))
    );
    if to == COMPLETE
        && let Some(last) = transitions(mode).iter().find(|step| step.to == COMPLETE)
    {
        message.push_str(&format!("; complete comes after {:?}", last.from));
    }
    Refusal::new(RefusalCode::IllegalTransition, message)
}

/// Returns the refusal of a transition whose evidence is missing.
pub fn refuse_missing_evidence(
    mode: Mode,
    from: &str,
    target: TransitionTarget<'_>,
    missing: &[String],
    stages: &[String],
) -> Refusal {
    let to = match target {
        TransitionTarget::Live(to) => to,
        TransitionTarget::End(_) => COMPLETE,
    };
    Refusal::new(
        RefusalCode::IllegalTransition,
        format!(
            "{} cannot go from {from:?} to {to:?} yet: missing {}; allowed next: {}",
            mode.name(),
            missing.join(", "),
            join_alternatives(&next_phases(mode, Some(from), stages))
        ),
    )
}
