//! The long kill loop: `kill-loop ROUNDS [SEED]`.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a tool of the tests")]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

fn main() {
    let mut args = std::env::args().skip(1);
    let rounds = args.next().map_or(1_000, |text| text.parse().expect("a number of rounds"));
    let seed = args.next().map_or_else(
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        |text| text.parse().expect("a seed"),
    );
    println!("kill loop: {rounds} rounds, seed {seed}");
    let start = Instant::now();
    let report = omx_testkit::kill_loop(rounds, seed);
    println!(
        "{} commands: {} had answered, {} were killed before ({} of those had taken effect); \
         none lost, none torn, nothing in the way; {:.1} s",
        report.started,
        report.answered,
        report.silent,
        report.unanswered_effects,
        start.elapsed().as_secs_f64()
    );
}
