//! The answer of a process that has to answer in time, whatever it is doing: a timer of
//! the kernel interrupts it, prints the answer and exits. Nothing is started for it, and
//! no code of the process has to run for it to work.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The empty effect of a hook.
const ANSWER: &[u8] = b"{}\n";

/// Whether somebody has begun to answer.
static IS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Claims the answer. Whoever gets `true` prints it, and nobody else does.
pub fn claim_answer() -> bool {
    !IS_ANSWERED.swap(true, Ordering::SeqCst)
}

/// Prints the empty effect and exits with 0 once this time has passed.
#[expect(unsafe_code, reason = "std has neither signal handlers nor timers")]
pub fn answer_after(time: Duration) {
    let micros = |micros: u32| libc::suseconds_t::from(micros);
    let seconds = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
    let once = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval {
        it_interval: once,
        it_value: libc::timeval { tv_sec: seconds, tv_usec: micros(time.subsec_micros()) },
    };
    let handler: extern "C" fn(c_int) = give_up;
    // SAFETY: the handler calls nothing but `write` and `_exit`, which may be called in a
    // signal handler, and the timer is a valid value.
    unsafe {
        libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}

#[expect(unsafe_code, reason = "std cannot write and exit in a signal handler")]
extern "C" fn give_up(_: c_int) {
    let answer = if claim_answer() { ANSWER } else { &[] };
    // SAFETY: both calls may be made in a signal handler, and the bytes are valid.
    unsafe {
        libc::write(libc::STDOUT_FILENO, answer.as_ptr().cast(), answer.len());
        libc::_exit(0);
    }
}

/// Makes a write beyond the limit for file sizes fail instead of killing this process.
/// Programs that it starts inherit that.
#[expect(unsafe_code, reason = "std cannot ignore a signal")]
pub fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal runs no code.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
