//! The folders of the person outside the project. Few commands need them, and hooks must
//! not pay for finding them, so they are looked up at the first use.

use std::path::PathBuf;
use std::sync::OnceLock;

use omx_kernel::Dialect;

/// Private folders of the person in which to remember a cancel that the project's own
/// folder cannot hold.
#[derive(Clone, Debug)]
pub struct RuntimeFolders {
    find: fn(Dialect) -> Vec<PathBuf>,
    dialect: Dialect,
    found: OnceLock<Vec<PathBuf>>,
}

impl RuntimeFolders {
    /// The folders that `find` returns for a dialect.
    pub fn new(find: fn(Dialect) -> Vec<PathBuf>, dialect: Dialect) -> Self {
        Self { find, dialect, found: OnceLock::new() }
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        self.found.get_or_init(|| (self.find)(self.dialect))
    }
}

/// No folders.
impl Default for RuntimeFolders {
    fn default() -> Self {
        Self::new(|_| Vec::new(), Dialect::OMX)
    }
}
