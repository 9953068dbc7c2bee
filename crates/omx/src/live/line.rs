//! Progress of a run as lines of text.

use omx_runs::progress::Progress;

use super::RunLabel;

/// The line that reports this, if it deserves one of its own.
pub(super) fn line(progress: &Progress, run: &RunLabel) -> Option<String> {
    Some(match progress {
        Progress::StepBegan { step, mode, phase, who, what } => {
            let (who, what, mode) = (who.one_line(), what.one_line(), mode.one_line());
            format!("{step}: {who} {what} ({mode}, {})", phase.one_line())
        }
        Progress::StepFinished { step, how } => format!("{step}: done, {}", how.one_line()),
        Progress::Trouble { step, text, .. } => format!("{step}: {}", text.one_line()),
        Progress::Waiting { what, until } => {
            format!("waiting ({}) until {}", what.one_line(), until.one_line())
        }
        Progress::NeedsYou { step, what } => {
            let (what, program, id) = (what.one_line(), run.program, &run.id);
            format!("{step}: needs you: allow it to {what}? {program} runs answer {id} yes|no")
        }
        Progress::Note(text) => text.one_line().to_string(),
        Progress::Model { .. }
        | Progress::Said { .. }
        | Progress::Tool { .. }
        | Progress::Usage(_) => {
            return None;
        }
    })
}
