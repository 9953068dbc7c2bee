//! A run's lock: alive means locked.

use std::fs::File;
use std::time::Duration;

use omx_store::runs::{Liveness, LockHolder, RunAcquisition, RunRemoval};
use omx_testkit::await_condition;

use crate::player::Order;
use crate::stage::{Stage, run_id};

#[test]
fn conductor_3_1_a_living_run_cannot_be_taken_twice_and_tells_who_holds_it() {
    let stage = Stage::new();
    let held = stage.create(&run_id(1));
    let this = LockHolder::this_process();
    assert!(this.is_running());
    match stage.take(&run_id(1)) {
        RunAcquisition::HeldBy(holder) => assert_eq!(holder, Some(this.clone())),
        other => panic!("{other:?}"),
    }
    assert_eq!(held.folder().liveness().unwrap(), Liveness::Alive(Some(this)));
    drop(held);
    let again = stage.taken(&run_id(1));
    assert!(matches!(stage.take(&run_id(1)), RunAcquisition::HeldBy(_)));
    drop(again);
    assert!(matches!(stage.take(&run_id(2)), RunAcquisition::Missing));
}

#[test]
fn a_killed_process_lets_go_of_its_run_at_once_whatever_its_note_says() {
    let stage = Stage::new();
    drop(stage.create(&run_id(1)));
    let notes = stage.folder.path().join("notes");
    let run = run_id(1);
    let order = Order { what: "hold", root: stage.store.root(), run: &run, notes: &notes };
    let mut other = order.command(&[]).spawn().unwrap();
    await_condition("the lock", Duration::from_secs(20), || !order.noted().is_empty());
    let RunAcquisition::HeldBy(Some(holder)) = stage.take(&run) else { panic!("not held") };
    assert_eq!(holder.pid, other.id());
    assert!(holder.is_running());
    assert_eq!(stage.lock().remove_run(&run).unwrap(), RunRemoval::Alive(Some(holder.clone())));
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!holder.is_running());
    assert_eq!(stage.store.runs().unwrap()[0].liveness, Liveness::Ended);
    stage.taken(&run);
}

#[test]
fn a_process_that_has_the_same_number_after_a_restart_is_another_one() {
    let this = LockHolder::this_process();
    assert!(!LockHolder { boot: Some("another".into()), ..this.clone() }.is_running());
    assert!(
        !LockHolder { started: this.started.map(|ticks| ticks + 1), ..this.clone() }.is_running()
    );
    assert!(!LockHolder { started: None, ..this }.is_running());
}

#[test]
fn somebody_who_looks_is_never_mistaken_for_the_driver() {
    let stage = Stage::new();
    drop(stage.create(&run_id(1)));
    let looker = File::open(stage.runs().join(run_id(1).as_str()).join("lock")).unwrap();
    looker.lock_shared().unwrap();
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| stage.taken(&run_id(1)));
        // As long as somebody looks, it is neither taken nor given up.
        std::thread::sleep(Duration::from_millis(50));
        assert!(!taker.is_finished());
        looker.unlock().unwrap();
        taker.join().unwrap();
    });
}
