//! quality.md R1, state.md 4.1 and 4.2: the release binary is killed at every
//! call it makes on a file, in every command that changes something.

use omx_testkit::in_parallel;
use omx_testkit::strace::{Injection, Syscall, inject};
use omx_testkit::tree::DocumentTree;

use crate::crash_checks::{
    documents_are_whole, lock_is_free, readers_are_right, repeats_to_the_end,
};
use crate::crash_scenarios::{RecordedScenario, all};

const THREADS: usize = 3;

#[test]
fn state_4_1_killed_at_any_call_the_state_is_old_or_new_and_the_command_can_be_repeated() {
    let rehearsed: Vec<RecordedScenario> = all().iter().map(|scenario| scenario.record()).collect();
    let points: Vec<(&RecordedScenario, &Syscall)> =
        rehearsed.iter().flat_map(|one| one.calls.iter().map(move |call| (one, call))).collect();
    assert!(points.len() > 500, "only {} points", points.len());
    in_parallel(THREADS, &points, |(rehearsed, call)| killed_at(rehearsed, call));
}

#[track_caller]
fn killed_at(rehearsed: &RecordedScenario, call: &Syscall) {
    let at = format!("{}, killed at {} {}: {}", rehearsed.name, call.name, call.nth, call.text);
    let project = rehearsed.project();
    let outcome = inject(&project, &rehearsed.args(), call, Injection::Kill);
    // The loader reads a file of varying length: only there the count may miss.
    assert!(outcome.code.is_none() || call.name == "read", "{at}: not reached: {outcome:?}");
    documents_are_whole(rehearsed, &project, &at);
    if call.name == "exit_group" {
        assert_eq!(DocumentTree::read(&project).contents(), rehearsed.new.contents(), "{at}");
    }
    if outcome.stdout.ends_with('\n') {
        // An answered change is on disk.
        assert_eq!(DocumentTree::read(&project).contents(), rehearsed.new.contents(), "{at}");
    }
    lock_is_free(&project, &at);
    readers_are_right(&project, &at);
    repeats_to_the_end(rehearsed, &project, &at);
}
