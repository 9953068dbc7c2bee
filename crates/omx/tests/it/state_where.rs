//! state.md 1: the folder of a document, for every way of finding a project, and what
//! else is stored there.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use omx_testkit::TestProject;
use serde_json::json;

use crate::project;

const START: &str = r#"{"mode":"ralph","active":true}"#;
const WRITE: &[&str] = &["state", "write", "--json", "--input", START];

/// The folder into which a write from `folder` goes.
#[track_caller]
fn lands_in(project: &TestProject, folder: impl AsRef<Path>) -> PathBuf {
    let answer = project.omx_in(folder, WRITE).ok();
    let path = PathBuf::from(answer["path"].as_str().unwrap());
    assert!(path.is_file());
    path.ancestors().nth(3).unwrap().to_owned()
}

fn make(path: PathBuf) -> PathBuf {
    fs::create_dir_all(&path).unwrap();
    path
}

/// Every `.omx` below the test's folder.
fn trees(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_name() == ".omx" {
            found.push(entry.path());
        } else if entry.file_type().unwrap().is_dir() {
            found.extend(trees(&entry.path()));
        }
    }
    found
}

fn sha256_16(project: &TestProject, text: &Path) -> String {
    let file = project.folder().join("hashed");
    fs::write(&file, text.as_os_str().as_encoded_bytes()).unwrap();
    let output = project.command("sha256sum").arg(&file).output().expect("coreutils' sha256sum");
    String::from_utf8(output.stdout).unwrap()[..16].to_owned()
}

#[test]
fn state_1_1_an_explicit_root_wins_and_the_flag_over_the_environment() {
    let project = project();
    project.git();
    let [flag, variable] = ["flag", "variable"].map(|name| make(project.folder().join(name)));
    let run = |args: &[&str], root: &str| {
        let mut command = project.omx_command(&[args, WRITE].concat());
        command.env("OMX_ROOT", root).output().unwrap()
    };
    assert!(run(&["--root", flag.to_str().unwrap()], variable.to_str().unwrap()).status.success());
    assert_eq!(trees(&project.folder()), [flag.join(".omx")]);
    assert!(run(&[], variable.to_str().unwrap()).status.success());
    assert_eq!(trees(&variable), [variable.join(".omx")]);
    assert!(run(&[], "../variable").status.success(), "a relative one");
    assert!(run(&[], "").status.success(), "an empty one is none");
    assert_eq!(trees(&project.root()), [project.root().join(".omx")]);
}

#[test]
fn state_1_1_a_root_that_is_not_a_folder_is_refused_and_not_created() {
    let project = project();
    project.write("file", "");
    for bad in ["missing", "file"] {
        let outcome = project.omx(&[&["--root", bad], WRITE].concat());
        assert_eq!(outcome.refused(), "invalid_input");
        assert!(outcome.json()["error"].as_str().unwrap().contains(bad), "{outcome:?}");
    }
    assert!(!project.root().join("missing").exists());
}

#[test]
fn state_1_1_inside_git_the_top_level_unless_a_nearer_folder_has_a_tree() {
    let project = project();
    project.git();
    let deep = make(project.root().join("packages/a/src"));
    assert_eq!(lands_in(&project, &deep), project.root());
    assert_eq!(trees(&project.folder()), [project.root().join(".omx")], "no second tree");
    make(project.root().join("packages/a/.omx"));
    assert_eq!(lands_in(&project, &deep), project.root().join("packages/a"));
    assert_eq!(lands_in(&project, project.root().join("packages")), project.root());
}

#[test]
fn state_1_1_inside_git_nothing_above_the_top_level_is_found() {
    let project = project();
    make(project.root().join(".omx"));
    let inner = make(project.root().join("inner"));
    project.run_git(&["init", "--quiet", inner.to_str().unwrap()]);
    assert_eq!(lands_in(&project, &inner), inner);
}

