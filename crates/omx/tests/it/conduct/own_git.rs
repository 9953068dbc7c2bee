//! omx's own calls of git, in a folder that an agent writes to: they execute nothing that
//! the agent wrote, and work on nothing but the run's branch.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::kit::Repository;
use super::scenario::{ralph_scenario, run, write};

pub fn repository(actions: &str) -> Repository {
    let mut repository = Repository::playing(&ralph_scenario(actions));
    repository.check = "true".to_owned();
    repository
}

/// A file that no program that omx starts may make.
fn trap(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("omx-own-git-{}-{name}", std::process::id()))
}

pub fn git(repository: &Repository, args: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    let outcome = repository.project.run_git(&[&identity[..], args].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.stdout
}

pub fn on_branch(repository: &Repository, file: &str) -> String {
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

/// They are the person's own, but the files they look at are the agent's.
#[test]
fn trust_3_1_hooks_and_fsmonitor_of_the_repository_do_not_run_at_omxs_own_calls() {
    let trap = trap("own-calls");
    let repository = repository(&write("work.txt", "done\n"));
    let script = format!("#!/bin/sh\necho \"$0\" >> '{}'\n", trap.display());
    let names = ["pre-commit", "post-commit", "post-checkout", "post-index-change"];
    for name in names.iter().chain(&["reference-transaction", "fsmonitor"]) {
        let path = repository.project.write(&format!(".git/hooks/{name}"), &script);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let monitor = repository.project.root().join(".git/hooks/fsmonitor");
    git(&repository, &["config", "core.fsmonitor", monitor.to_str().unwrap()]);
    let outcome = repository.run("ralph", &["--allow", "edits", "make work.txt"]);
    assert_not_sprung(&trap);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
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

/// Puts a script in front of git on the caller's `PATH`, and returns that `PATH`.
pub fn git_after(repository: &Repository, script: &str) -> String {
    let bin = repository.project.folder().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut folders = std::env::split_paths(&path);
    let real = folders.find_map(|folder| Some(folder.join("git")).filter(|git| git.is_file()));
    let text = format!("#!/bin/sh\n{script}\nexec '{}' \"$@\"\n", real.unwrap().display());
    fs::write(bin.join("git"), text).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", bin.display())
}

#[test]
fn trust_3_2_a_variable_of_the_caller_reaches_no_git_check_hook_log_or_journal() {
    for (config, count) in [("", 0), ("[environment]\npass = \"CANARY\"\n", 4)] {
        let mut repository = repository(&run("env > agent-saw; echo done > work.txt"));
        let seen = repository.project.folder().join("seen");
        fs::create_dir(&seen).unwrap();
        let see = |what: &str| format!("env >> '{}'", seen.join(what).display());
        repository.check = "env > check-saw".to_owned();
        let hook = format!("#!/bin/sh\n{}\n", see("hook"));
        let hook = repository.project.write(".git/hooks/post-merge", hook);
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
        let file = repository.project.folder().join("config.toml");
        fs::write(&file, config).unwrap();
        let path = git_after(&repository, &see("git"));
        let with_canary = |mut command: std::process::Command| {
            command.env("CANARY", "tweet").env("OMX_CONFIG", &file).env("PATH", &path);
            let outcome = omx_testkit::CommandOutcome::from(command.output().unwrap());
            assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        };
        with_canary(repository.command("ralph", &["make work.txt"]));
        with_canary(repository.project.omx_command(&["runs", "integrate"]));
        let told = |what: &str| fs::read_to_string(seen.join(what)).unwrap().contains("tweet");
        let folder = repository.project.root().join(".omx/worktrees/run").join(repository.id());
        let check = fs::read_to_string(folder.join("check-saw")).unwrap().contains("tweet");
        let agent = on_branch(&repository, "agent-saw").contains("tweet");
        let told = [told("git"), check, told("hook"), agent];
        assert_eq!(told.iter().filter(|told| **told).count(), count, "{told:?}");
        if count == 0 {
            let all = repository.project.bytes(".omx");
            let leak = all.iter().find(|(_, bytes)| bytes.windows(5).any(|it| it == b"tweet"));
            assert_eq!(leak.map(|(path, _)| path), None);
        }
    }
}

/// A run whose work a commit hook of the project rejects, and whose next step fixes it.
fn rejected_by_hook(allow: &str) -> (Repository, omx_testkit::CommandOutcome) {
    let fix = "[[entry]]\nrole = \"debugger\"\nmatch = \"lint: bad.txt\"\nrequired = false\ndo = [\n\
        { run = { command = \"rm bad.txt\" } },\n\
        { result = { summary = \"fixed\", changed_files = [], commands = [], done = true } },\n]\n";
    let scenario = ralph_scenario(&(write("work.txt", "done\n") + &write("bad.txt", "bad\n")));
    let mut repository = Repository::playing(&format!("{fix}{scenario}"));
    repository.check = "true".to_owned();
    let hook = "#!/bin/sh\nif git diff --cached --name-only | grep bad; then echo lint: bad.txt; exit 1; fi\n\
                echo formatted > format.txt\n";
    let hook = repository.project.write(".git/hooks/pre-commit", hook);
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = repository.run("ralph", &["--allow", allow, "make work.txt"]);
    (repository, outcome)
}

#[test]
fn surface_5_5_a_failing_commit_hook_is_a_failing_check() {
    let (repository, outcome) = rejected_by_hook("commands");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let branch = format!("omx-run/{}", repository.id());
    let files = git(&repository, &["diff", "--name-only", "main", &branch]);
    assert_eq!(files, "format.txt\nwork.txt\n");
    let failed = repository
        .journal()
        .into_iter()
        .find(|record| record["step"] == "check1" && record["kind"] == "step_finished");
    let result = failed.unwrap()["result"].clone();
    assert_eq!((&result["command"], &result["exit_code"]), (&"true".into(), &1.into()));
    assert!(
        result["output"].as_str().unwrap().contains("the git hook pre-commit failed"),
        "{result}"
    );
}

#[test]
fn trust_3_1_under_edits_no_commit_hook_runs() {
    let (repository, outcome) = rejected_by_hook("edits");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let branch = format!("omx-run/{}", repository.id());
    let files = git(&repository, &["diff", "--name-only", "main", &branch]);
    assert_eq!(files, "bad.txt\nwork.txt\n");
}
