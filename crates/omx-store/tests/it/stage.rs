//! A temporary project with a store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_kernel::{RunId, Timestamp};
use omx_store::runs::{HeldRun, LockHolder, RunAcquisition};
use omx_store::{LockedStore, Project, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct StoreFixture {
    pub folder: TempDir,
    pub store: Store,
}

impl StoreFixture {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir(&root).unwrap();
        let store = store_of(&root);
        Self { folder, store }
    }

    pub fn lock(&self) -> LockedStore {
        self.store.lock(Duration::from_secs(5), "test").unwrap()
    }

    pub fn create(&self, id: &RunId) -> HeldRun {
        self.lock().create_run(id, &json!({"task": "t"}), &LockHolder::this_process()).unwrap()
    }

    pub fn acquire(&self, id: &RunId) -> RunAcquisition {
        self.store.acquire_run(id, &LockHolder::this_process()).unwrap()
    }

    /// Acquires a run that must be free.
    #[track_caller]
    pub fn acquired(&self, id: &RunId) -> HeldRun {
        match self.acquire(id) {
            RunAcquisition::Acquired(held) => held,
            other => panic!("not acquired: {other:?}"),
        }
    }

    pub fn runs(&self) -> PathBuf {
        self.store.tree().join("runs")
    }

    pub fn journal_file(&self, id: &RunId) -> PathBuf {
        self.runs().join(id.as_str()).join("journal.jsonl")
    }
}

pub fn store_of(root: &Path) -> Store {
    Store::new(Project { root: root.to_owned(), tree: root.join(".omx") })
}

pub fn run_id(number: u8) -> RunId {
    RunId::from_parts(at(i64::from(number)), [number; 10])
}

pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_794_000_000_000 + millis)
}

/// The records of a run.
#[track_caller]
pub fn values(held: &HeldRun) -> Vec<Value> {
    held.entries::<Value>().unwrap().into_iter().map(|entry| entry.record).collect()
}

/// Every file below a folder with its bytes.
pub fn bytes_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(bytes_below(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    found
}
