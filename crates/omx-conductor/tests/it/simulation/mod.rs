//! Whole runs in a simulated world (quality.md R17). The clock, the journal,
//! documents, agents, jobs and the person are simulated, and each of their
//! effects can fail or be cut off by a crash. The loop (`Drive`), the engine, the
//! workflows and the documents' rules are those of production. A seed that fails
//! is printed and repeats exactly.
//!
//! `SIMULATE_SEEDS` and `SIMULATE_FIRST` say which seeds (scripts/simulate).

mod agent_faults;
mod agents;
mod answers;
mod checks;
mod defects;
mod documents;
mod effects;
mod journal;
mod limits;
mod outcome;
mod person;
mod rules;
mod scenario;
mod workspace;
mod world;

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use omx_testkit::in_parallel;

use defects::Defect;
use world::SimWorld;

/// How many lines of a failed run are shown, unless `SIMULATE_SHOWN` says it.
const SHOWN: u64 = 150;
/// So many seeds at a time, each lot on one thread.
const LOT: u64 = 50;

/// Seeds that together show everything there is to see.
const ENOUGH: u64 = 10_000;

/// What some world must have shown, or the others prove nothing about it.
fn everything() -> impl Iterator<Item = &'static str> {
    let ends = [
        "autopilot complete",
        "autopilot failed",
        "autopilot limit",
        "autopilot budget",
        "autopilot blocked_on_user",
        "autopilot cancelled",
        "autopilot interrupted",
        "ralph complete",
        "ralph failed",
        "ralph limit",
        "ralph budget",
        "ralph blocked_on_user",
        "ralph cancelled",
        "ralph interrupted",
        "ralplan complete",
        "ralplan failed",
        "ralplan limit",
        "ralplan budget",
        "ralplan blocked_on_user",
        "ralplan cancelled",
        "ralplan interrupted",
        "code-review complete",
        "code-review failed",
        "code-review budget",
        "code-review blocked_on_user",
        "code-review cancelled",
        "code-review interrupted",
        "ultraqa complete",
        "ultraqa failed",
        "ultraqa limit",
        "ultraqa budget",
        "ultraqa blocked_on_user",
        "ultraqa cancelled",
        "ultraqa interrupted",
        "pipeline complete",
        "pipeline failed",
        "pipeline budget",
        "pipeline blocked_on_user",
        "pipeline cancelled",
        "pipeline interrupted",
    ];
    let ways = [
        "crash",
        "resumed conversation",
        "begun again",
        "empty record",
        "received before",
        "lost with its work untouched",
        "waited for a limit",
        "decided Rerun",
        "decided Skip",
        "stuck",
        "full disk",
        "waited for the lock",
        "journal failed",
        "document failed",
        "agent not opened",
        "job not started",
        "job failed",
        "check interrupted",
        "question not stored",
        "cancel meets a write",
        "resumed after a cancel",
        "limit raised",
        "limit lowered",
        "budget raised",
        "budget lowered",
        "continued at a limit",
    ];
    ends.into_iter().chain(ways)
}

#[test]
fn r17_simulated_runs_keep_every_promise() {
    let count = number("SIMULATE_SEEDS").unwrap_or(10_000);
    let first = number("SIMULATE_FIRST").unwrap_or(0);
    let lots: Vec<u64> = (first..first + count).step_by(LOT as usize).collect();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let start = Instant::now();
    let seen = Mutex::new(BTreeSet::new());
    in_parallel(threads, &lots, |lot| {
        for seed in *lot..(lot + LOT).min(first + count) {
            let result = simulate(seed);
            seen.lock().unwrap().extend(result);
        }
    });
    if count >= ENOUGH {
        let seen = seen.into_inner().unwrap();
        let missing: Vec<&str> = everything().filter(|what| !seen.contains(*what)).collect();
        assert!(missing.is_empty(), "no world shows {missing:?}");
    }
    println!("{count} runs from seed {first} in {:.1} s", start.elapsed().as_secs_f64());
}

/// So many seeds are enough to find any defect of the shell that is put back.
const DEFECT_SEEDS: u64 = 2_000;

#[test]
fn r17_every_defect_that_is_put_back_is_found() {
    let counts_all = std::env::var("SIMULATE_TALLY").is_ok();
    in_parallel(2, &Defect::ALL, |defect| {
        let finds = |seed: &u64| {
            let run = || {
                let mut world = SimWorld::new(*seed, None);
                world.defect = Some(*defect);
                world.run();
            };
            let Err(broken) = catch_unwind(run) else { return false };
            // It may break other rules as well; it counts as found by its own.
            let why = words(broken.as_ref());
            defect.rules().iter().any(|rule| why.contains(rule))
        };
        let most = if counts_all { usize::MAX } else { 1 };
        let found: Vec<u64> = (0..DEFECT_SEEDS).filter(finds).take(most).collect();
        assert!(!found.is_empty(), "{defect:?} is not found in {DEFECT_SEEDS} seeds");
        println!("{defect:?} is found first by seed {}, by {} in all", found[0], found.len());
    });
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// Runs one seed. If it fails, runs it again with a trace, and prints that.
fn simulate(seed: u64) -> BTreeSet<String> {
    static FAILED: AtomicBool = AtomicBool::new(false);
    let run = || {
        let mut world = SimWorld::new(seed, None);
        world.run();
        world.seen
    };
    let broken = match catch_unwind(run) {
        Ok(seen) => return seen,
        Err(broken) => broken,
    };
    let why = words(broken.as_ref());
    if std::env::var("SIMULATE_TALLY").is_ok() {
        println!("FAIL {seed} {}", why.lines().next().unwrap_or_default());
        return BTreeSet::new();
    }
    // One failure is enough to look at.
    if FAILED.swap(true, Ordering::Relaxed) {
        return BTreeSet::new();
    }
    let mut world = SimWorld::new(seed, Some(Vec::new()));
    let again = catch_unwind(AssertUnwindSafe(|| world.run())).err();
    let again = again.map(|broken| words(broken.as_ref()));
    let lines = world.trace.unwrap_or_default();
    let result = usize::try_from(number("SIMULATE_SHOWN").unwrap_or(SHOWN)).unwrap_or(usize::MAX);
    let skipped = lines.len().saturating_sub(result).max(1);
    for line in lines.iter().take(1).chain(lines.iter().skip(skipped)) {
        println!("{line}");
    }
    assert_eq!(again.as_ref(), Some(&why), "seed {seed} does not repeat");
    panic!("{why}\nseed {seed} fails; repeat it with: scripts/simulate 1 {seed}");
}

fn words(broken: &(dyn Any + Send)) -> String {
    let text = broken.downcast_ref::<String>().cloned();
    let text = text.or_else(|| broken.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_default()
}
