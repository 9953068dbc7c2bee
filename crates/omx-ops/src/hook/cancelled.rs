//! A cancel that was asked for and could not be written yet.
//!
//! A hook waits for the lock a moment only. If somebody holds it longer, the
//! wish is kept in a file of its own, which needs no lock, and the next event
//! of the session carries it out. Until then nothing is held.

use std::fs;
use std::path::PathBuf;

use omx_kernel::SessionId;
use omx_store::Store;

fn path(store: &Store, session: &SessionId) -> PathBuf {
    store.state_path().join(".activity").join(format!("{session}.cancel"))
}

/// Keeps the wish.
pub fn wish(store: &Store, session: &SessionId) {
    let path = path(store, session);
    if let Some(folder) = path.parent().filter(|folder| folder.is_dir()) {
        let _ = fs::write(folder.join(format!("{session}.cancel")), b"");
    }
}

/// Whether there is such a wish.
pub fn is_wished(store: &Store, session: &SessionId) -> bool {
    fs::symlink_metadata(path(store, session)).is_ok()
}

/// The wish has been carried out, or the person went on instead.
pub fn forget(store: &Store, session: &SessionId) {
    let _ = fs::remove_file(path(store, session));
}
