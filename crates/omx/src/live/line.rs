//! Progress of a run as lines of text.

use omx_runs::progress::Progress;

use super::RunLabel;

/// The line that reports this, if it deserves one of its own.
pub(super) fn line(progress: &Progress, run: &RunLabel) -> Option<String> {
    let mut line = progress.summary()?;
    if let Progress::NeedsYou { .. } = progress {
        line.push_str(&format!(" {} runs answer {} yes|no", run.program, run.id));
    }
    Some(line)
}
