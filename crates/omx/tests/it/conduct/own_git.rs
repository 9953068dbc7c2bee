//! omx's own calls of git, in a folder that an agent writes to: they execute nothing that
//! the agent wrote, and work on nothing but the run's branch.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::kit::Repository;

/// A ralph whose builder does this.
fn scenario_of(actions: &str) -> String {
    format!(
        r#"
[[entry]]
role = "executor"
phase = "executing"
times = 1
do = [
{actions}
  {{ result = {{ summary = "built it", changed_files = ["work.txt"], commands = [], done = true }} }},
]

[[entry]]
role = "executor"
required = false
do = [{{ result = {{ summary = "tidy", changed_files = [], commands = [], done = true }} }}]

[[entry]]
required = false
do = [{{ result = {{ passed = true, findings = [], checks = [{{ name = "read", evidence = "read it" }}] }} }}]
"#
    )
}

fn write(path: &str, content: &str) -> String {
    format!("  {{ write = {{ path = {path:?}, content = {content:?} }} }},\n")
}

fn run(command: &str) -> String {
    format!("  {{ run = {{ command = {command:?} }} }},\n")
}

fn repository(actions: &str) -> Repository {
    let mut repository = Repository::playing(&scenario_of(actions));
    repository.check = "true".to_owned();
    repository
}

/// A file that no program that omx starts may make.
fn trap(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("omx-own-git-{}-{name}", std::process::id()))
}

