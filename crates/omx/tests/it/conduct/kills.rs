//! Killed anywhere, a run goes on where it was, and no step is done twice.

use rustix::process::{Pid, Signal, kill_process};

use super::kit::Repository;

/// What a whole run plays, by the agents' own books.
fn whole() -> std::collections::BTreeMap<u64, usize> {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);
    repository.plays()
}

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Victim {
    Omx,
    Agent,
    Both,
}

/// Kills as soon as the journal has so many records, then goes on to the end.
fn killed_at(records: usize, victim: Victim, whole: &std::collections::BTreeMap<u64, usize>) {
    let repository = Repository::new();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(records);
    if victim != Victim::Agent {
        running.signal(Signal::KILL);
    }
    if victim != Victim::Omx {
        for (pid, line) in repository.processes() {
            if line.contains("rehearsal-agent") && line.split(' ').nth(1) != Some("guard") {
                let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
        }
    }
    let code = running.code();
    repository.await_nobody();
    let conversations = |kind: &str| {
        let records = repository.journal();
        let mut of_kind = records.iter().filter(|record| record["kind"] == kind);
        of_kind.clone().map(|record| record["step"].to_string()).for_each(drop);
        of_kind
            .by_ref()
            .map(|record| (record["step"].to_string(), record["id"].to_string()))
            .collect::<Vec<_>>()
    };
    if code != Some(0) {
        let outcome = repository.resume(&[]);
        repository.assert_complete(&outcome);
    }
    assert_eq!(&repository.plays(), whole, "killed {victim:?} after {records} records");
    // Every step has one conversation, which was gone on with.
    let mut steps: Vec<_> =
        conversations("conversation").into_iter().map(|(step, _)| step).collect();
    let all = steps.len();
    steps.sort();
    steps.dedup();
    assert_eq!(
        steps.len(),
        all,
        "a second conversation: killed {victim:?} after {records} records"
    );
    let finished = conversations("step_finished");
    assert_eq!(finished.len(), 30, "killed {victim:?} after {records} records");
}

#[test]
fn conductor_3_2_killed_at_any_step_a_run_goes_on_and_does_nothing_twice() {
    let whole = whole();
    // A run has some 110 records; a prime number between kills meets every kind of moment.
    for (index, records) in (1..110).step_by(17).enumerate() {
        let victim = [Victim::Omx, Victim::Agent, Victim::Both][index % 3];
        killed_at(records, victim, &whole);
    }
}
