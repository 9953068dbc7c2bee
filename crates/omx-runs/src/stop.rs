//! Ends the process that drives a run, and whatever still works for the run.

use std::path::Path;
use std::time::{Duration, Instant};

use omx_kernel::{ChildContext, Dialect, Refusal, RunId};
use omx_process::guard::LiveGuard;
use omx_process::{ProcessId, ProcessInfo, Signal, end_marked, find_marked};
use omx_store::Store;
use omx_store::runs::{Liveness, LockHolder, LockOwner, RunFolder, RunRegistry};

/// The poll interval while a run ends.
const POLL: Duration = Duration::from_millis(20);
/// How long a killed process may keep its lock.
const AFTER_KILL: Duration = Duration::from_secs(1);
/// How long the guards of a killed process have to end their trees: a little more than
/// they give their programs.
const GUARD_GRACE: Duration = Duration::from_millis(2300);
/// When processes that survive SIGKILL are given up.
const GIVE_UP: Duration = Duration::from_secs(4);

/// The outcome of terminating a run's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunTermination {
    /// No process drove it, and none worked for it.
    NotRunning,
    /// The process exited on request.
    Exited,
    /// The process did not exit in time and was killed, or it was gone already and
    /// processes that it had left were killed.
    Killed,
    /// A process that cannot be terminated from here still works for the run.
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

/// Asks the process that drives a run to exit, and does not wait for it.
pub fn request_exit(store: &Store, id: &RunId) {
    let folder = store.run(id).ok().flatten();
    if let Some(Ok(Driver::Other(Some(holder)))) = folder.map(|folder| driver(&folder)) {
        holder.signal(Signal::TERM);
    }
}

/// Terminates the process that drives a run, which may exit by itself until the deadline,
/// and everything that works for the run. The caller has already recorded the cancel, as
/// far as that was possible, and called [`request_exit`].
pub fn terminate(store: &Store, id: &RunId, deadline: Instant) -> Result<RunTermination, Refusal> {
    let Some(folder) = store.run(id)? else { return Ok(RunTermination::NotRunning) };
    let driven = match driver(&folder)? {
        Driver::ThisProcess => return Ok(RunTermination::NotRunning),
        Driver::Nobody | Driver::Stranger => RunTermination::NotRunning,
        Driver::Other(holder) => end_driver(&folder, holder.as_ref(), deadline)?,
    };
    Ok(end_marked_after(driven, mark_of(store.root(), id)))
}

/// A live run that was found without its folder: by the registry or by its guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrivenRun {
    /// The id of the run.
    pub id: RunId,
    /// The mode's name, if known.
    pub mode: Option<String>,
    /// The process that drives it.
    pub driver: ProcessId,
}

/// Finds the live runs of a project without reading its files. An agent can change their
/// modes, and then the run's own lock says nothing.
pub fn find_driven(store: &Store, registry: Option<&RunRegistry>) -> Vec<DrivenRun> {
    let registered = registry.and_then(|registry| registry.unreadable().ok()).unwrap_or_default();
    let registered = registered.into_iter().filter(|run| run.tree == store.tree());
    let registered = registered.filter_map(|run| {
        let driver = run.holder.as_ref()?.in_this_boot().filter(|driver| driver.is_running())?;
        Some(DrivenRun { id: run.run, mode: Some(run.mode.raw().to_owned()), driver })
    });
    let guarded = LiveGuard::find_all().into_iter().filter_map(|guard| {
        let context: ChildContext = serde_json::from_str(guard.context.to_str()?).ok()?;
        let id = context.run.filter(|_| context.root == store.root())?;
        Some(DrivenRun { id, mode: None, driver: guard.parent })
    });
    let mut found: Vec<DrivenRun> = Vec::new();
    for run in registered.chain(guarded) {
        let is_other = run.driver.pid != std::process::id();
        if is_other && !found.iter().any(|known| known.id == run.id) {
            found.push(run);
        }
    }
    found
}

/// Terminates a run by the process that drives it, and everything that works for the run.
pub fn terminate_driven(store: &Store, run: &DrivenRun, deadline: Instant) -> RunTermination {
    let has_exited_by = |deadline: Instant| {
        while run.driver.is_running() && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
        !run.driver.is_running()
    };
    let driven = if !run.driver.signal(Signal::TERM) {
        RunTermination::NotRunning
    } else if has_exited_by(deadline) {
        RunTermination::Exited
    } else {
        run.driver.signal(Signal::KILL);
        let has_exited = has_exited_by(Instant::now() + AFTER_KILL);
        if has_exited { RunTermination::Killed } else { RunTermination::StillRunning }
    };
    end_marked_after(driven, mark_of(store.root(), &run.id))
}

