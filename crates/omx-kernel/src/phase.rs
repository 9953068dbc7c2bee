//! The phases of each mode, their older spellings, and the phases that end a run.

use crate::mode::{Mode, quote};
use crate::outcome::RunEnding;
use crate::refusal::{Refusal, RefusalCode};

/// The phase that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PhaseTarget {
    /// A live phase of the mode.
    Live(String),
    /// The end of the run.
    End(RunEnding),
}

/// A parsed phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ParsedPhase {
    /// The phase.
    pub target: PhaseTarget,
    /// The original spelling, if it was another.
    pub normalized_from: Option<String>,
}

/// Parses a phase of this mode. `stages` are the pipeline's named stages, if it has any.
pub fn parse_phase(mode: Mode, word: &str, stages: &[String]) -> Result<ParsedPhase, Refusal> {
    if is_live(mode, word, stages) {
        return Ok(ParsedPhase {
            target: PhaseTarget::Live(word.to_owned()),
            normalized_from: None,
        });
    }
    let canonical = match word {
        "complete" | "failed" | "cancelled" => true,
        "blocked_on_user" | "blocked" => {
            // An outcome rather than a phase: the phase stays as it is.
            return Ok(ParsedPhase {
                target: PhaseTarget::End(RunEnding::Blocked),
                normalized_from: None,
            });
        }
        _ => false,
    };
    let meant = alias(mode, word)
        .map(|phase| PhaseTarget::Live(phase.to_owned()))
        .or_else(|| ending_for_phase(word).map(PhaseTarget::End));
    match meant {
        Some(word_meant) => Ok(ParsedPhase {
            target: word_meant,
            normalized_from: (!canonical).then(|| word.to_owned()),
        }),
        None => Err(unknown(mode, word, stages)),
    }
}

/// Whether this is a live phase of the mode, in its current spelling.
pub fn is_live(mode: Mode, word: &str, stages: &[String]) -> bool {
    if mode != Mode::Pipeline {
        return mode.spec().phases.contains(&word);
    }
    if !stages.is_empty() {
        return stages.iter().any(|stage| stage == word);
    }
    let named = word.strip_prefix("stage:").is_some_and(|name| !name.is_empty());
    // The autopilot preset uses autopilot's phase names.
    named || Mode::Autopilot.spec().phases.contains(&word)
}

/// Returns the ending that a stored phase stands for, in any spelling.
pub fn ending_for_phase(word: &str) -> Option<RunEnding> {
    Some(match word {
        "complete" | "completed" | "done" | "finished" => RunEnding::Finished,
        "failed" | "fail" | "error" => RunEnding::Failed,
        "cancelled" | "cancel" | "canceled" | "aborted" => RunEnding::Cancelled,
        _ => return None,
    })
}

/// Returns the phase for an ending. A blocked run keeps its phase.
pub const fn phase_for_ending(ending: RunEnding) -> Option<&'static str> {
    match ending {
        RunEnding::Finished => Some("complete"),
        RunEnding::Failed => Some("failed"),
        RunEnding::Cancelled => Some("cancelled"),
        RunEnding::Blocked => None,
    }
}

fn alias(mode: Mode, word: &str) -> Option<&'static str> {
    let meant = match (mode, word) {
        (Mode::Autopilot, "planning" | "replan") => "ralplan",
        (Mode::Autopilot, "review" | "reviewing") => "code-review",
        (Mode::Ralplan, "planning" | "replan") => "draft",
        (Mode::Ultraqa, "fix" | "repair") => "fix",
        (Mode::Team, "plan") => "team-plan",
        (Mode::Team, "prd") => "team-prd",
        (Mode::Team, "exec") => "team-exec",
        (Mode::Team, "verify") => "team-verify",
        (Mode::Team, "fix") => "team-fix",
        (_, "start" | "started") => "starting",
        (_, "execution" | "execute" | "implementing") => "executing",
        (_, "verify" | "verification") => "verifying",
        (_, "fix" | "repair") => "fixing",
        _ => return None,
    };
    mode.spec().phases.contains(&meant).then_some(meant)
}

