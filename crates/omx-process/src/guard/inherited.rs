//! Descriptors that the caller of omx left open must reach neither a guard nor an
//! agent: a lock or a pipe that they hold would outlive its owner.

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::fcntl_getfd;

use crate::platform::list_open_descriptors;

/// Closes every descriptor except the three standard ones. Call it before this process
/// opens any descriptor of its own.
pub(super) fn close_inherited() {
    let inherited = list_open_descriptors().into_iter().filter(|number| *number > 2);
    // Collected first: the descriptor that served for listing is closed by now.
    for number in inherited.collect::<Vec<RawFd>>() {
        // SAFETY: only asks whether the descriptor is open.
        #[expect(unsafe_code, reason = "an inherited descriptor is known only by its number")]
        let is_open = fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok();
        if is_open {
            // SAFETY: it is open and was open when this process began, so nothing in this
            // process owns it or could close it a second time.
            #[expect(unsafe_code, reason = "an inherited descriptor is known only by its number")]
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
}
