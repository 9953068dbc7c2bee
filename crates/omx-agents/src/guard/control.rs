//! The guard's end of the socket to omx, which it is given as a number.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Takes the socket that omx opened for this guard; nothing if the number
/// means no socket. It is closed for everything the guard starts.
pub fn control(number: RawFd) -> Option<UnixStream> {
    let target = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
    if number <= 2 || !target.to_str()?.starts_with("socket:") {
        return None;
    }
    // SAFETY: the descriptor is open, as was just seen, and omx opened it for
    // this use alone: nothing else in this process knows of it.
    #[expect(unsafe_code, reason = "a number is the only form in which a descriptor is inherited")]
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC).ok()?;
    Some(UnixStream::from(socket))
}
