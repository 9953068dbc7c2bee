//! What the caller of omx left open must not reach an agent: a lock or a socket
//! that an agent holds outlives its owner.

use std::fs;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};

/// Closes every descriptor but the three standard ones for all that is started
/// from now on. To be called while there is one thread.
pub(super) fn seal() {
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return };
    let numbers = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for number in numbers.filter(|number: &RawFd| *number > 2) {
        // SAFETY: the listing shows what is open, and it is not borrowed for
        // longer than this line, in which nothing else can close it.
        #[expect(unsafe_code, reason = "a number is all that is known of what was inherited")]
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = fcntl_setfd(file, FdFlags::CLOEXEC);
    }
}
