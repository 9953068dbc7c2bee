//! The environment that operations on a project's runs share.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use omx_kernel::environment::is_for_git;
use omx_kernel::{Dialect, Timestamp};
use omx_store::Store;

/// A project and its caller's environment, read once at the edge.
#[derive(Clone, Copy, Debug)]
pub struct ProjectEnv<'a> {
    /// The project's store.
    pub store: &'a Store,
    /// Names branches and folders.
    pub dialect: Dialect,
    /// The environment for git.
    pub environment: &'a GitEnvironment,
    /// How long to wait for the project's lock.
    pub lock_deadline: Duration,
    /// The current time.
    pub now: Timestamp,
}

/// The variables that git, and what git starts, may see. There is no way to make one
/// from the caller's whole environment.
#[derive(Clone, Debug)]
pub struct GitEnvironment(BTreeMap<OsString, OsString>);

impl GitEnvironment {
    /// Reduces the caller's environment to the common variables and those that the
    /// person's configuration passes on.
    pub fn reduced(mut caller: BTreeMap<OsString, OsString>, passed: &[String]) -> Self {
        caller.retain(|name, _| {
            let name = name.to_string_lossy();
            is_for_git(&name) || passed.iter().any(|passed| *passed == name)
        });
        Self(caller)
    }

    /// The variables by name.
    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.0
    }
}
