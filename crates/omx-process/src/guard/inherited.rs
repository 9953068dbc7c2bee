//! What the caller of omx left open must reach neither a guard nor an agent: a
//! lock or a pipe that they hold outlives its owner.

use std::fs;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::fcntl_getfd;

/// Closes every descriptor but the three standard ones. To be called before
/// this process has opened any itself.
pub(super) fn close_inherited() {
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return };
    let numbers = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // One of them is the listing's own, which is closed after this line.
    let numbers: Vec<RawFd> = numbers.filter(|number| *number > 2).collect();
    for number in numbers {
        // SAFETY: whether it is open is just what is asked.
        #[expect(unsafe_code, reason = "a number is all that is known of what was inherited")]
        let is_open = fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok();
        if is_open {
            // SAFETY: it is open, and it was so when this process began: nothing
            // in it knows of the number or has another way to close it.
            #[expect(unsafe_code, reason = "a number is all that is known of what was inherited")]
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
}
