//! A temporary project and the context of a caller in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use omx_kernel::{AgentKind, Dialect, Refusal, RunId, Timestamp};
use omx_ops::{Clock, Context, RunLauncher};
use omx_store::Store;
use tempfile::TempDir;

/// A clock that stands still.
pub struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_794_000_000_000)
    }
}

/// A launcher that finds every agent and only notes what it would drive.
#[derive(Default)]
pub struct RecordingLauncher {
    pub driven: Mutex<Vec<(RunId, Vec<String>)>>,
}

impl RunLauncher for RecordingLauncher {
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        std::env::vars_os().collect()
    }

    fn registry_folder(&self, _: Dialect) -> Option<PathBuf> {
        None
    }

    fn find_agent(
        &self,
        _: &Context<'_>,
        _: &Store,
        named: Option<AgentKind>,
        _: Option<&Path>,
    ) -> Result<AgentKind, Refusal> {
        Ok(named.unwrap_or(AgentKind::Codex))
    }

    fn drive_detached(
        &self,
        _: &Context<'_>,
        _: &Store,
        id: &RunId,
        decisions: &[String],
    ) -> Result<(), Refusal> {
        self.driven.lock().unwrap().push((id.clone(), decisions.to_vec()));
        Ok(())
    }
}

pub struct OpsTestProject {
    folder: TempDir,
    pub launcher: RecordingLauncher,
}

impl OpsTestProject {
    /// A folder that is not under git.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), launcher: RecordingLauncher::default() }
    }

    pub fn context(&self) -> Context<'_> {
        let context = Context::in_project(self.folder.path().to_owned(), &StoppedClock, "test");
        Context { runs: &self.launcher, ..context }
    }
}
