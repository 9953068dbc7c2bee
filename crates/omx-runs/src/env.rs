//! The environment that operations on a project's runs share.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

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
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// How long to wait for the project's lock.
    pub lock_deadline: Duration,
    /// The current time.
    pub now: Timestamp,
}
