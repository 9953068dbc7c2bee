//! The two system calls the standard library does not offer: `wait4`, the only
//! way to learn what *one* child has used, and `poll`, so that a server that
//! never answers ends a measurement instead of hanging it. All unsafe code of
//! the benchmark is here.
#![expect(unsafe_code, reason = "wait4 and poll have no safe form in std")]

use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What a finished child has used.
#[derive(Clone, Copy, Debug)]
pub struct ResourceUsage {
    /// The raw wait status: 0 means exit code 0.
    pub status: i32,
    /// User and system time together.
    pub cpu: Duration,
    /// Largest resident set, KiB.
    pub max_rss_kib: u64,
}

/// Waits for the child and says what it used. The child is reaped.
///
/// # Errors
/// When there is no such child.
pub fn wait(pid: u32) -> Result<ResourceUsage> {
    let pid = libc::pid_t::try_from(pid).map_err(Error::other)?;
    let mut status = 0;
    loop {
        // SAFETY: all-zero bytes are a valid `rusage`, a record of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live, writable values of the right type.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if reaped == pid {
            return Ok(ResourceUsage {
                status,
                cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
                max_rss_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
            });
        }
        let error = Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Waits until the descriptor can be read (or has ended); `false` on timeout.
///
/// # Errors
/// When the descriptor cannot be waited for.
pub fn readable(fd: BorrowedFd<'_>, patience: Duration) -> Result<bool> {
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let timeout = libc::c_int::try_from(patience.as_millis()).unwrap_or(libc::c_int::MAX);
    loop {
        // SAFETY: one live, writable entry is passed, with a count of one.
        let ready = unsafe { libc::poll(&raw mut entry, 1, timeout) };
        if ready >= 0 {
            return Ok(ready > 0);
        }
        let error = Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
        + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}