/// Ends whatever still works for a run whose driver ended like this.
fn end_marked_after(driven: RunTermination, is_mark: impl Fn(&[u8]) -> bool) -> RunTermination {
    // A process that exited by itself has ended its agents. Guards of a killed one are
    // at work now.
    let grace = if driven == RunTermination::Killed { GUARD_GRACE } else { Duration::ZERO };
    if find_marked(&is_mark).is_empty() {
        return driven;
    }
    let left = end_marked(&is_mark, grace, GIVE_UP);
    match driven {
        _ if !left.is_empty() => RunTermination::StillRunning,
        RunTermination::NotRunning => RunTermination::Killed,
        driven => driven,
    }
}

fn end_driver(
    folder: &RunFolder,
    holder: Option<&LockHolder>,
    deadline: Instant,
) -> Result<RunTermination, Refusal> {
    let has_exited_by = |deadline: Instant| loop {
        match folder.liveness() {
            Ok(Liveness::Alive(_)) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(Liveness::Alive(_)) => return Ok::<bool, Refusal>(false),
            Ok(Liveness::Ended) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    };
    if has_exited_by(deadline)? {
        return Ok(RunTermination::Exited);
    }
    let _ = holder.map(|holder| holder.signal(Signal::KILL));
    let has_exited = has_exited_by(Instant::now() + AFTER_KILL)?;
    Ok(if has_exited { RunTermination::Killed } else { RunTermination::StillRunning })
}

/// Ends what still works for a run that this process is about to resume: agents and
/// checks that outlived their process and their guard. Returns what cannot be ended.
pub fn end_leftovers(store: &Store, id: &RunId) -> Vec<ProcessInfo> {
    // The guards of a process that was killed a moment ago are at work.
    end_marked(mark_of(store.root(), id), GUARD_GRACE, GIVE_UP)
}

/// Recognizes the entry of an environment that says that its process works for a run.
fn mark_of(root: &Path, id: &RunId) -> impl Fn(&[u8]) -> bool {
    let (id, root) = (id.clone(), root.to_owned());
    let prefixes = Dialect::ALL.map(|dialect| format!("{}=", dialect.context_variable));
    move |entry: &[u8]| {
        let prefix = prefixes.iter().find(|prefix| entry.starts_with(prefix.as_bytes()));
        let Some(text) = prefix.and_then(|prefix| entry.get(prefix.len()..)) else { return false };
        // The same run may exist a second time, in a copy of the project. A project that
        // was moved is no longer where its processes were started.
        serde_json::from_slice::<ChildContext>(text).is_ok_and(|context| {
            context.run.as_ref() == Some(&id) && (context.root == root || !context.root.exists())
        })
    }
}

/// The runs that another process drives.
pub fn live_runs(store: &Store) -> Result<Vec<RunId>, Refusal> {
    let runs = store.runs()?.into_iter().filter(|run| run.liveness != Liveness::Ended);
    Ok(runs.map(|run| run.id).filter(|id| is_driven(store, id)).collect())
}

/// Says if the lock of a run is held by, or names, a process that does not drive the run.
/// Such a process is left alone.
pub fn describe_stranger(store: &Store, id: &RunId) -> Option<String> {
    let (pid, what) = match store.run(id).ok()??.lock_owner().ok()?? {
        LockOwner::Stranger(pid) => (pid, "is held by"),
        LockOwner::Driver { named: Some(pid), .. } => (pid, "names"),
        LockOwner::Driver { named: None, .. } | LockOwner::Unknown => return None,
    };
    Some(format!(
        "The lock of run {id} {what} process {pid}, which does not drive the run and was left \
         alone."
    ))
}

/// The runs whose lock some process holds, whether or not it drives the run.
pub fn locked_runs(store: &Store) -> Vec<RunId> {
    let runs = store.runs().unwrap_or_default().into_iter();
    runs.filter(|run| run.liveness != Liveness::Ended).map(|run| run.id).collect()
}

/// Whether another process drives a run.
pub fn is_driven(store: &Store, id: &RunId) -> bool {
    let folder = store.run(id).ok().flatten();
    folder.is_some_and(|folder| matches!(driver(&folder), Ok(Driver::Other(_))))
}

/// Who drives a run.
enum Driver {
    Nobody,
    /// This process, which must not signal or wait for itself.
    ThisProcess,
    /// Another process, with its identity if known.
    Other(Option<LockHolder>),
    /// Nobody, although a process holds the lock.
    Stranger,
}

fn driver(folder: &RunFolder) -> Result<Driver, Refusal> {
    Ok(match folder.lock_owner()? {
        None => Driver::Nobody,
        Some(LockOwner::Driver { process, .. }) if process.pid == std::process::id() => {
            Driver::ThisProcess
        }
        Some(LockOwner::Driver { process, .. }) => Driver::Other(Some(process)),
        Some(LockOwner::Unknown) => Driver::Other(None),
        Some(LockOwner::Stranger(_)) => Driver::Stranger,
    })
}
