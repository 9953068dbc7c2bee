//! The git directory of an agent: the agent may use git as it likes, and the person's
//! repository sees none of it.

use std::fs;

use super::kit::Repository;
use super::own_git::{git, on_branch, repository};
use super::scenario::{ralph_scenario, run, write};

/// Every reference and setting of the person's, but not the run's branch.
fn persons(repository: &Repository) -> (String, String) {
    let refs = git(repository, &["for-each-ref"]);
    let refs: Vec<&str> =
        refs.lines().filter(|line| !line.contains("refs/heads/omx-run/")).collect();
    (refs.join("\n"), repository.project.read(repository.project.root().join(".git/config")))
}

fn worktree(repository: &Repository) -> std::path::PathBuf {
    repository.project.root().join(".omx/worktrees/run").join(repository.id())
}

#[test]
fn trust_3_0b_an_agent_commits_stashes_switches_and_resets_without_the_person_seeing_it() {
    let script = "git status && git log -1 && git rev-parse main && \
        echo one > one.txt && git add -A && git commit -qm 'my own' && \
        echo two > two.txt && git stash -qu && git stash pop -q && \
        git switch -qc elsewhere && git branch -f main HEAD && git tag mine && \
        git config core.hooksPath /nowhere && git reset -q --soft HEAD~1 && \
        git gc -q && (git push origin HEAD 2>&1 | grep -q \"does not appear\") && \
        echo done > work.txt";
    let repository = repository(&run(script));
    git(&repository, &["config", "user.name", "A Person"]);
    git(&repository, &["config", "user.email", "person@example.com"]);
    git(&repository, &["remote", "add", "origin", "/nowhere/at/all"]);
    let before = persons(&repository);
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(persons(&repository), before);
    for (file, text) in [("work.txt", "done\n"), ("one.txt", "one\n"), ("two.txt", "two\n")] {
        assert_eq!(on_branch(&repository, file), text);
    }
    let log =
        git(&repository, &["log", "--format=%s", &format!("main..omx-run/{}", repository.id())]);
    assert_eq!(log, "built it\n", "only omx commits");
    // Whoever looks into the worktree afterwards, for example a shell's prompt, is in the
    // person's repository.
    let pointer = fs::read_to_string(worktree(&repository).join(".git")).unwrap();
    assert!(pointer.contains("/.git/worktrees/"), "{pointer}");

    git(&repository, &["worktree", "prune"]);
    assert!(worktree(&repository).exists());
    let merged = repository.project.omx(&["runs", "integrate"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let collected = repository.project.omx(&["runs", "gc"]);
    assert_eq!(collected.code, Some(0), "{collected:?}");
    assert!(!worktree(&repository).exists(), "{collected:?}");
}

#[test]
fn trust_3_0b_the_pointer_is_restored_after_a_turn_and_the_change_is_named() {
    let repository = repository(&run("rm .git; git init -q .; echo done > work.txt"));
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let text = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(text.contains("the file .git of the workspace was changed"), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
    let pointer = fs::read_to_string(worktree(&repository).join(".git")).unwrap();
    assert!(pointer.contains("/.git/worktrees/"), "{pointer}");
}

#[test]
fn trust_3_0b_a_run_that_is_killed_while_its_agent_uses_git_is_resumed_or_discarded() {
    let scenario = ralph_scenario(&(write("work.txt", "done\n") + &run("git add -A && sleep 60")));
    let mut repository = Repository::playing(&scenario);
    repository.check = "true".to_owned();
    let mut running = repository.start("ralph", &["make work.txt"]);
    let index = || {
        let path = repository.run_folder().join("git/index");
        fs::read(path).is_ok_and(|bytes| bytes.windows(8).any(|name| name == b"work.txt"))
    };
    omx_testkit::await_condition("the agent staged it", super::kit::DEADLINE, index);
    running.signal(rustix::process::Signal::KILL);
    running.code();
    repository.await_nobody();
    let id = repository.id();
    let refused = repository.project.omx(&["runs", "discard", &id]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("work.txt"), "{refused:?}");
    let discarded = repository.project.omx(&["runs", "discard", &id, "--force"]);
    assert_eq!(discarded.code, Some(0), "{discarded:?}");
    assert!(!repository.project.root().join(".omx/worktrees/run").join(&id).exists());
    assert_eq!(git(&repository, &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn trust_3_7_secrets_large_files_and_build_outputs_are_named_and_not_committed() {
    let script = "echo done > work.txt; echo KEY=1 > .env; mkdir __pycache__; \
        echo x > __pycache__/a.pyc; head -c 6000000 /dev/zero > big.bin; echo x > .env.example";
    let repository = repository(&run(script));
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let branch = format!("omx-run/{}", repository.id());
    let files = git(&repository, &["diff", "--name-only", "main", &branch]);
    assert_eq!(files, ".env.example\nwork.txt\n");
    let text = format!("{}{}", outcome.stdout, outcome.stderr);
    let shown = repository.project.omx(&["runs", "show"]).stdout;
    for text in [text, shown] {
        for word in ["not committed", "\".env\"", "\"big.bin\" (6 MB)", "__pycache__"] {
            assert!(text.contains(word), "{word} is missing: {text}");
        }
    }
    assert!(worktree(&repository).join(".env").exists(), "they stay where they are");
}

#[test]
fn trust_3_7_the_edits_of_a_verifier_are_undone_and_named() {
    let scenario = ralph_scenario(&write("work.txt", "done\n")).replace(
        "[[entry]]\nrequired = false\ndo = [{ result = { passed",
        "[[entry]]\nrole = \"verifier\"\ntimes = 1\ndo = [\n\
         { write = { path = \"work.txt\", content = \"edited\\n\" } },\n\
         { write = { path = \"new.txt\", content = \"new\\n\" } },\n\
         { result = { passed = true, findings = [], checks = [{ name = \"read\", evidence = \"read it\" }] } },\n]\n\n\
         [[entry]]\nrequired = false\ndo = [{ result = { passed",
    );
    let mut repository = Repository::playing(&scenario);
    repository.check = "true".to_owned();
    // The sandbox would refuse the edits in the first place.
    let outcome = repository.run("ralph", &["--config", "sandbox=off", "make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
    let branch = format!("omx-run/{}", repository.id());
    assert_eq!(git(&repository, &["diff", "--name-only", "main", &branch]), "work.txt\n");
    let shown = repository.project.omx(&["runs", "show"]).stdout;
    assert!(shown.contains("it only reads, but it changed 2 files"), "{shown}");
    assert_eq!(fs::read_to_string(worktree(&repository).join("work.txt")).unwrap(), "done\n");
}
