//! A run's lock: alive means locked.

use std::fs::File;
use std::time::Duration;

use omx_store::runs::{Liveness, LockHolder, RunAcquisition, RunRemoval};
use omx_testkit::await_condition;

use crate::helper::HelperCommand;
use crate::stage::{StoreFixture, run_id};

#[test]
fn conductor_3_1_a_live_run_cannot_be_acquired_twice_and_its_holder_is_known() {
    let stage = StoreFixture::new();
    let held = stage.create(&run_id(1));
    let this = LockHolder::this_process();
    assert!(this.is_running());
    match stage.acquire(&run_id(1)) {
        RunAcquisition::HeldBy(holder) => assert_eq!(holder, Some(this.clone())),
        other => panic!("{other:?}"),
    }
    assert_eq!(held.folder().liveness().unwrap(), Liveness::Alive(Some(this)));
    drop(held);
    let again = stage.acquired(&run_id(1));
    assert!(matches!(stage.acquire(&run_id(1)), RunAcquisition::HeldBy(_)));
    drop(again);
    assert!(matches!(stage.acquire(&run_id(2)), RunAcquisition::Missing));
}

#[test]
fn a_killed_process_releases_its_run_at_once_whatever_the_lock_file_says() {
    let stage = StoreFixture::new();
    drop(stage.create(&run_id(1)));
    let notes = stage.folder.path().join("notes");
    let run = run_id(1);
    let helper =
        HelperCommand { action: "hold", root: stage.store.root(), run: &run, notes: &notes };
    let mut other = helper.command(&[]).spawn().unwrap();
    await_condition("the lock", Duration::from_secs(20), || !helper.acknowledged().is_empty());
    let RunAcquisition::HeldBy(Some(holder)) = stage.acquire(&run) else { panic!("not held") };
    assert_eq!(holder.pid, other.id());
    assert!(holder.is_running());
    assert_eq!(stage.lock().remove_run(&run).unwrap(), RunRemoval::Alive(Some(holder.clone())));
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!holder.is_running());
    assert_eq!(stage.store.runs().unwrap()[0].liveness, Liveness::Ended);
    stage.acquired(&run);
}

#[test]
fn a_process_with_the_same_pid_after_a_reboot_is_another_one() {
    let this = LockHolder::this_process();
    assert!(!LockHolder { boot: Some("another".into()), ..this.clone() }.is_running());
    assert!(
        !LockHolder { started: this.started.map(|ticks| ticks + 1), ..this.clone() }.is_running()
    );
    assert!(!LockHolder { started: None, ..this }.is_running());
}

#[test]
fn a_probe_is_never_mistaken_for_the_driver() {
    let stage = StoreFixture::new();
    drop(stage.create(&run_id(1)));
    let probe = File::open(stage.runs().join(run_id(1).as_str()).join("lock")).unwrap();
    probe.lock_shared().unwrap();
    std::thread::scope(|scope| {
        let acquiring = scope.spawn(|| stage.acquired(&run_id(1)));
        // While the probe lasts, the run is neither acquired nor given up.
        std::thread::sleep(Duration::from_millis(50));
        assert!(!acquiring.is_finished());
        probe.unlock().unwrap();
        acquiring.join().unwrap();
    });
}
