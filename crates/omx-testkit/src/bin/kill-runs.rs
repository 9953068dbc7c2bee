//! The kill campaign over whole runs: `kill-runs ROUNDS [SEED]`.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a tool of the tests")]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use omx_testkit::{KillRunsReport, kill_runs};

/// After how many rounds the campaign says how far it is.
const PROGRESS: usize = 20;

fn main() {
    let mut args = std::env::args().skip(1);
    let rounds = args.next().map_or(200, |text| text.parse().expect("a number of rounds"));
    let seed = args.next().map_or_else(
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        |text| text.parse().expect("a seed"),
    );
    println!("kill runs: {rounds} rounds, seed {seed}");
    let start = Instant::now();
    let progress = |report: KillRunsReport| {
        if report.runs.is_multiple_of(PROGRESS) {
            println!("{} of {rounds} rounds, {} processes killed", report.runs, report.killed);
        }
    };
    let report = kill_runs(rounds, seed, progress);
    println!(
        "{} runs, {} processes killed, {} resumes; all complete, none twice, nothing left; {:.1} s",
        report.runs,
        report.killed,
        report.resumes,
        start.elapsed().as_secs_f64()
    );
}
