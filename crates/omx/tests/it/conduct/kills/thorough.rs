//! Every victim after every record: takes minutes, so only the full ring runs it.

use omx_testkit::in_parallel;

use crate::conduct::whole_runs::{AT_A_TIME, Victim, Whole};

#[test]
fn conductor_3_2_any_process_killed_after_any_record() {
    let whole = Whole::play();
    let moments: Vec<_> = whole
        .moments
        .iter()
        .flat_map(|moment| Victim::ALL.map(|victim| (moment, victim)))
        .collect();
    in_parallel(AT_A_TIME, &moments, |(moment, victim)| whole.killed_at(moment, *victim));
    whole.assert_agents_died(moments.len() / 8);
}
