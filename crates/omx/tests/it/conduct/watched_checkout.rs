//! Runs that nothing confines: the person's checkout is compared after every step, and a
//! change stops the run and is named (trust.md 3.0).

use omx_testkit::CommandOutcome;

use super::kit::Repository;
use super::own_git::{git, repository};
use super::scenario::{run, write};

const UNCONFINED: [&str; 3] = ["--config", "sandbox=off", "make work.txt"];

/// A run whose builder runs this command. `ROOT` is the checkout.
fn unconfined(command: &str) -> Repository {
    // A path that the scenario can name before the project exists.
    let mut repository = repository(&run(&format!("echo done > work.txt; sh {SCRIPT}")));
    let root = repository.project.root().to_str().unwrap().to_owned();
    let script = repository.project.folder().join("attack.sh");
    std::fs::write(&script, command.replace("ROOT", &root)).unwrap();
    let scenario = repository.project.folder().join("scenario.toml");
    let text = std::fs::read_to_string(&scenario).unwrap();
    std::fs::write(&scenario, text.replace(SCRIPT, script.to_str().unwrap())).unwrap();
    repository.check = "true".to_owned();
    repository.project.write("README.md", "half a sentence\n");
    repository.project.write("notes.txt", "not in git\n");
    repository
}

const SCRIPT: &str = "ATTACK-SCRIPT";

fn printed(outcome: &CommandOutcome) -> String {
    format!("{}{}", outcome.stdout, outcome.stderr)
}

/// Runs it, and asserts that it was stopped and all of this was named.
#[track_caller]
fn assert_stopped(command: &str, named: &[&str]) -> Repository {
    let repository = unconfined(command);
    let outcome = repository.run("ralph", &UNCONFINED);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    let text = printed(&outcome);
    assert!(text.contains("your checkout"), "{outcome:#?}");
    for name in named {
        assert!(text.contains(name), "{name} is missing: {outcome:#?}");
    }
    let finished = repository.journal().into_iter().any(|record| record["kind"] == "step_finished");
    assert!(!finished, "{:#?}", repository.journal());
    repository
}

#[test]
fn trust_3_0_unconfined_changed_files_of_the_checkout_stop_the_run() {
    let repository = assert_stopped(
        "echo evil > ROOT/README.md; echo evil >> ROOT/notes.txt; rm ROOT/check.sh; echo x > ROOT/new",
        &["\"README.md\"", "\"notes.txt\"", "\"check.sh\"", "\"new\""],
    );
    // The person has looked; what is there now is what counts.
    let script = repository.project.folder().join("attack.sh");
    std::fs::write(script, "").unwrap();
    let resumed = repository.resume(&["--config", "sandbox=off"]);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
}

#[test]
fn trust_3_0_unconfined_moved_branches_stashes_and_head_stop_the_run() {
    assert_stopped(
        "cd ROOT; export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@localhost GIT_COMMITTER_NAME=t \
         GIT_COMMITTER_EMAIL=t@localhost; git tag evil; git stash -qu; git commit -q --allow-empty -m evil; \
         git checkout -qb other",
        &[
            "HEAD is at other, and was at main",
            "refs/heads/main moved",
            "refs/stash is new",
            "refs/tags/evil is new",
        ],
    );
}

#[test]
fn trust_3_0_unconfined_changed_settings_and_hooks_stop_the_run() {
    assert_stopped(
        "cd ROOT; git config remote.origin.url https://evil.invalid/; echo x > .git/hooks/post-checkout",
        &["remote.origin.url", "the hook post-checkout is new"],
    );
}

#[test]
fn trust_3_0_unconfined_a_push_that_happened_is_named() {
    let repository = unconfined(
        "cd ROOT; git push -q origin HEAD:evil; git push -q https://localhost:1/x HEAD:x",
    );
    let remote = repository.project.folder().join("remote.git");
    let remote = remote.to_str().unwrap();
    git(&repository, &["init", "-q", "--bare", remote]);
    git(&repository, &["remote", "add", "origin", remote]);
    let outcome = repository.run("ralph", &UNCONFINED);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(printed(&outcome).contains("a push changed \"origin/evil\""), "{outcome:#?}");
}

/// People fetch while a run works, and so do their editors.
#[test]
fn trust_3_0_unconfined_a_fetch_does_not_stop_the_run() {
    let repository = unconfined("cd ROOT; git fetch -q origin");
    let remote = repository.project.folder().join("remote.git");
    let remote = remote.to_str().unwrap();
    git(&repository, &["clone", "-q", "--bare", ".", remote]);
    git(&repository, &["remote", "add", "origin", remote]);
    let outcome = repository.run("ralph", &UNCONFINED);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(git(&repository, &["branch", "-r"]).contains("origin/main"));
}

/// With everything allowed, the change is named and the run goes on.
#[test]
fn trust_3_0_with_everything_allowed_a_changed_checkout_is_named() {
    let repository = unconfined("echo evil > ROOT/README.md");
    let outcome = repository.run("ralph", &["--allow", "all", "make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let shown = repository.project.omx(&["runs", "show"]).stdout;
    for text in [printed(&outcome), shown] {
        assert_eq!(text.matches("files changed: \"README.md\"").count(), 1, "{text}");
    }
}

/// In place, files are the work, but branches, settings and hooks are not.
#[test]
fn trust_3_0_in_place_a_moved_branch_stops_the_run() {
    let commit = "git -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m own";
    let repository = repository(&(write("work.txt", "done\n") + &run(commit)));
    let outcome = repository.run("ralph", &["--in-place", "make work.txt"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(printed(&outcome).contains("refs/heads/main moved"), "{outcome:#?}");

    let repository = super::own_git::repository(&write("work.txt", "done\n"));
    let outcome = repository.run("ralph", &["--in-place", "make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
}
