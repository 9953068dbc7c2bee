//! What to start: program, arguments, environment, working directory, confinement.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
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

/// How the name of the variable ends that tells a child of omx whom it works for. The
/// rest of the name depends on the dialect, which this crate does not know.
const CONTEXT_SUFFIX: &[u8] = b"_CONTEXT";
/// How the value begins: a JSON object whose first field is the project.
const CONTEXT_START: &[u8] = b"{\"root\":";

impl Launch {
    /// Whom the process works for, as omx tells it in its environment.
    pub(crate) fn context(&self) -> Option<&OsStr> {
        let is_context = |(name, value): &(&OsString, &OsString)| {
            name.as_encoded_bytes().ends_with(CONTEXT_SUFFIX)
                && value.as_encoded_bytes().starts_with(CONTEXT_START)
        };
        self.environment.iter().find(is_context).map(|(_, value)| value.as_os_str())
    }
}