fn git(repository: &Repository, args: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    let outcome = repository.project.run_git(&[&identity[..], args].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.stdout
}

fn on_branch(repository: &Repository, file: &str) -> String {
    git(repository, &["show", &format!("omx-run/{}:{file}", repository.id())])
}

#[track_caller]
fn assert_not_sprung(trap: &Path) {
    let sprung = fs::read_to_string(trap).ok();
    let _ = fs::remove_file(trap);
    assert_eq!(sprung, None, "git executed what the agent wrote");
}

#[test]
fn trust_3_1_an_edited_hook_in_the_tree_does_not_run_at_the_commit() {
    let trap = trap("husky");
    let hook = format!("#!/bin/sh\nenv > '{}'\n", trap.display());
    let actions = write(".husky/pre-commit", &hook) + &write("work.txt", "done\n");
    let repository = repository(&actions);
    let path = repository.project.write(".husky/pre-commit", "#!/bin/sh\nexit 0\n");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    git(&repository, &["config", "core.hooksPath", ".husky"]);
    git(&repository, &["add", "-A"]);
    git(&repository, &["commit", "-qm", "hooks"]);
    let outcome = repository.run("ralph", &["--allow", "edits", "make work.txt"]);
    assert_not_sprung(&trap);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
    // The edit itself is work like any other.
    assert_eq!(on_branch(&repository, ".husky/pre-commit"), hook);
}

#[test]
fn trust_3_1_a_rewritten_pointer_decides_nothing() {
    let trap = trap("pointer");
    // A copy of the worktree's folder in the repository, with a filter of its own.
    let script = format!(
        "d=$(sed 's/^gitdir: //' .git) && mkdir evil && cp -r \"$d\"/. evil && \
         {{ test -e evil/commondir && (cd \"$d\" && cd \"$(cat commondir)\" && pwd) > evil/commondir; true; }} && \
         git --git-dir=evil --work-tree=. config --file evil/config.worktree x.y z; \
         printf '[core]\\n\\trepositoryformatversion = 1\\n[extensions]\\n\\tworktreeConfig = true\\n' > /dev/null; \
         printf '[filter \"x\"]\\n\\tclean = sh -c \"echo ran > {trap}; cat\"\\n' >> evil/config; \
         printf '[filter \"x\"]\\n\\tclean = sh -c \"echo ran > {trap}; cat\"\\n' > evil/config.worktree; \
         echo 'gitdir: evil' > .git; echo '*.txt filter=x' > .gitattributes; echo done > work.txt",
        trap = trap.display()
    );
    let repository = repository(&run(&script));
    git(&repository, &["config", "extensions.worktreeConfig", "true"]);
    let before = repository.checkout();
    let outcome = repository.run("ralph", &["--allow", "commands", "make work.txt"]);
    assert_not_sprung(&trap);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
    assert_eq!(repository.checkout(), before);
}

#[test]
fn trust_3_1_a_removed_pointer_does_not_lead_to_the_persons_checkout() {
    let repository = repository(&run("rm -rf .git; echo done > work.txt"));
    let before = repository.checkout();
    let main = git(&repository, &["rev-parse", "main"]);
    let outcome = repository.run("ralph", &["--allow", "commands", "make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
    assert_eq!(repository.checkout(), before);
    assert_eq!(git(&repository, &["rev-parse", "main"]), main);
}

#[test]
fn trust_3_1_an_edited_configuration_of_a_run_in_place_is_named_and_git_is_not_called() {
    let trap = trap("in-place");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\
         [filter \"x\"]\n\tclean = sh -c \"echo ran > {}; cat\"\n",
        trap.display()
    );
    let actions = write(".git/config", &config)
        + &write(".gitattributes", "* filter=x\n")
        + &write("work.txt", "done\n");
    let repository = repository(&actions);
    let outcome = repository.run("ralph", &["--allow", "edits", "--in-place", "make work.txt"]);
    assert_not_sprung(&trap);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.stdout.contains("configuration of the repository changed"), "{outcome:#?}");
    assert!(outcome.stdout.contains("filter.x.clean"), "{outcome:#?}");
}

#[test]
fn trust_3_1_an_integration_names_what_changed_in_the_repository() {
    let repository = repository(&write("work.txt", "done\n"));
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let trap = trap("planted");
    let hook = repository
        .project
        .write(".git/hooks/post-merge", format!("#!/bin/sh\necho ran > '{}'\n", trap.display()));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = repository.project.omx(&["runs", "integrate"]);
    assert_not_sprung(&trap);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("the hook post-merge is new"), "{refused:?}");
    fs::remove_file(hook).unwrap();
    // What people change beside a run does not matter.
    git(&repository, &["config", "branch.main.remote", "origin"]);
    let merged = repository.project.omx(&["runs", "integrate"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
}

#[test]
fn trust_3_0b_a_repository_inside_the_workspace_is_refused_and_named() {
    let trap = trap("nested");
    let script = format!(
        "mkdir sub && cd sub && git init -q && echo x > a.txt && echo '* filter=x' > .gitattributes && \
         git -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m x && \
         git config core.fsmonitor 'sh -c \"echo ran > {trap}\"' && \
         git config filter.x.clean 'sh -c \"echo ran > {trap}; cat\"'",
        trap = trap.display()
    );
    let repository = repository(&run(&script));
    let outcome = repository.run("ralph", &["--allow", "commands", "make work.txt"]);
    assert_not_sprung(&trap);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.stdout.contains("repository of its own in \"sub\""), "{outcome:#?}");
    // Without it, the run goes on.
    let sub =
        repository.project.root().join(".omx/worktrees/run").join(repository.id()).join("sub");
    fs::remove_dir_all(sub.join(".git")).unwrap();
    fs::remove_file(sub.join(".gitattributes")).unwrap();
    let resumed = repository.resume(&[]);
    assert_not_sprung(&trap);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    assert_eq!(on_branch(&repository, "sub/a.txt"), "x\n");
}

#[test]
fn trust_3_1_a_filter_that_omx_does_not_know_is_not_applied_and_named() {
    let repository = repository(&write("work.txt", "done\n"));
    let trap = trap("filter");
    let clean = format!("sh -c 'echo ran > {}; tr a-z A-Z'", trap.display());
    git(&repository, &["config", "filter.x.clean", &clean]);
    repository.project.write(".gitattributes", "*.txt filter=x\n");
    git(&repository, &["add", ".gitattributes"]);
    git(&repository, &["commit", "-qm", "attributes"]);
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_not_sprung(&trap);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stderr.contains("the git filter \"x\" is not applied"), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
}
