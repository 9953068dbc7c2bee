//! What a resumed run says about its work is in its branch.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::kit::Repository;
use super::own_git::{git, git_after, on_branch};
use super::scenario::{ralph_scenario, run, write};

/// A run whose work is committed and whose verifier needs the person to log in.
fn interrupted() -> Repository {
    let scenario = ralph_scenario(&write("work.txt", "done\n"))
        .replace("times = 1", "times = 2\nrequired = false")
        .replace(
            "[[entry]]\nrequired = false\ndo = [{ result = { passed",
            "[[entry]]\nrole = \"verifier\"\ntimes = 1\ndo = [{ fail = { kind = \"auth\" } }]\n\n\
         [[entry]]\nrequired = false\ndo = [{ result = { passed",
        );
    let mut repository = Repository::playing(&scenario);
    repository.check = "true".to_owned();
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
    repository
}

fn worktree(repository: &Repository) -> PathBuf {
    repository.project.root().join(".omx/worktrees/run").join(repository.id())
}

/// Forgets the run's commit.
fn reset(repository: &Repository) {
    let path = worktree(repository);
    git(repository, &["-C", path.to_str().unwrap(), "reset", "-q", "--hard", "main"]);
}

#[test]
fn trust_5_1_a_commit_that_is_gone_is_asked_about_and_the_step_can_be_rerun() {
    let repository = interrupted();
    reset(&repository);
    let asked = repository.resume(&[]);
    assert_eq!(asked.code, Some(3), "{asked:#?}");
    assert!(
        asked.stdout.contains("the work of step work is not what the journal says"),
        "{asked:#?}"
    );
    assert!(asked.stdout.contains("decide work=rerun"), "{asked:#?}");
    assert!(asked.stdout.contains("decide work=adopt"), "{asked:#?}");
    // Asking changes nothing.
    assert_eq!(repository.resume(&[]).code, Some(3));
    let rerun = repository.resume(&["--decide", "work=rerun"]);
    assert_eq!(rerun.code, Some(0), "{rerun:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
}

#[test]
fn trust_5_1_a_deleted_worktree_and_branch_are_asked_about_and_can_be_adopted() {
    let repository = interrupted();
    let path = worktree(&repository);
    git(&repository, &["worktree", "remove", "--force", path.to_str().unwrap()]);
    git(&repository, &["branch", "-qD", &format!("omx-run/{}", repository.id())]);
    let asked = repository.resume(&[]);
    assert_eq!(asked.code, Some(3), "{asked:#?}");
    assert!(asked.stdout.contains("is not in the branch"), "{asked:#?}");
    let adopted = repository.resume(&["--decide", "work=adopt"]);
    assert_eq!(adopted.code, Some(0), "{adopted:#?}");
    let shown = repository.project.omx(&["runs", "show"]).stdout;
    assert!(shown.contains("the workspace was accepted as it is"), "{shown}");
}

/// Nothing was under way, so nobody but the finished step can have written the files.
#[test]
fn trust_5_1_a_changed_workspace_is_asked_about() {
    let mut repository = Repository::playing(&ralph_scenario(&write("work.txt", "done\n")));
    repository.check = "grep good work.txt".to_owned();
    let outcome = repository.run("ralph", &["--max-iterations", "1", "make work.txt"]);
    assert!(outcome.stdout.contains("max_iterations reached"), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
    let limit = repository.project.omx(&["runs", "limit", &repository.id(), "9"]);
    assert_eq!(limit.code, Some(0), "{limit:?}");
    let path = worktree(&repository).join("work.txt");
    fs::write(&path, "other\n").unwrap();
    let asked = repository.resume(&[]);
    assert_eq!(asked.code, Some(3), "{asked:#?}");
    assert!(asked.stdout.contains("1 files of the workspace differ"), "{asked:#?}");
    assert!(asked.stdout.contains("=adopt"), "{asked:#?}");
    fs::write(&path, "done\n").unwrap();
    let resumed = repository.resume(&[]);
    assert!(resumed.stdout.contains("fix1: "), "{resumed:#?}");
}

/// Whoever did it: a run is complete only with its work in its branch.
#[test]
fn trust_5_1_a_branch_that_lost_the_work_meanwhile_is_not_called_complete() {
    let mut repository = Repository::playing(&ralph_scenario(&write("work.txt", "done\n")));
    let root = repository.project.root();
    repository.check = format!(
        "test -e work.txt && git --git-dir='{0}/.git' for-each-ref --format='%(refname)' \
         refs/heads/omx-run | xargs -I REF git --git-dir='{0}/.git' update-ref REF main",
        root.display()
    );
    let words = ["--config", "sandbox=off", "make work.txt"];
    let outcome = repository.run("ralph", &words);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(!outcome.stdout.contains("complete: "), "{outcome:#?}");
    assert!(outcome.stdout.contains("is not in its branch"), "{outcome:#?}");
}

#[test]
fn trust_5_3_a_lock_of_omxs_own_dead_git_is_removed_and_any_other_is_named() {
    let mut repository = Repository::playing(&ralph_scenario(&write("work.txt", "done\n")));
    repository.check = "true".to_owned();
    // A git that dies once, while it holds the lock of the index.
    // It is confined, so it remembers that in its own directory.
    let script = "case \"$*\" in *' add --all '*) if ! test -e \"$GIT_DIR/died\"; then \
         touch \"$GIT_DIR/died\" \"$GIT_DIR/index.lock\"; \
         printf '{\"event\":\"start\",\"sid\":\"x-H0-P%08x\"}\\n' $$ > \"$GIT_TRACE2_EVENT\"; \
         kill -9 $$; fi;; esac";
    let path = git_after(&repository, script);
    let mut command = repository.command("ralph", &["make work.txt"]);
    command.env("PATH", path);
    let outcome = omx_testkit::CommandOutcome::from(command.output().unwrap());
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    let in_git = |name: &str| {
        let folders = fs::read_dir(repository.project.root().join(".git/worktrees")).unwrap();
        folders.flatten().next().unwrap().path().join(name)
    };
    assert!(in_git("died").exists() && in_git("index.lock").exists(), "{outcome:#?}");
    let resumed = repository.resume(&[]);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    assert!(!in_git("index.lock").exists());
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
}

#[test]
fn trust_5_3_a_lock_of_another_git_is_named() {
    let repository = interrupted();
    let folder = fs::read_dir(repository.project.root().join(".git/worktrees")).unwrap();
    let lock = folder.flatten().next().unwrap().path().join("index.lock");
    fs::write(&lock, "").unwrap();
    let resumed = repository.resume(&[]);
    assert_eq!(resumed.code, Some(1), "{resumed:#?}");
    assert!(resumed.stdout.contains("index.lock"), "{resumed:#?}");
    assert!(lock.exists());
    fs::remove_file(&lock).unwrap();
    assert_eq!(repository.resume(&[]).code, Some(0));
}

/// The check needs a file that git ignores: the branch alone would fail it.
#[test]
fn trust_5_1a_ignored_files_that_are_not_in_the_branch_are_named() {
    let make = "printf 'lib.txt\\ntarget/\\n' > .gitignore; echo 'exit 0' > lib.txt; \
                mkdir -p target/a; touch target/a/1 target/a/2; echo x > .env";
    let mut repository = Repository::playing(&ralph_scenario(&run(make)));
    repository.check = "sh lib.txt".to_owned();
    let outcome = repository.run("ralph", &["make it pass"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let named = "not in the branch (ignored, or left out): \".env\", \"lib.txt\", \"target/\"";
    assert!(outcome.stdout.contains(named), "{outcome:#?}");
    let shown = repository.project.omx(&["runs", "show"]).stdout;
    assert!(shown.contains(named), "{shown}");
    let shown = repository.project.omx(&["runs", "show", "--json"]).ok();
    let expected = serde_json::json!({"files": [".env", "lib.txt", "target/"], "more": 0});
    assert_eq!(shown["not_in_branch"], expected);
    let again = Repository::playing(&ralph_scenario(&run("echo done > work.txt")));
    let outcome = again.run("ralph", &["--json", "--max-iterations", "1", "make work.txt"]);
    let ended: Value = serde_json::from_str(outcome.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(ended["not_in_branch"], serde_json::json!({"files": [], "more": 0}), "{ended:#}");
}
