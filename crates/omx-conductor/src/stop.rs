//! Stopping the process that drives a run, for certain.

use std::time::{Duration, Instant};

use omx_kernel::{Refusal, RunId, Scope, SessionId};
use omx_store::Store;
use omx_store::runs::{Holder, Liveness};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How often a run is looked at while it ends.
const LOOK: Duration = Duration::from_millis(20);
/// How long a run that was killed may still seem to live.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Nobody drove it.
    WasIdle,
    /// It left when it was told.
    Left,
    /// It did not, and was killed.
    Killed,
    /// Somebody holds it who cannot be ended from here.
    Remains,
}

/// Whether a run has just begun and has no document yet that a cancel could
/// end; waits until it has. Of one session's run only, or of any.
pub fn has_begun(
    store: &Store,
    only: Option<&SessionId>,
    patience: Duration,
) -> Result<bool, Refusal> {
    let deadline = Instant::now() + patience;
    let is_meant = |id: &RunId| only.is_none_or(|only| only.as_str() == id.as_str());
    let mut found = false;
    for run in store.runs()?.into_iter().filter(|run| is_meant(&run.id)) {
        let Ok(session) = SessionId::new(run.id.as_str()) else { continue };
        let scope = Scope::Session(session);
        let Some(folder) = store.run(&run.id)? else { continue };
        loop {
            let documents = match store.read()? {
                Some(state) => !state.scope(&scope)?.snapshot.documents.is_empty(),
                None => false,
            };
            let lives = matches!(folder.liveness()?, Liveness::Alive(_));
            if documents || !lives || Instant::now() > deadline {
                break;
            }
            found = true;
            std::thread::sleep(LOOK);
        }
    }
    Ok(found)
}

/// Stops whoever drives a run. Its documents say already that it is
/// cancelled; agents go with their guards.
pub fn stop_run(store: &Store, id: &RunId, patience: Duration) -> Result<Stopped, Refusal> {
    let Some(folder) = store.run(id)? else { return Ok(Stopped::WasIdle) };
    let Liveness::Alive(holder) = folder.liveness()? else { return Ok(Stopped::WasIdle) };
    let gone_by = |deadline: Instant| loop {
        match folder.liveness() {
            Ok(Liveness::Alive(_)) if Instant::now() < deadline => std::thread::sleep(LOOK),
            Ok(Liveness::Alive(_)) => return Ok::<bool, Refusal>(false),
            Ok(Liveness::Ended) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    };
    signal(holder.as_ref(), Signal::TERM);
    if gone_by(Instant::now() + patience)? {
        return Ok(Stopped::Left);
    }
    signal(holder.as_ref(), Signal::KILL);
    let gone = gone_by(Instant::now() + AFTER_KILL)?;
    Ok(if gone { Stopped::Killed } else { Stopped::Remains })
}

/// Signals exactly this process: the handle is had before it is asked whose it is.
fn signal(holder: Option<&Holder>, signal: Signal) {
    let Some(holder) = holder else { return };
    let Some(pid) = i32::try_from(holder.pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if holder.is_running() {
        let _ = pidfd_send_signal(&handle, signal);
    }
}
