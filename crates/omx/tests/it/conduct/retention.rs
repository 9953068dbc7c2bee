//! Old runs are removed, but never work that exists nowhere else.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::kit::{Repository, quick_scenario};
use super::scenario::{ralph_scenario, run};

struct OldRuns {
    repository: Repository,
}

impl OldRuns {
    fn new() -> Self {
        // Each run makes a file of its own.
        let make = run("date +%N > $(cat /proc/sys/kernel/random/uuid)");
        let mut repository = Repository::playing(&ralph_scenario(&make));
        repository.check = "true".to_owned();
        Self { repository }
    }

    /// A whole run; its id.
    fn run(&self) -> String {
        let outcome =
            self.repository.run("ralph", &["--json", "--verify", "standard", "make a file"]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let first: Value = serde_json::from_str(outcome.stdout.lines().next().unwrap()).unwrap();
        first["id"].as_str().unwrap().to_owned()
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.repository.project.root().join(".omx/runs").join(id)
    }

    fn worktree(&self, id: &str) -> PathBuf {
        self.repository.project.root().join(".omx/worktrees/run").join(id)
    }

    /// Makes a run's journal very old.
    fn age(&self, id: &str) {
        self.age_to(id, "2020-02-02T02:02:02.020Z");
    }

    /// Dates a run's whole journal to this moment.
    fn age_to(&self, id: &str, moment: &str) {
        let journal = self.folder(id).join("journal.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        let line = |line: &str| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            entry["at"] = Value::from(moment);
            format!("{entry}\n")
        };
        fs::write(journal, text.lines().map(line).collect::<String>()).unwrap();
    }

    fn merge(&self, id: &str) {
        let merged = self.repository.project.omx(&["runs", "integrate", id]);
        assert_eq!(merged.code, Some(0), "{merged:?}");
    }

    fn gc(&self) -> Value {
        self.repository.project.omx(&["runs", "gc", "--json"]).ok()
    }

    fn is_there(&self, id: &str) -> (bool, bool, bool) {
        let documents = self.repository.project.session(id, "ralph-state.json");
        (self.folder(id).exists(), documents.exists(), self.worktree(id).exists())
    }

    fn branches(&self) -> String {
        self.repository.project.run_git(&["branch", "--list", "omx-run/*"]).stdout
    }
}

#[test]
fn r12_gc_removes_old_clean_merged_runs_and_names_the_rest() {
    let old = OldRuns::new();
    let ids: Vec<String> = (0..6).map(|_| old.run()).collect();
    let [merged, dirty, unmerged, locked, missing, young] = &ids[..] else { unreachable!() };
    for id in [merged, dirty, locked, missing, young] {
        old.merge(id);
    }
    fs::write(old.worktree(dirty).join("thought.txt"), "not in git\n").unwrap();
    old.repository.project.run_git(&["worktree", "lock", old.worktree(locked).to_str().unwrap()]);
    fs::remove_dir_all(old.worktree(missing)).unwrap();
    for id in [merged, dirty, unmerged, locked, missing] {
        old.age(id);
    }
    let swept = old.gc();
    assert_eq!(swept["removed"], serde_json::json!([merged, missing]));
    assert_eq!(swept["worktrees"], serde_json::json!([merged, young]));
    let kept: Vec<(&str, &str)> = swept["kept"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kept| (kept["id"].as_str().unwrap(), kept["why"].as_str().unwrap()))
        .collect();
    let expected = [
        (dirty.as_str(), "uncommitted: thought.txt"),
        (unmerged, "its commits are not in the branch you are on"),
        (locked, "it is locked"),
    ];
    assert_eq!(kept, expected);
    assert_eq!(old.is_there(merged), (false, false, false));
    assert_eq!(old.is_there(missing), (false, false, false));
    assert_eq!(old.is_there(young), (true, true, false));
    for id in [dirty, unmerged, locked] {
        assert_eq!(old.is_there(id), (true, true, true), "{id}");
        assert!(old.branches().contains(id.as_str()), "{id}");
    }
    for id in [merged, missing, young] {
        assert!(!old.branches().contains(id.as_str()), "{id}");
    }
    let thought = fs::read_to_string(old.worktree(dirty).join("thought.txt")).unwrap();
    assert_eq!(thought, "not in git\n");
    // Again: nothing more is removed, and the text output agrees.
    let again = old.repository.project.omx(&["runs", "gc"]);
    assert!(again.stdout.starts_with("Nothing to remove.\nkept: "), "{again:?}");
    assert_eq!(again.stdout.lines().count(), 4, "{again:?}");
}

#[test]
fn conductor_7_resumable_runs_are_never_removed() {
    let repository = Repository::playing(&quick_scenario());
    let outcome = repository.run("autopilot", &["--budget-tokens", "5000", "greet people by name"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let old = OldRuns { repository };
    let id = old.repository.id();
    old.age(&id);
    let swept = old.gc();
    assert_eq!(swept["removed"], serde_json::json!([]));
    assert_eq!(swept["worktrees"], serde_json::json!([]));
    assert!(old.folder(&id).exists() && old.worktree(&id).exists());
    let project = &old.repository.project;
    let raised = project.omx(&["runs", "limit", &id, "--budget-tokens", "1000000"]);
    assert_eq!(raised.code, Some(0), "{raised:?}");
    let outcome = old.repository.resume(&[]);
    old.repository.assert_complete(&outcome);
}

#[test]
fn conductor_7_retention_is_configured_and_gc_runs_by_itself_once_a_day() {
    let old = OldRuns::new();
    let first = old.run();
    old.merge(&first);
    let stamp = old.repository.project.root().join(".omx/runs/.swept");
    assert!(stamp.exists(), "the first start looks for old runs");
    // The next start on the same day does not.
    old.age(&first);
    let second = old.run();
    assert!(old.folder(&first).exists());
    // A day later it does.
    fs::write(&stamp, "2020-02-02T02:02:02.020Z\n").unwrap();
    let third = old.run();
    assert_eq!(old.is_there(&first), (false, false, false));
    assert_eq!(old.is_there(&second), (true, true, true));
    assert_eq!(old.is_there(&third), (true, true, true));
    assert!(!fs::read_to_string(&stamp).unwrap().starts_with("2020"));
    // An unreadable timestamp is no reason to fail.
    fs::write(&stamp, "\u{0}garbage").unwrap();
    old.merge(&second);
    old.merge(&third);
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let ten_days_ago = i64::try_from(since_1970.as_millis()).unwrap() - 10 * 86_400_000;
    let ten_days_ago = omx_kernel::Timestamp::from_millis(ten_days_ago).to_string();
    old.age_to(&second, &ten_days_ago);
    let fourth = old.run();
    assert_eq!(old.is_there(&second), (true, true, false), "ten of thirty days");
    let set = old.repository.project.omx(&["config", "set", "retention", "7d"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    assert_eq!(old.gc()["removed"], serde_json::json!([second]));
    assert_eq!(old.is_there(&third), (true, true, false));
    assert_eq!(old.is_there(&fourth), (true, true, true));
}
