//! Killed anywhere, a run goes on where it was, and no step is done twice.

mod thorough;

use omx_testkit::in_parallel;

use super::whole_runs::{AT_A_TIME, Victim, Whole};

/// So many records between two kills: no multiple of a step's, nor of the
/// number of victims.
const APART: usize = 4;

/// After every fourth record of the journal, with another victim each time; the
/// thorough one takes every record and all of them.
#[test]
fn conductor_3_2_a_run_killed_after_any_record_resumes_and_repeats_nothing() {
    let whole = Whole::play();
    let victims = Victim::ALL.into_iter().cycle();
    let moments: Vec<_> = whole.moments.iter().step_by(APART).zip(victims).collect();
    in_parallel(AT_A_TIME, &moments, |(moment, victim)| whole.killed_at(moment, *victim));
    whole.assert_agents_died(moments.len() / 8);
}
