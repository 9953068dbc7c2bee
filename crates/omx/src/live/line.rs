//! Progress of a run as lines of text.

use omx_runs::progress::Progress;

use super::RunLabel;
use crate::text::printable;

/// The line that reports this, if it deserves one of its own.
pub(super) fn line(progress: &Progress, run: &RunLabel) -> Option<String> {
    Some(match progress {
        Progress::StepBegan { step, mode, phase, who, what } => {
            format!("{step}: {who} {what} ({mode}, {phase})")
        }
        Progress::StepFinished { step, how } => format!("{step}: done, {}", printable(how)),
        Progress::Trouble { step, text, .. } => format!("{step}: {}", printable(text)),
        Progress::Waiting { what, until } => format!("waiting ({what}) until {until}"),
        Progress::NeedsYou { step, what } => {
            let (what, program, id) = (printable(what), run.program, &run.id);
            format!("{step}: needs you: allow it to {what}? {program} runs answer {id} yes|no")
        }
        Progress::Note(text) => printable(text),
        Progress::Model { .. }
        | Progress::Said { .. }
        | Progress::Tool { .. }
        | Progress::Usage(_) => {
            return None;
        }
    })
}
