//! Merging says what it merges, and what a killed start left is found.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use omx_testkit::CommandOutcome;
use rustix::process::geteuid;

use super::kit::Repository;
use super::own_git::git;
use super::scenario::{ralph_scenario, write};

fn complete() -> Repository {
    let mut repository = Repository::playing(&ralph_scenario(&write("work.txt", "done\n")));
    repository.check = "true".to_owned();
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    repository
}

#[test]
fn trust_5_1a_a_run_whose_check_failed_is_not_merged_without_anyway() {
    let mut repository = Repository::playing(&ralph_scenario(&write("work.txt", "done\n")));
    repository.check = "false".to_owned();
    let outcome = repository.run("ralph", &["--max-iterations", "1", "make work.txt"]);
    assert_eq!(outcome.code, Some(5), "{outcome:#?}");
    let refused = repository.project.omx(&["runs", "integrate"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("the last check of run"), "{refused:?}");
    assert!(refused.stderr.contains("--anyway"), "{refused:?}");
    assert!(!repository.project.root().join("work.txt").exists());
    let merged = repository.project.omx(&["runs", "integrate", "--anyway"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    assert!(repository.project.root().join("work.txt").exists());
}

#[test]
fn surface_5_5_uncommitted_work_is_not_called_merged() {
    let repository = complete();
    let worktree = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    assert_eq!(repository.project.omx(&["runs", "integrate"]).code, Some(0));
    fs::write(worktree.join("work.txt"), "more\n").unwrap();
    let again = repository.project.omx(&["runs", "integrate"]);
    assert!(!again.stdout.contains("already contains"), "{again:?}");
    assert!(again.stderr.contains("\"work.txt\""), "{again:?}");
}

#[test]
fn a_complete_run_stays_complete_when_its_branch_is_merged_and_gone() {
    let repository = complete();
    let id = repository.id();
    let journal = repository.project.root().join(".omx/runs").join(&id).join("journal.jsonl");
    assert_eq!(repository.project.omx(&["runs", "integrate"]).code, Some(0));
    assert_eq!(repository.project.omx(&["runs", "gc"]).code, Some(0));
    let recorded = fs::read(&journal).unwrap();
    for words in [&["runs", "resume", &id][..], &["ralph", "--resume", &id]] {
        let resumed = repository.project.omx(words);
        assert_eq!(resumed.code, Some(0), "{resumed:#?}");
        assert!(resumed.stdout.starts_with("complete: "), "{resumed:#?}");
        assert!(resumed.stdout.contains("is gone: it was merged"), "{resumed:#?}");
    }
    let detached = repository.project.omx(&["runs", "resume", &id, "--detach"]);
    assert!(detached.stderr.contains("is complete; there is nothing to resume"), "{detached:#?}");
    assert_eq!(fs::read(&journal).unwrap(), recorded);
    assert_eq!(git(&repository, &["branch", "--list", "omx-run/*"]), "");
    assert!(!repository.project.root().join(".omx/worktrees/run").join(&id).exists());
}

#[test]
fn trust_6_2_escape_codes_of_an_agent_do_not_reach_the_log() {
    let scenario = ralph_scenario(&write("work.txt", "done\n"))
        .replace("summary = \"built it\"", "summary = \"\\u001b[2Jbuilt \\u202eit\"");
    let mut repository = Repository::playing(&scenario);
    repository.check = "true".to_owned();
    assert_eq!(repository.run("ralph", &["make work.txt"]).code, Some(0));
    let branch = format!("omx-run/{}", repository.id());
    assert_eq!(git(&repository, &["log", "-1", "--format=%s", &branch]), "[2Jbuilt it\n");
}

#[test]
fn trust_5_4_what_a_killed_start_leaves_is_found_by_doctor_and_gc() {
    let repository = complete();
    // As if the process was killed between git and the run's folder.
    let lost = "01930000-0000-7000-8000-000000000001";
    let path = repository.project.root().join(".omx/worktrees/run").join(lost);
    let branch = format!("omx-run/{lost}");
    git(&repository, &["worktree", "add", "-q", "-b", &branch, path.to_str().unwrap()]);
    let only_branch = "omx-run/01930000-0000-7000-8000-000000000002";
    git(&repository, &["branch", only_branch]);
    let only_worktree = path.with_file_name("01930000-0000-7000-8000-000000000003");
    let add = ["worktree", "add", "-q", "--detach", only_worktree.to_str().unwrap()];
    git(&repository, &add);
    let doctor = repository.project.omx(&["doctor"]);
    assert!(doctor.stdout.contains(lost), "{doctor:?}");
    assert!(doctor.stdout.contains("01930000-0000-7000-8000-000000000002"), "{doctor:?}");
    assert!(doctor.stdout.contains("01930000-0000-7000-8000-000000000003"), "{doctor:?}");
    assert!(!doctor.stdout.contains("left anything behind"), "{doctor:?}");
    let collected = repository.project.omx(&["runs", "gc"]);
    assert_eq!(collected.code, Some(0), "{collected:?}");
    assert!(!path.exists(), "{collected:?}");
    // It stands on no branch of its own, so nobody knows whose work it holds.
    assert!(collected.stdout.contains("01930000-0000-7000-8000-000000000003"), "{collected:?}");
    let branches = git(&repository, &["branch", "--list", "omx-run/01930000*"]);
    assert_eq!(branches, "");

    // Work that exists nowhere else stays, and is named.
    git(&repository, &["worktree", "add", "-q", "-b", &branch, path.to_str().unwrap()]);
    fs::write(path.join("work"), "x").unwrap();
    let collected = repository.project.omx(&["runs", "gc"]);
    assert!(path.exists() && collected.stdout.contains(lost), "{collected:?}");
}

/// Discards the only run as somebody for whom modes count: root would ignore them.
fn discard(repository: &Repository) -> CommandOutcome {
    let binary = repository.project.binary();
    let mut command = repository.project.command("setpriv");
    if geteuid().is_root() {
        command.arg("--bounding-set=-dac_override,-dac_read_search");
    }
    command.arg(binary).args(["runs", "discard", "--force", &repository.id()]);
    command.current_dir(repository.project.root()).output().unwrap().into()
}

#[test]
fn surface_5_5_a_worktree_with_closed_folders_is_discarded() {
    let repository = complete();
    let worktree = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    let deep = worktree.join("node_modules/a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "x").unwrap();
    // What an agent can write besides its worktree.
    let agents = repository.run_folder().join("git/closed/inner");
    fs::create_dir_all(&agents).unwrap();
    for (path, mode) in
        [(&deep, 0o000), (&worktree.join("node_modules/a"), 0o500), (&agents, 0o000)]
    {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let folder = repository.run_folder();
    let outcome = discard(&repository);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!worktree.exists() && !folder.exists(), "{outcome:?}");
    let listed = git(&repository, &["worktree", "list"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

/// What is mounted in a worktree is not the run's to remove.
#[test]
fn surface_5_5_nothing_is_removed_through_a_mount() {
    let repository = complete();
    git(&repository, &["merge", "--quiet", &format!("omx-run/{}", repository.id())]);
    let worktree = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    let mounted = worktree.join("node_modules/mine");
    fs::create_dir_all(&mounted).unwrap();
    let mine = repository.project.folder().join("my photos");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("photo"), "x").unwrap();
    for words in [&["runs", "gc"][..], &["runs", "discard", &repository.id(), "--force"]] {
        let omx = repository.project.omx_command(words);
        let mut command = repository.project.command("unshare");
        let script = "mount --bind \"$0\" \"$1\" && shift && exec \"$@\"";
        command.args(["--map-root-user", "--mount", "sh", "-c", script]).args([&mine, &mounted]);
        command.arg(omx.get_program()).args(omx.get_args());
        let outcome = CommandOutcome::from(command.output().unwrap());
        let words = format!("a file system is mounted at {}", mounted.display());
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(said.contains(&words), "{outcome:?}");
        assert!(mine.join("photo").exists() && worktree.join("work.txt").exists(), "{outcome:?}");
    }
    let outcome = discard(&repository);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!worktree.exists(), "{outcome:?}");
}

/// An agent that works in place can put a link where another run's worktree was.
#[test]
fn surface_5_5_nothing_is_removed_through_a_link() {
    let repository = complete();
    let project = &repository.project;
    git(&repository, &["merge", "--quiet", &format!("omx-run/{}", repository.id())]);
    let worktree = project.root().join(".omx/worktrees/run").join(repository.id());
    let mine = project.folder().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("photo"), "x").unwrap();
    fs::remove_dir_all(&worktree).unwrap();
    // To a folder of the person, and to the checkout, which is clean and merged.
    for target in [&mine, &project.root()] {
        symlink(target, &worktree).unwrap();
        let before = (fs::read_dir(target).unwrap().count(), git(&repository, &["log", "-1"]));
        let collected = project.omx(&["runs", "gc"]);
        assert!(collected.stdout.contains("a link is in its place"), "{collected:?}");
        assert!(worktree.is_symlink(), "{collected:?}");
        let resumed = project.omx(&["runs", "resume", &repository.id()]);
        let after = (fs::read_dir(target).unwrap().count(), git(&repository, &["log", "-1"]));
        assert_eq!(after, before, "{resumed:?}");
        fs::remove_file(&worktree).unwrap();
    }
    symlink(&mine, &worktree).unwrap();
    let outcome = discard(&repository);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(mine.join("photo").exists() && !worktree.is_symlink(), "{outcome:?}");
    assert!(project.root().join(".git").is_dir());
}

#[test]
fn surface_5_5_no_run_is_resumed_through_a_link() {
    let mut repository = Repository::playing(&ralph_scenario(&write("work.txt", "done\n")));
    repository.check = "false".to_owned();
    assert_eq!(repository.run("ralph", &["--max-iterations", "1", "make work.txt"]).code, Some(5));
    let project = &repository.project;
    let worktree = project.root().join(".omx/worktrees/run").join(repository.id());
    let mine = project.folder().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::remove_dir_all(&worktree).unwrap();
    symlink(&mine, &worktree).unwrap();
    let resumed = project.omx(&["runs", "resume", &repository.id(), "--max-iterations", "2"]);
    assert_ne!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(fs::read_dir(&mine).unwrap().count(), 0, "{resumed:?}");
    assert!(worktree.is_symlink(), "{resumed:?}");
}

/// git may have forgotten a worktree of which not everything could be removed.
#[test]
fn surface_5_5_a_worktree_that_git_has_forgotten_is_discarded() {
    let repository = complete();
    let worktree = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    git(&repository, &["worktree", "remove", "--force", worktree.to_str().unwrap()]);
    fs::create_dir_all(worktree.join("left")).unwrap();
    let outcome = discard(&repository);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!worktree.exists(), "{outcome:?}");
}

#[test]
fn surface_5_5_a_worktree_with_very_deep_folders_is_discarded() {
    let nest = "python3 -c 'import os\nfor _ in range(1500): os.mkdir(\"d\" * 10); \
                os.chdir(\"d\" * 10)'";
    let repository = complete();
    let folder = repository.run_folder();
    let worktree = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    for place in [&worktree, &folder] {
        let mut command = repository.project.command("sh");
        let status = command.args(["-c", nest]).current_dir(place).status().unwrap();
        assert!(status.success());
    }
    let outcome = discard(&repository);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!worktree.exists() && !folder.exists(), "{outcome:?}");
}

/// What stays is named with one word for "error".
#[test]
fn surface_5_5_a_worktree_that_cannot_be_removed_is_named_once() {
    let repository = complete();
    let worktrees = repository.project.root().join(".omx/worktrees/run");
    fs::set_permissions(&worktrees, fs::Permissions::from_mode(0o500)).unwrap();
    let outcome = discard(&repository);
    fs::set_permissions(&worktrees, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("error:").count(), 1, "{outcome:?}");
}