#[test]
fn state_1_1_a_linked_worktree_uses_the_main_worktree() {
    let project = project();
    project.git();
    project.run_git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
    for linked in ["../beside", "inside/linked"] {
        project.run_git(&["worktree", "add", "--quiet", "--detach", linked]);
        let deep = make(project.root().join(linked).join("src"));
        assert_eq!(lands_in(&project, deep), project.root(), "{linked}");
    }
    assert_eq!(trees(&project.folder()), [project.root().join(".omx")]);
    let own = fs::canonicalize(make(project.root().join("../beside/.omx"))).unwrap();
    assert_eq!(lands_in(&project, own.parent().unwrap()), own.parent().unwrap());
}

#[test]
fn state_1_1_a_submodule_is_its_own_project() {
    let project = project();
    let origin = make(project.folder().join("origin"));
    for folder in [&origin, &project.root()] {
        let folder = folder.to_str().unwrap();
        project.run_git(&["init", "--quiet", folder]);
        project.run_git(&["-C", folder, "commit", "--quiet", "--allow-empty", "-m", "first"]);
    }
    let allowed = "protocol.file.allow=always";
    let origin = origin.to_str().unwrap();
    project.run_git(&["-c", allowed, "submodule", "--quiet", "add", origin, "sub"]);
    let sub = project.root().join("sub");
    assert!(sub.join(".git").is_file());
    assert_eq!(lands_in(&project, make(sub.join("src"))), sub);
    assert_eq!(lands_in(&project, project.root()), project.root());
}

#[test]
fn state_1_1_outside_git_the_nearest_folder_with_a_tree_or_the_working_directory() {
    let project = project();
    let deep = make(project.home().join("work/a/b"));
    assert_eq!(lands_in(&project, project.home().join("work")), project.home().join("work"));
    assert_eq!(lands_in(&project, &deep), project.home().join("work"), "no second tree below");
    make(project.home().join("work/a/.omx"));
    assert_eq!(lands_in(&project, &deep), project.home().join("work/a"));
    let elsewhere = make(project.root().join("x/y"));
    assert_eq!(lands_in(&project, &elsewhere), elsewhere);
}

#[test]
fn state_1_1_the_home_and_anything_above_it_are_never_found_by_searching() {
    let project = project();
    make(project.home().join(".omx"));
    make(project.folder().join(".omx"));
    let work = make(project.home().join("work"));
    assert_eq!(lands_in(&project, &work), work);
    assert_eq!(lands_in(&project, project.root()), project.root());
    assert_eq!(lands_in(&project, project.home()), project.home(), "the working directory itself");
}

#[test]
fn state_1_1_a_repository_at_or_above_the_home_is_not_a_project() {
    for top in ["home", ""] {
        let project = project();
        let top = project.folder().join(top);
        project.run_git(&["init", "--quiet", top.to_str().unwrap()]);
        make(top.join(".omx"));
        let work = make(project.home().join("work"));
        assert_eq!(lands_in(&project, &work), work);
        assert_eq!(lands_in(&project, make(work.join("sub"))), work);
    }
}

#[test]
fn state_1_2_the_state_dir_holds_the_whole_tree_outside_the_repository() {
    let project = project();
    project.git();
    let outside = project.folder().join("outside");
    let tree = outside.join(format!("project-{}", sha256_16(&project, &project.root())));
    let sub = make(project.root().join("sub"));
    let run = |folder: &Path, args: &[&str]| -> omx_testkit::CommandOutcome {
        let mut command = project.omx_command(args);
        command.env("OMX_STATE_DIR", &outside).current_dir(folder).output().unwrap().into()
    };
    let answer = run(&sub, WRITE).ok();
    let path = tree.join("state/ralph-state.json");
    assert_eq!(answer["path"], path.to_str().unwrap());
    assert!(path.is_file() && tree.join("log/events.jsonl").is_file());
    assert_eq!(
        run(&project.root(), &["state", "read", "--mode", "ralph", "--json"]).ok()["revision"],
        1
    );
    assert_eq!(trees(&project.folder()), [] as [PathBuf; 0]);
    assert_eq!(project.run_git(&["status", "--porcelain"]).stdout, "");
}

