//! The bounds of holds. omx counts holds in the session's activity record, apart from the
//! rounds of a mode, and no model can extend them.

use crate::activity::SessionActivity;
use crate::document::Document;
use crate::mode::{Mode, RoundCounting};
use crate::outcome::RunEnding;
use crate::progress::SAME_PROGRESS_LIMIT;
use crate::stop::StopEvent;
use crate::time::Timestamp;

/// Hosts give up after 8 holds in a row. omx gives up one earlier, to record the reason.
pub const HOLDS_WITHOUT_TOOL: u32 = 7;

/// How often a run may be held, whatever it does in between (`limits.max_holds`).
pub const DEFAULT_MAX_HOLDS: u32 = 200;

/// The error of a run that used up its iterations.
pub(crate) const MAX_ITERATIONS_REACHED: &str = "max_iterations reached";

/// Counts a hold of a run. Returns how often it was held before.
pub(crate) fn count_hold(activity: &mut SessionActivity, run: Mode) -> u32 {
    let holds = activity.holds.entry(run.name().to_owned()).or_default();
    let before = *holds;
    *holds = before.saturating_add(1);
    before
}

/// A bound that a run has reached.
pub(crate) struct ReachedBound {
    /// How the run ends.
    pub ending: RunEnding,
    /// Why.
    pub error: String,
    /// Whether it is a bound of the run with all its linked modes.
    pub ends_whole_run: bool,
}

/// Returns the bound that this hold would exceed. A run that makes progress is never ended
/// by its rounds here, unless the hold itself is the round.
pub(crate) fn find_bound(
    mode: Mode,
    document: &Document,
    event: &StopEvent,
    activity: &SessionActivity,
    holds: u32,
    now: Timestamp,
) -> Option<ReachedBound> {
    let age = document.get_time("started_at").map_or(0, |started| now.millis_since(started));
    let iteration = document.get_u64("iteration").unwrap_or(0);
    let rounds_used = mode.spec().rounds == RoundCounting::Holds
        && iteration_limit(mode, document).is_some_and(|limit| iteration >= limit);
    let (ending, error) = if event.time_budget.is_some_and(|budget| age > budget) {
        (RunEnding::Blocked, "budget.time is used up".to_owned())
    } else if rounds_used {
        (RunEnding::Failed, MAX_ITERATIONS_REACHED.to_owned())
    } else if activity.holds_in_a_row >= HOLDS_WITHOUT_TOOL {
        let error =
            format!("the agent stopped {HOLDS_WITHOUT_TOOL} times in a row without a tool call");
        (RunEnding::Blocked, error)
    } else if activity.same_fingerprint >= SAME_PROGRESS_LIMIT {
        let phase = document.phase().unwrap_or("unknown");
        let error = format!(
            "no progress: nothing changed over {SAME_PROGRESS_LIMIT} stops in a row in phase {phase}"
        );
        (RunEnding::Blocked, error)
    } else if holds >= event.max_holds {
        let error = format!("the agent stopped {holds} times; limits.max_holds allows no more");
        return Some(ReachedBound { ending: RunEnding::Blocked, error, ends_whole_run: true });
    } else {
        return None;
    };
    Some(ReachedBound { ending, error, ends_whole_run: false })
}

/// The limit of a run's rounds.
pub(crate) fn iteration_limit(mode: Mode, document: &Document) -> Option<u64> {
    document.get_u64("max_iterations").or(mode.spec().max_iterations)
}
