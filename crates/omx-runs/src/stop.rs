//! Terminates the process that drives a run.

use std::time::{Duration, Instant};

use omx_kernel::{Refusal, RunId, Scope, SessionId};
use omx_process::Signal;
use omx_store::Store;
use omx_store::runs::{Liveness, LockHolder, RunFolder};

/// The poll interval while a run ends.
const POLL: Duration = Duration::from_millis(20);
/// How long a killed process may keep its lock.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// The outcome of terminating a run's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunTermination {
    /// No process drove it.
    NotRunning,
    /// The process exited on request.
    Exited,
    /// The process did not exit in time and was killed.
    Killed,
    /// A process that cannot be terminated from here still drives the run.
    StillRunning,
}

impl RunTermination {
    /// The result as a word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotRunning => "not_running",
            Self::Exited => "exited",
            Self::Killed => "killed",
            Self::StillRunning => "still_running",
        }
    }
}

/// Waits for runs that have just started and have no document yet for a cancel to
/// end. Returns whether there was one. Considers one session's run, or all runs.
pub fn wait_for_starting(
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
            let has_documents = match store.read()? {
                Some(state) => !state.scope(&scope)?.snapshot.documents.is_empty(),
                None => false,
            };
            let is_driven = matches!(driver(&folder)?, Driver::Other(_));
            if has_documents || !is_driven || Instant::now() > deadline {
                break;
            }
            found = true;
            std::thread::sleep(POLL);
        }
    }
    Ok(found)
}

/// Terminates the process that drives a run. The caller has already cancelled the
/// run's documents; the guards terminate the agents.
pub fn terminate(store: &Store, id: &RunId, patience: Duration) -> Result<RunTermination, Refusal> {
    let Some(folder) = store.run(id)? else { return Ok(RunTermination::NotRunning) };
    let Driver::Other(holder) = driver(&folder)? else { return Ok(RunTermination::NotRunning) };
    let has_exited_by = |deadline: Instant| loop {
        match folder.liveness() {
            Ok(Liveness::Alive(_)) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(Liveness::Alive(_)) => return Ok::<bool, Refusal>(false),
            Ok(Liveness::Ended) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    };
    let _ = holder.as_ref().map(|holder| holder.signal(Signal::TERM));
    if has_exited_by(Instant::now() + patience)? {
        return Ok(RunTermination::Exited);
    }
    let _ = holder.as_ref().map(|holder| holder.signal(Signal::KILL));
    let has_exited = has_exited_by(Instant::now() + AFTER_KILL)?;
    Ok(if has_exited { RunTermination::Killed } else { RunTermination::StillRunning })
}

/// Who drives a run.
enum Driver {
    Nobody,
    /// This process, which must not signal or wait for itself.
    ThisProcess,
    /// Another process, with its identity if known.
    Other(Option<LockHolder>),
}

fn driver(folder: &RunFolder) -> Result<Driver, Refusal> {
    Ok(match folder.liveness()? {
        Liveness::Ended => Driver::Nobody,
        Liveness::Alive(Some(holder)) if holder == LockHolder::this_process() => {
            Driver::ThisProcess
        }
        Liveness::Alive(holder) => Driver::Other(holder),
    })
}