#[test]
fn state_1_2_a_subdirectory_outside_git_never_gets_a_second_tree_there_either() {
    let project = project();
    let outside = project.folder().join("outside");
    let sub = make(project.root().join("sub/deep"));
    for folder in [project.root(), sub] {
        let mut command = project.omx_command(WRITE);
        command.env("OMX_STATE_DIR", &outside).current_dir(folder);
        omx_testkit::CommandOutcome::from(command.output().unwrap()).ok();
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn state_1_3_the_first_write_keeps_git_status_clean() {
    let project = project();
    project.git();
    project.put(json!({"mode":"ralph","active":true}));
    assert_eq!(project.run_git(&["status", "--porcelain"]).stdout, "");
    assert_eq!(project.read(".omx/.gitignore"), "*\n");
    fs::remove_file(project.root().join(".omx/.gitignore")).unwrap();
    project.put(json!({"mode":"ralph","iteration":1}));
    assert_eq!(project.read(".omx/.gitignore"), "*\n");
}

#[test]
fn state_1_3_a_tree_made_by_another_program_is_ignored_by_git_too() {
    let project = project();
    project.git();
    project.write(".omx/notes.md", "hello");
    project.write(".gitignore", "target\n");
    project.put(json!({"mode":"ralph","active":true,"session_id":"s"}));
    assert_eq!(project.run_git(&["status", "--porcelain"]).stdout, "?? .gitignore\n");
    assert_eq!(project.read(".gitignore"), "target\n");
}

#[test]
fn state_1_3_reading_creates_nothing() {
    let project = project();
    for args in [
        &["state", "read", "--mode", "ralph"][..],
        &["state", "clear", "--mode", "ralph"],
        &["state", "list-active"],
        &["state", "get-status"],
        &["status"],
        &["cancel"],
        &["cancel", "--force"],
    ] {
        assert_eq!(project.omx(args).code, Some(0), "{args:?}");
    }
    assert_eq!(fs::read_dir(project.root()).unwrap().count(), 0);
}

#[test]
fn state_1_4_every_file_has_its_path_and_is_private_to_its_owner() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    project.put(json!({"mode":"ultrawork","active":true,"session_id":"s-1"}));
    project.write(".omx/state/team-state.json", "torn");
    project.state_op("clear", &json!({"mode":"team"})).ok();
    project.state_op("clear", &json!({"mode":"ultrawork","session_id":"s-1"})).ok();
    project.put(json!({"mode":"ultrawork","active":true,"start":true,"session_id":"s-1"}));
    for (name, mode) in [
        ("state/ralph-state.json", 0o600),
        ("state/sessions/s-1/ultrawork-state.json", 0o600),
        ("state/.activity/s-1.json", 0o600),
        ("state/.lock", 0o600),
        ("log/events.jsonl", 0o600),
        ("state/quarantine", 0o700),
        ("state/sessions/s-1", 0o700),
        ("state", 0o700),
        ("", 0o700),
    ] {
        let data = fs::symlink_metadata(project.root().join(".omx").join(name)).unwrap();
        assert_eq!(data.permissions().mode() & 0o777, mode, "{name}");
    }
    let log = project.read(".omx/log/events.jsonl");
    let kinds: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|event| json!([event["kind"], event["session"], event["data"]["mode"]]))
        .collect();
    assert_eq!(
        kinds,
        [
            json!(["state_write", null, "ralph"]),
            json!(["state_write", "s-1", "ultrawork"]),
            json!(["state_clear", "s-1", "ultrawork"]),
            json!(["state_write", "s-1", "ultrawork"]),
        ]
    );
}

#[test]
fn state_1_4_the_lock_is_never_removed() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    let inode = || fs::metadata(project.state(".lock")).unwrap().ino();
    let before = inode();
    assert_eq!(project.omx(&["cancel", "--force"]).code, Some(0));
    assert_eq!(inode(), before);
}

#[test]
fn state_1_4_activity_records_of_yesterday_are_pruned() {
    let project = project();
    let day = Duration::from_secs(24 * 60 * 60);
    for (name, age) in [("old", day + Duration::from_secs(60)), ("young", day / 2)] {
        let path = project.write(&format!(".omx/state/.activity/{name}.json"), "{}");
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    project.put(json!({"mode":"ralph","active":true,"session_id":"s"}));
    project.state_op("clear", &json!({"mode":"ralph","session_id":"s"})).ok();
    let exists = |name: &str| project.state(".activity").join(name).exists();
    assert!(exists("s.json") && exists("young.json") && !exists("old.json"));
}
