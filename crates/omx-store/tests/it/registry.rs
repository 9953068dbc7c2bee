//! The registry of live runs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use omx_store::runs::{HeldRun, RegisteredRun, RunRegistry};
use omx_store::{Project, Store};

use crate::stage::{StoreFixture, at, run_id};

fn entry(stage: &StoreFixture, held: &HeldRun, started: i64) -> RegisteredRun {
    RegisteredRun {
        run: held.id().clone(),
        root: stage.store.root().to_owned(),
        tree: stage.store.tree().to_owned(),
        mode: "ralph".into(),
        task: "make it work".into(),
        pid: std::process::id(),
        started: at(started),
        holder: None,
    }
}

fn names(folder: &std::path::Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn conductor_7_live_runs_of_all_projects_are_listed_and_dead_ones_removed() {
    let (one, two) = (StoreFixture::new(), StoreFixture::new());
    let folder = one.folder.path().join("state/omx/runs");
    let registry = RunRegistry::new(folder.clone());
    assert_eq!(registry.live().unwrap(), []);

    let (first, second) = (one.create(&run_id(1)), two.create(&run_id(2)));
    registry.add(&second, &entry(&two, &second, 2)).unwrap();
    registry.add(&first, &entry(&one, &first, 1)).unwrap();
    assert_eq!(registry.live().unwrap(), [entry(&one, &first, 1), entry(&two, &second, 2)]);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join(format!("{}.json", run_id(1)))), 0o600);

    registry.remove(&first).unwrap();
    registry.remove(&first).unwrap();
    assert_eq!(registry.live().unwrap(), [entry(&two, &second, 2)]);
    // Like a killed run: its lock is free, its file still exists.
    drop(second);
    assert_eq!(names(&folder), 1);
    assert_eq!(registry.live().unwrap(), []);
    assert_eq!(names(&folder), 0, "the reader removes stale entries");
}

#[test]
fn an_entry_of_a_project_that_is_gone_is_removed_and_other_files_stay() {
    let (one, two) = (StoreFixture::new(), StoreFixture::new());
    let folder = one.folder.path().join("registry");
    let registry = RunRegistry::new(folder.clone());
    let held = two.create(&run_id(1));
    registry.add(&held, &entry(&two, &held, 1)).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    fs::write(folder.join(format!("{}.json", run_id(2))), "{ torn").unwrap();
    fs::remove_dir_all(two.store.root()).unwrap();
    assert_eq!(registry.live().unwrap(), []);
    assert_eq!(names(&folder), 2);
}

#[test]
fn a_project_path_may_be_invalid_utf_8_and_a_long_task_is_cut() {
    let stage = StoreFixture::new();
    let root = stage.folder.path().join(OsStr::from_bytes(b"pro \xff\nject"));
    fs::create_dir(&root).unwrap();
    let project = Project { root: root.clone(), tree: root.join(".omx") };
    let stage = StoreFixture { store: Store::new(project), ..stage };
    let held = stage.create(&run_id(1));
    let registry = RunRegistry::new(stage.folder.path().join("registry"));
    let spec = RegisteredRun { task: "ä".repeat(5000).into(), ..entry(&stage, &held, 1) };
    registry.add(&held, &spec).unwrap();
    let live = registry.live().unwrap();
    assert_eq!(live.len(), 1);
    assert_eq!(live[0].root, root);
    assert_eq!(live[0].task.raw(), "ä".repeat(1000));
}
