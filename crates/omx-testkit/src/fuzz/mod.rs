//! Fuzzing on stable Rust: seeded cases, each repeatable from one number.
//!
//! A case gets everything it does from its [`Random`], so that the printed seed
//! is the whole story. Every case runs on a thread of its own whose name
//! carries the seed: a stack overflow, which no test can catch, still says
//! which case it was, and a case that hangs is found by its deadline.
//!
//! `FUZZ_SECONDS` sets how long each target runs, `FUZZ_SEED` repeats one case.

mod mutate;
mod texts;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use crate::random::Random;
pub use mutate::mutated;
pub use texts::{
    MODES, SESSIONS, document, json_text, json_value, odd_bytes, quoted, request, rpc_line,
};

/// No case takes longer, also not on a busy machine.
const DEADLINE: Duration = Duration::from_secs(20);
const SHORT: f64 = 2.0;
/// These run first, every time.
const FIXED_SEEDS: u64 = 100;
/// As much as the main thread of a program has.
const STACK: usize = 8 * 1024 * 1024;

/// Runs cases of a target until its time is over; fails with the seed of the
/// first one that fails.
pub fn fuzz(target: &str, case: fn(&mut Random)) {
    fuzz_at_most(target, u64::MAX, case);
}

/// The same, for slow cases of which a short run does only so many.
#[allow(clippy::print_stdout, reason = "the long command shows what it did")]
pub fn fuzz_at_most(target: &str, most: u64, case: fn(&mut Random)) {
    if let Some(seed) = variable("FUZZ_SEED") {
        let digits = seed.trim_start_matches("0x");
        run(target, u64::from_str_radix(digits, 16).expect("FUZZ_SEED is hexadecimal"), case);
        return;
    }
    let seconds = variable("FUZZ_SECONDS").map(|text| text.parse::<f64>().expect("a number"));
    let most = if seconds.is_some() { u64::MAX } else { most };
    let time = Duration::from_secs_f64(seconds.unwrap_or(SHORT));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos();
    let mut seeds = Random::new(now as u64);
    let start = Instant::now();
    let mut count = 0;
    while count < most && (start.elapsed() < time || count == 0) {
        let seed = if count < FIXED_SEEDS { count } else { seeds.number() };
        run(target, seed, case);
        count += 1;
    }
    println!("{target}: {count} cases in {:.1} s", start.elapsed().as_secs_f64());
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn run(target: &str, seed: u64, case: fn(&mut Random)) {
    let (done, finished) = channel();
    let thread = std::thread::Builder::new()
        .name(format!("{target} with FUZZ_SEED={seed:#x}"))
        .stack_size(STACK)
        .spawn(move || {
            case(&mut Random::new(seed));
            let _ = done.send(());
        })
        .expect("a thread");
    let how = match finished.recv_timeout(DEADLINE) {
        Ok(()) => return,
        Err(RecvTimeoutError::Timeout) => "hangs",
        Err(RecvTimeoutError::Disconnected) => {
            let _ = thread.join();
            "fails"
        }
    };
    panic!("{target} {how}; repeat it with: FUZZ_SEED={seed:#x} cargo test --workspace {target}");
}
