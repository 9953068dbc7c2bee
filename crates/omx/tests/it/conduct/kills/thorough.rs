//! Every victim after every record: takes minutes, so only the full ring runs it.

use omx_testkit::in_parallel;

use crate::conduct::whole_runs::{AT_A_TIME, KilledProcess, UndisturbedRun};

fn killed_after_any_record(victim: KilledProcess) {
    let whole = UndisturbedRun::play();
    in_parallel(AT_A_TIME, &whole.moments, |moment| whole.killed_at(moment, victim));
    if victim != KilledProcess::Omx {
        whole.assert_agents_died(whole.moments.len() / 8);
    }
}

#[test]
fn conductor_3_2_omx_killed_after_any_record() {
    killed_after_any_record(KilledProcess::Omx);
}

#[test]
fn conductor_3_2_the_agent_killed_after_any_record() {
    killed_after_any_record(KilledProcess::Agent);
}

#[test]
fn conductor_3_2_both_killed_after_any_record() {
    killed_after_any_record(KilledProcess::Both);
}