fn unknown(mode: Mode, word: &str, stages: &[String]) -> Refusal {
    let live: Vec<&str> = match (mode, stages) {
        (Mode::Pipeline, []) => vec!["stage:<name>"],
        (Mode::Pipeline, stages) => stages.iter().map(String::as_str).collect(),
        _ => mode.spec().phases.to_vec(),
    };
    Refusal::new(
        RefusalCode::InvalidPhase,
        format!(
            "{} has no phase {}; its phases are {}, complete, failed, cancelled",
            mode.name(),
            quote(word),
            live.join(", ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(mode: Mode, word: &str) -> String {
        match parse_phase(mode, word, &[]).unwrap().target {
            PhaseTarget::Live(phase) => phase,
            PhaseTarget::End(ending) => panic!("{word} ends as {ending:?}"),
        }
    }

    #[test]
    fn modes_1_phases_are_normalized_and_the_original_is_kept() {
        let table = [
            (Mode::Ralph, "start", "starting"),
            (Mode::Ralph, "started", "starting"),
            (Mode::Ralph, "execution", "executing"),
            (Mode::Ralph, "implementing", "executing"),
            (Mode::Ralph, "verification", "verifying"),
            (Mode::Ralph, "fix", "fixing"),
            (Mode::Ralph, "repair", "fixing"),
            (Mode::Ultraqa, "repair", "fix"),
            (Mode::Autopilot, "planning", "ralplan"),
            (Mode::Autopilot, "replan", "ralplan"),
            (Mode::Autopilot, "review", "code-review"),
            (Mode::Autopilot, "reviewing", "code-review"),
            (Mode::Ralplan, "planning", "draft"),
            (Mode::Team, "plan", "team-plan"),
            (Mode::Team, "prd", "team-prd"),
            (Mode::Team, "exec", "team-exec"),
            (Mode::Team, "verify", "team-verify"),
            (Mode::Team, "fix", "team-fix"),
            (Mode::Ultrawork, "execute", "executing"),
        ];
        for (mode, word, meant) in table {
            assert_eq!(live(mode, word), meant);
            assert_eq!(
                parse_phase(mode, word, &[]).unwrap().normalized_from.as_deref(),
                Some(word)
            );
        }
        assert_eq!(live(Mode::Ultraqa, "fix"), "fix");
        assert_eq!(parse_phase(Mode::Ultraqa, "fix", &[]).unwrap().normalized_from, None);
    }

    #[test]
    fn modes_1_endings_are_normalized_for_every_mode() {
        for mode in Mode::ALL {
            for (word, ending) in [
                ("done", RunEnding::Finished),
                ("complete", RunEnding::Finished),
                ("error", RunEnding::Failed),
                ("aborted", RunEnding::Cancelled),
                ("blocked", RunEnding::Blocked),
                ("blocked_on_user", RunEnding::Blocked),
            ] {
                assert_eq!(parse_phase(mode, word, &[]).unwrap().target, PhaseTarget::End(ending));
            }
            let refusal = parse_phase(mode, "banana", &[]).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::InvalidPhase);
            for phase in mode.spec().phases {
                assert!(refusal.message.contains(phase));
            }
        }
    }

    #[test]
    fn modes_1_a_pipeline_has_the_stages_it_named() {
        let stages = vec!["stage:plan".to_owned(), "stage:build".to_owned()];
        assert!(parse_phase(Mode::Pipeline, "stage:build", &stages).is_ok());
        assert!(parse_phase(Mode::Pipeline, "stage:other", &stages).is_err());
        assert!(parse_phase(Mode::Pipeline, "stage:other", &[]).is_ok());
        assert!(parse_phase(Mode::Pipeline, "stage:", &[]).is_err());
        assert!(parse_phase(Mode::Pipeline, "ralplan", &[]).is_ok());
    }
}
