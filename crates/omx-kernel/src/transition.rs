//! Which phase may follow which, and what it needs. A table for each mode.

use crate::evidence::Needs;
use crate::mode::Mode;
use crate::outcome::Ending;
use crate::refusal::{Code, Refusal, alternatives};

/// Which counter a step moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counts {
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
pub struct Step {
    /// The phase that is left.
    pub from: &'static str,
    /// The phase that is entered.
    pub to: &'static str,
    /// What must be there first.
    pub needs: Needs,
    /// What it counts.
    pub counts: Counts,
}

/// What taking a step asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// What must be there first.
    pub needs: Needs,
    /// What it counts.
    pub counts: Counts,
}

impl Terms {
    const FREE: Terms = Terms { needs: Needs::Nothing, counts: Counts::Nothing };

    const fn needing(needs: Needs) -> Self {
        Terms { needs, counts: Counts::Nothing }
    }
}

/// Where a request wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target<'a> {
    /// Into a live phase.
    Live(&'a str),
    /// To an end.
    End(Ending),
}

const fn step(from: &'static str, to: &'static str, needs: Needs) -> Step {
    Step { from, to, needs, counts: Counts::Nothing }
}

const fn counted(from: &'static str, to: &'static str, needs: Needs, counts: Counts) -> Step {
    Step { from, to, needs, counts }
}

const COMPLETE: &str = "complete";

/// The steps of a mode. The pipeline's follow from its own list of stages.
pub const fn steps(mode: Mode) -> &'static [Step] {
    use Needs::{
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
                    counted("code-review", "ralplan", OpenReview, Counts::ReviewCycle),
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
                    counted("critic-review", "revise", Nothing, Counts::Iteration),
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
                    counted("fix", "qa", Nothing, Counts::Iteration),
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
                    counted("team-verify", "team-fix", Nothing, Counts::FixLoop),
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
pub fn terms(
    mode: Mode,
    from: Option<&str>,
    target: Target<'_>,
    stages: &[String],
) -> Result<Terms, Refusal> {
    match target {
        Target::Live(to) if from == Some(to) => Ok(Terms::FREE),
        Target::End(Ending::Blocked | Ending::Failed | Ending::Cancelled) => Ok(Terms::FREE),
        _ if mode == Mode::Pipeline => pipeline_terms(from, target, stages),
        _ => table_terms(mode, from, target),
    }
    .map_err(|()| illegal(mode, from, target, stages))
}

fn table_terms(mode: Mode, from: Option<&str>, target: Target<'_>) -> Result<Terms, ()> {
    let known = from.filter(|from| mode.row().phases.contains(from));
    let to = match target {
        Target::Live(to) => to,
        Target::End(_) => COMPLETE,
    };
    match known {
        Some(from) => steps(mode)
            .iter()
            .find(|step| step.from == from && step.to == to)
            .map(|step| Terms { needs: step.needs, counts: step.counts })
            .ok_or(()),
        // A phase of another program's: back to the first, or to the end on its usual terms.
        None if mode.row().phases.first() == Some(&to) => Ok(Terms::FREE),
        None => steps(mode)
            .iter()
            .find(|step| step.to == to && to == COMPLETE)
            .map(|step| Terms::needing(step.needs))
            .ok_or(()),
    }
}

fn pipeline_terms(from: Option<&str>, target: Target<'_>, stages: &[String]) -> Result<Terms, ()> {
    let result = Ok(Terms::needing(Needs::StageResult));
    let place = |phase: &str| stages.iter().position(|stage| stage == phase);
    let Some(from) = from else {
        return match target {
            Target::Live(to) if stages.is_empty() || place(to) == Some(0) => Ok(Terms::FREE),
            _ => Err(()),
        };
    };
    if stages.is_empty() {
        return result;
    }
    match (place(from), target) {
        (Some(at), Target::Live(to)) if place(to) == Some(at + 1) => result,
        (Some(at), Target::End(_)) if at + 1 == stages.len() => result,
        (None, Target::Live(to)) if place(to) == Some(0) => Ok(Terms::FREE),
        _ => Err(()),
    }
}

/// What may follow a phase, for a sentence.
pub fn may_follow(mode: Mode, from: Option<&str>, stages: &[String]) -> Vec<String> {
    let mut words: Vec<String> = if mode == Mode::Pipeline {
        match from.and_then(|from| stages.iter().position(|stage| stage == from)) {
            Some(at) => vec![stages.get(at + 1).cloned().unwrap_or_else(|| COMPLETE.to_owned())],
            None => vec![stages.first().cloned().unwrap_or_else(|| "stage:<name>".to_owned())],
        }
    } else {
        let from_known = steps(mode).iter().filter(|step| Some(step.from) == from);
        let mut words: Vec<String> = from_known.map(|step| step.to.to_owned()).collect();
        if words.is_empty() {
            words.extend(mode.row().phases.first().map(|first| (*first).to_owned()));
        }
        words
    };
    words.extend(["failed".to_owned(), "cancelled".to_owned()]);
    words
}

fn illegal(mode: Mode, from: Option<&str>, target: Target<'_>, stages: &[String]) -> Refusal {
    let to = match target {
        Target::Live(to) => to,
        Target::End(_) => COMPLETE,
    };
    let origin = match from {
        Some(from) => format!("from {from:?}"),
        None => "at the start".to_owned(),
    };
    let mut message = format!(
        "{} cannot go {origin} to {to:?}; what may follow: {}",
        mode.name(),
        alternatives(&may_follow(mode, from, stages))
    );
    if to == COMPLETE
        && let Some(last) = steps(mode).iter().find(|step| step.to == COMPLETE)
    {
        message.push_str(&format!("; complete follows {:?}", last.from));
    }
    Refusal::new(Code::IllegalTransition, message)
}

/// The refusal of a step whose evidence is not there.
pub fn lacking(
    mode: Mode,
    from: &str,
    target: Target<'_>,
    missing: &[String],
    stages: &[String],
) -> Refusal {
    let to = match target {
        Target::Live(to) => to,
        Target::End(_) => COMPLETE,
    };
    Refusal::new(
        Code::IllegalTransition,
        format!(
            "{} cannot go from {from:?} to {to:?} yet: missing {}; what may follow: {}",
            mode.name(),
            missing.join(", "),
            alternatives(&may_follow(mode, Some(from), stages))
        ),
    )
}
