//! What omx's own git and the project's hooks start in the worktree: it is confined like the
//! agent (trust.md 3.0a).

use std::fs;

use omx_testkit::{CommandOutcome, write_program};

use super::kit::Repository;
use super::own_git::{git, on_branch, repository};
use super::scenario::write;

/// Makes a program the first of its name on `PATH`, and returns that `PATH`.
fn path_with(repository: &Repository, name: &str, script: &str) -> String {
    let bin = repository.project.folder().join("bin");
    fs::create_dir_all(&bin).unwrap();
    write_program(&bin.join(name), script);
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// git-lfs is a program that omx lets git start.
#[test]
fn trust_3_0a_what_omxs_own_git_starts_changes_nothing_outside() {
    let repository = repository(&write("work.txt", "done\n"));
    let (root, home) = (repository.project.root(), repository.project.home());
    let script = format!(
        "#!/bin/sh\necho x > '{}'; echo x > '{}'; echo x > '{}'; tr a-z A-Z\n",
        home.join("planted").display(),
        root.join("planted").display(),
        root.join(".git/hooks/post-merge").display(),
    );
    let path = path_with(&repository, "git-lfs", &script);
    git(&repository, &["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
    repository.project.write(".gitattributes", "work.txt filter=lfs\n");
    git(&repository, &["add", ".gitattributes"]);
    git(&repository, &["commit", "-qm", "attributes"]);
    let mut command = repository.command("ralph", &["make work.txt"]);
    let outcome = CommandOutcome::from(command.env("PATH", path).output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    // The filter ran, and did what a filter is for.
    assert_eq!(on_branch(&repository, "work.txt"), "DONE\n");
    for planted in [home.join("planted"), root.join("planted"), root.join(".git/hooks/post-merge")]
    {
        assert!(!planted.exists(), "{}", planted.display());
    }
}

/// A commit hook runs what the agent wrote, as part of the check.
#[test]
fn trust_3_0a_a_commit_hook_may_do_no_more_than_the_agent() {
    let attack = "echo x > $HOME/planted; echo x > ROOT/planted; echo hooked > hooked.txt\n";
    let repository = repository(&write("lint.sh", "true\n"));
    let root = repository.project.root();
    let attack = attack.replace("ROOT", root.to_str().unwrap());
    let scenario = repository.project.folder().join("scenario.toml");
    let text = fs::read_to_string(&scenario).unwrap();
    fs::write(&scenario, text.replace("\"true\\n\"", &format!("{attack:?}"))).unwrap();
    write_program(&root.join(".git/hooks/pre-commit"), "#!/bin/sh\nsh lint.sh; true\n");
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "hooked.txt"), "hooked\n");
    assert!(!repository.project.home().join("planted").exists());
    assert!(!root.join("planted").exists());
}

/// A merge driver of the person's runs their own script, not the one that the agent edited.
#[test]
fn trust_3_0a_a_merge_driver_executes_nothing_that_the_agent_wrote() {
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n{last}\n");
    let repository = repository(
        &(write("merge.sh", "echo agent > \"$1\"\n")
            + &write("data.txt", &lines("1", "agent"))
            + &write(".gitattributes", "*.txt merge=own\n*.sh merge=own\n")),
    );
    repository.project.write("merge.sh", "echo person > \"$1\"\n");
    repository.project.write("data.txt", lines("1", "7"));
    repository.project.write(".gitattributes", "*.txt merge=own\n");
    git(&repository, &["add", "-A"]);
    git(&repository, &["commit", "-qm", "driver"]);
    git(&repository, &["config", "merge.own.driver", "sh merge.sh %A"]);
    git(&repository, &["config", "user.name", "t"]);
    git(&repository, &["config", "user.email", "t@localhost"]);
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    repository.project.write("data.txt", lines("person", "7"));
    git(&repository, &["commit", "-qam", "meanwhile"]);
    let merged = repository.project.omx(&["runs", "integrate"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    assert_eq!(git(&repository, &["show", "HEAD:data.txt"]), "person\n");
    assert_eq!(git(&repository, &["show", "HEAD:merge.sh"]), "echo agent > \"$1\"\n");
}
