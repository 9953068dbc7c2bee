//! Which phase may follow which, and what it needs. A table for each mode.

use crate::evidence::Requirement;
use crate::mode::Mode;
use crate::outcome::RunEnding;
use crate::refusal::{Refusal, RefusalCode, join_alternatives};

/// Which counter a step moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterUpdate {
    /// None.
    Nothing,
    /// `iteration`: another round of the loop.
    Iteration,
    /// `iteration` and `review_cycle`: the review was not clean.
    ReviewCycle,
    /// `fix_loop_count`.
    FixLoop,
}

/// One allowed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The phase that is left.
    pub from: &'static str,
    /// The phase that is entered.
    pub to: &'static str,
    /// What must be there first.
    pub requirement: Requirement,
    /// What it counts.
    pub counter: CounterUpdate,
}

/// What taking a step asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransitionTerms {
    /// What must be there first.
    pub requirement: Requirement,
    /// What it counts.
    pub counter: CounterUpdate,
}

impl TransitionTerms {
    const FREE: TransitionTerms =
        TransitionTerms { requirement: Requirement::Nothing, counter: CounterUpdate::Nothing };

    const fn needing(needs: Requirement) -> Self {
        TransitionTerms { requirement: needs, counter: CounterUpdate::Nothing }
    }
}

/// Where a request wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransitionTarget<'a> {
    /// Into a live phase.
    Live(&'a str),
    /// To an end.
    End(RunEnding),
}

const fn step(from: &'static str, to: &'static str, needs: Requirement) -> Transition {
    Transition { from, to, requirement: needs, counter: CounterUpdate::Nothing }
}

const fn counted(
    from: &'static str,
    to: &'static str,
    needs: Requirement,
    counts: CounterUpdate,
) -> Transition {
    Transition { from, to, requirement: needs, counter: counts }
}

const COMPLETE: &str = "complete";

/// The steps of a mode. The pipeline's follow from its own list of stages.
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

/// On which terms `from` may be followed by `target`. `from` is `None` where
/// there was no document yet.
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
    .map_err(|()| illegal(mode, from, target, stages))
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
        // A phase of another program's: back to the first, or to the end on its usual terms.
        None if mode.spec().phases.first() == Some(&to) => Ok(TransitionTerms::FREE),
        None => transitions(mode)
            .iter()
            .find(|step| step.to == to && to == COMPLETE)
            .map(|step| TransitionTerms::needing(step.requirement))
            .ok_or(()),
    }
}

fn pipeline_terms(
    from: Option<&str>,
    target: TransitionTarget<'_>,
    stages: &[String],
) -> Result<TransitionTerms, ()> {
    let result = Ok(TransitionTerms::needing(Requirement::StageResult));
    let place = |phase: &str| stages.iter().position(|stage| stage == phase);
    let Some(from) = from else {
        return match target {
            TransitionTarget::Live(to) if stages.is_empty() || place(to) == Some(0) => {
                Ok(TransitionTerms::FREE)
            }
            _ => Err(()),
        };
    };
    if stages.is_empty() {
        return result;
    }
    match (place(from), target) {
        (Some(at), TransitionTarget::Live(to)) if place(to) == Some(at + 1) => result,
        (Some(at), TransitionTarget::End(_)) if at + 1 == stages.len() => result,
        (None, TransitionTarget::Live(to)) if place(to) == Some(0) => Ok(TransitionTerms::FREE),
        _ => Err(()),
    }
}

/// What may follow a phase, for a sentence.
pub fn next_phases(mode: Mode, from: Option<&str>, stages: &[String]) -> Vec<String> {
    let mut words: Vec<String> = if mode == Mode::Pipeline {
        match from.and_then(|from| stages.iter().position(|stage| stage == from)) {
            Some(at) => vec![stages.get(at + 1).cloned().unwrap_or_else(|| COMPLETE.to_owned())],
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

fn illegal(
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
        "{} cannot go {origin} to {to:?}; what may follow: {}",
        mode.name(),
        join_alternatives(&next_phases(mode, from, stages))
    );
    if to == COMPLETE
        && let Some(last) = transitions(mode).iter().find(|step| step.to == COMPLETE)
    {
        message.push_str(&format!("; complete follows {:?}", last.from));
    }
    Refusal::new(RefusalCode::IllegalTransition, message)
}

/// The refusal of a step whose evidence is not there.
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
            "{} cannot go from {from:?} to {to:?} yet: missing {}; what may follow: {}",
            mode.name(),
            missing.join(", "),
            join_alternatives(&next_phases(mode, Some(from), stages))
        ),
    )
}
