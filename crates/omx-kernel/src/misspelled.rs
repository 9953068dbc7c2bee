//! Misspelled names of fields. Stored as a foreign field, such a value would be ignored
//! without a word, and a misspelled `session_id` would even change another document.

use crate::fields::{COMMON_FIELDS, mode_fields};
use crate::mode::Mode;
use crate::nearest::distance;
use crate::refusal::Refusal;

/// Names of other programs, with ours.
const OTHER_NAMES: [(&str, &str); 1] = [("phase", "current_phase")];

/// Shorter names have too many neighbors that mean something else, such as `mode` and
/// `model`.
const LONG_ENOUGH: usize = 5;

/// Words that resemble a name and mean something else.
const OTHER_WORDS: [&str; 4] = ["errors", "stage", "stats", "states"];

/// Refuses a name at the top level of a request that is one edit or one spelling away
/// from a known one. `arguments` are the names that are not stored.
pub(crate) fn check_spelling(mode: Mode, name: &str, arguments: &[&str]) -> Result<(), Refusal> {
    match intended(mode, name, arguments) {
        None => Ok(()),
        Some(known) => Err(Refusal::invalid_input(format!(
            "unknown field {name:?}; did you mean {known:?}? To store a field of that name, put it into state"
        ))),
    }
}

fn intended<'a>(mode: Mode, name: &str, arguments: &[&'a str]) -> Option<&'a str> {
    let own = COMMON_FIELDS.iter().chain(mode_fields(mode)).map(|(known, _)| *known);
    let mut known = own.chain(arguments.iter().copied());
    // A name of any mode is spelled as it is meant.
    let of_any = Mode::ALL.iter().flat_map(|mode| mode_fields(*mode)).map(|(known, _)| *known);
    if known.clone().chain(of_any).chain(OTHER_WORDS).any(|known| known == name) {
        return None;
    }
    if let Some((_, ours)) = OTHER_NAMES.iter().find(|(theirs, _)| *theirs == name) {
        return Some(ours);
    }
    let plain = fold(name);
    known.find(|known| {
        let candidate = fold(known);
        plain == candidate
            || (candidate.len() >= LONG_ENOUGH
                && plain.len().abs_diff(candidate.len()) <= 1
                && distance(&plain, &candidate) <= 1)
    })
}

/// The letters of a name, without case and separators.
fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_3_2c_a_name_one_edit_or_one_spelling_away_is_recognized() {
        let arguments = ["mode", "session_id", "workingDirectory", "start", "resume"];
        for (name, expected) in [
            ("phase", Some("current_phase")),
            ("currentPhase", Some("current_phase")),
            ("curent_phase", Some("current_phase")),
            ("current-phase", Some("current_phase")),
            ("sessionId", Some("session_id")),
            ("session_Id", Some("session_id")),
            ("sesion_id", Some("session_id")),
            ("maxIterations", Some("max_iterations")),
            ("max_iteration", Some("max_iterations")),
            ("iterations", Some("iteration")),
            ("activ", Some("active")),
            ("actvie", Some("active")),
            ("runOutcome", Some("run_outcome")),
            ("handoff_artifact", Some("handoff_artifacts")),
            ("reviewVerdict", Some("review_verdict")),
            ("working_directory", Some("workingDirectory")),
            ("current_phase", None),
            ("model", None),
            ("stats", None),
            ("tasks", None),
            ("plan_path", None),
            ("notes", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(intended(Mode::Autopilot, name, &arguments), expected, "{name}");
        }
    }

    #[test]
    fn state_3_2c_no_known_name_is_taken_for_another() {
        for mode in Mode::ALL {
            for (name, _) in Mode::ALL.iter().flat_map(|other| mode_fields(*other)) {
                assert_eq!(intended(mode, name, &[]), None, "{name}");
            }
        }
    }
}
