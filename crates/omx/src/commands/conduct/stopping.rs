//! Turns signals, and the exit of the parent process, into a request to stop the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use omx_conductor::drive::RunHandle;
use omx_kernel::{Refusal, RefusalCode};

use super::drive::RunPlacement;
use crate::edge;
use crate::exit::Exit;

/// Requests to stop the run of this process.
#[derive(Clone, Debug, Default)]
pub(super) struct StopRequests(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    is_requested: AtomicBool,
    /// The run, once its loop runs.
    run: Mutex<Option<RunHandle>>,
}

impl StopRequests {
    /// Starts to listen.
    pub(super) fn listen(placement: RunPlacement) -> Result<Self, Refusal> {
        let unwatched = |what: &str, error: std::io::Error| {
            Refusal::new(RefusalCode::Io, format!("cannot watch for {what}: {error}"))
        };
        let requests = Self::default();
        if let RunPlacement::WithParent(parent) = placement {
            let requests = requests.clone();
            omx_process::on_parent_exit(Some(parent), move || requests.stop())
                .map_err(|error| unwatched("the exit of the parent process", error))?;
        }
        let on_signal = requests.clone();
        let signaled = AtomicBool::new(false);
        edge::on_interrupt(move || {
            if signaled.swap(true, Ordering::Relaxed) {
                // On the second signal, exit at once: guards terminate the agents, and
                // the journal is consistent after every record.
                std::process::exit(Exit::Interrupted.code());
            }
            on_signal.stop();
        })
        .map_err(|error| unwatched("signals", error))?;
        Ok(requests)
    }

    /// Whether the run was asked to stop.
    pub(super) fn is_requested(&self) -> bool {
        self.0.is_requested.load(Ordering::SeqCst)
    }

    /// Passes requests on to the run's loop, also one that came before.
    pub(super) fn forward_to(&self, run: RunHandle) {
        let mut slot = self.0.run.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_requested() {
            run.stop();
        }
        *slot = Some(run);
    }

    fn stop(&self) {
        let slot = self.0.run.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.is_requested.store(true, Ordering::SeqCst);
        if let Some(run) = slot.as_ref() {
            run.stop();
        }
    }
}
