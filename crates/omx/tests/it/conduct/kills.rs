//! A run killed anywhere resumes where it was and repeats no step.

mod thorough;

use omx_testkit::in_parallel;

use super::whole_runs::{AT_A_TIME, KilledProcess, UndisturbedRun};

/// The number of records between two kills: a multiple of neither a step's nor the
/// number of victims.
const APART: usize = 4;

/// After every fourth record of the journal, with another victim each time; the
/// thorough test covers every record with every victim.
#[test]
fn conductor_3_2_a_run_killed_after_any_record_resumes_and_repeats_nothing() {
    let whole = UndisturbedRun::play();
    let victims = KilledProcess::ALL.into_iter().cycle();
    let moments: Vec<_> = whole.moments.iter().step_by(APART).zip(victims).collect();
    in_parallel(AT_A_TIME, &moments, |(moment, victim)| whole.killed_at(moment, *victim));
    whole.assert_agents_died(moments.len() / 8);
}
