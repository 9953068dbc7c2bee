//! A cancel that was requested while another process held the project's lock.
//!
//! A hook waits only briefly for the lock. If it cannot get the lock, it stores the
//! request in a separate file, which needs no lock, and the session's next event
//! carries the cancel out. Until then no Stop is held.

use std::fs;
use std::path::PathBuf;

use omx_kernel::SessionId;
use omx_store::Store;

fn path(store: &Store, session: &SessionId) -> PathBuf {
    store.state_path().join(".activity").join(format!("{session}.cancel"))
}

/// Stores the request.
pub fn request_cancel(store: &Store, session: &SessionId) {
    if let Ok(Some(state)) = store.read() {
        let _ = state.request_cancel(session);
    }
}

/// Whether a request is pending.
pub fn is_requested(store: &Store, session: &SessionId) -> bool {
    fs::symlink_metadata(path(store, session)).is_ok()
}

/// Removes the request after it was carried out, or because the person continued instead.
pub fn forget(store: &Store, session: &SessionId) {
    let _ = fs::remove_file(path(store, session));
}
