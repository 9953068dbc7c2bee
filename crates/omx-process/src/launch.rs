//! What to start: program, arguments, environment, working directory, confinement.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::confinement::Confinement;

/// A process to start. Nothing is inherited: this is its whole environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Its working directory.
    pub folder: PathBuf,
    /// Which files it may change and read.
    pub confinement: Confinement,
}
