//! Makes the workspace of a run before its first step. That may take long (a large
//! repository), so the run is registered by then, and a cancel or a signal ends it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use omx_conductor::engine::RunOutcome;
use omx_conductor::start::OpenedRun;
use omx_kernel::{Refusal, Scope};
use omx_ops::Context;
use omx_process::{Signal, signal_descendants};
use omx_runs::{Record, workspace};
use omx_store::Store;

use super::stopping::StopRequests;

/// How often to look for a cancel.
const POLL: Duration = Duration::from_millis(50);
/// How long git has to clean up after itself.
const GRACE: Duration = Duration::from_secs(2);

/// Makes the workspace. Returns an outcome if the run was stopped meanwhile; the journal
/// has it then.
pub(super) fn make(
    context: &Context<'_>,
    store: &Store,
    opened: &mut OpenedRun,
    requests: &StopRequests,
) -> Result<Option<RunOutcome>, Refusal> {
    let environment = context.git_environment(store);
    let env = context.project_env(store, &environment);
    let scope = Scope::Session(opened.held.id().session());
    let is_cancelled = || store.is_marked_cancelled(&scope);
    let is_made = AtomicBool::new(false);
    let made = std::thread::scope(|threads| {
        threads.spawn(|| end_git(&is_made, || requests.is_requested() || is_cancelled()));
        let made = workspace::restore(&env, &opened.held, &opened.spec.workspace);
        is_made.store(true, Ordering::Relaxed);
        made
    });
    let outcome = if is_cancelled() {
        RunOutcome::Cancelled
    } else if requests.is_requested() {
        RunOutcome::Interrupted
    } else {
        return made.map(|()| None);
    };
    let records = [
        Record::Opened { version: env!("CARGO_PKG_VERSION").to_owned() },
        Record::Closed {
            outcome: outcome.reason(),
            why: "while its workspace was made".to_owned(),
            worked_ms: 0,
        },
    ];
    let now = context.clock.now();
    for record in &records {
        // Without these records the run counts as stopped, and can be resumed as well.
        if opened.held.journal().append(now, record).is_err() {
            break;
        }
    }
    Ok(Some(outcome))
}

/// Ends git as soon as the run is to stop: it is all that this process has started.
fn end_git(is_made: &AtomicBool, is_stopped: impl Fn() -> bool) {
    let mut begun: Option<Instant> = None;
    while !is_made.load(Ordering::Relaxed) {
        if begun.is_some() || is_stopped() {
            let begun = *begun.get_or_insert_with(Instant::now);
            let signal = if begun.elapsed() < GRACE { Signal::TERM } else { Signal::KILL };
            signal_descendants(std::process::id(), signal);
        }
        std::thread::sleep(POLL);
    }
}
