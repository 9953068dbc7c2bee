//! Exiting with the parent: a parent that is killed cannot say goodbye, and the
//! pipe to it may stay open in another process.

use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getppid};

use crate::platform::ProcessHandle;

/// Calls this in a thread of its own once the process that started this one is
/// gone. `expected` is the parent's process id, where it is known: if the parent
/// is another one by now, the expected one is gone already.
pub fn on_parent_exit(
    expected: Option<u32>,
    call: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let found = getppid();
    // Open the handle first, then compare: an open handle never means another process.
    let raw = |parent: Pid| parent.as_raw_nonzero().get().unsigned_abs();
    let handle = found.map(|parent| ProcessHandle::open(raw(parent)));
    let is_there = match expected {
        // A parent outside this process's namespace has no number here.
        None if found.is_none() => return Ok(()),
        None => true,
        Some(expected) => found.map(raw) == Some(expected),
    };
    let handle = if is_there && getppid() == found { handle.transpose()? } else { None };
    let watch = move || {
        if let Some(handle) = handle {
            let mut handles = [PollFd::new(&handle, PollFlags::IN)];
            while poll(&mut handles, None) == Err(Errno::INTR) {}
        }
        call();
    };
    std::thread::Builder::new().name("parent".to_owned()).stack_size(64 * 1024).spawn(watch)?;
    Ok(())
}
