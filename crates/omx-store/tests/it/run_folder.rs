//! A run's folder: complete or absent, private to its owner, never opened through a link.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use omx_store::StoreError;
use omx_store::runs::{Liveness, LockHolder, RunRemoval, StepLogName};
use serde_json::{Value, json};

use crate::helper::HelperCommand;
use crate::stage::{StoreFixture, bytes_below, run_id};

#[test]
fn the_spec_is_kept_and_every_file_is_private_to_its_owner() {
    let stage = StoreFixture::new();
    let spec = json!({"mode": "ralph", "task": "ä \u{1b}[31m\n", "budget": 1.10});
    let held = stage.lock().create_run(&run_id(1), &spec, &LockHolder::this_process()).unwrap();
    assert_eq!(held.folder().read_spec::<Value>().unwrap(), spec);
    let name = StepLogName::new("check-1");
    held.folder().open_step_log(&name).unwrap().add(b"one");
    let mut log = held.folder().open_step_log(&name).unwrap();
    log.add(b"one two");
    let path = log.path().to_owned();
    log.finish().unwrap();
    let log = path;
    assert_eq!(log, stage.runs().join(run_id(1).as_str()).join("output/check-1.log"));
    assert_eq!(fs::read_to_string(log).unwrap(), "one two");
    held.folder().scratch().unwrap();
    for (path, _) in bytes_below(&stage.runs()) {
        let data = fs::metadata(&path).unwrap();
        let expected = if data.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(data.permissions().mode() & 0o777, expected, "{}", path.display());
    }
}

#[test]
fn conductor_7_runs_are_listed_by_age_with_their_liveness() {
    let stage = StoreFixture::new();
    assert_eq!(stage.store.runs().unwrap(), []);
    let held = stage.create(&run_id(2));
    let others = [30, 9, 1, 12, 3, 27, 8];
    others.iter().for_each(|number| drop(stage.create(&run_id(*number))));
    fs::create_dir(stage.runs().join("not-a-run")).unwrap();
    symlink(stage.folder.path(), stage.runs().join(run_id(4).as_str())).unwrap();
    let listed = stage.store.runs().unwrap();
    let lives: Vec<_> = listed.iter().map(|run| (run.id.clone(), run.liveness.clone())).collect();
    let alive = Liveness::Alive(Some(LockHolder::this_process()));
    let expected = [1, 2, 3, 8, 9, 12, 27, 30].map(|number| {
        let liveness = if number == 2 { alive.clone() } else { Liveness::Ended };
        (run_id(number), liveness)
    });
    assert_eq!(lives, expected);
    assert_eq!(listed[1].path, held.folder().path());
}

#[test]
fn conductor_7_an_ended_run_is_removed_completely_and_a_live_one_stays() {
    let stage = StoreFixture::new();
    let held = stage.create(&run_id(1));
    held.folder().scratch().unwrap();
    drop(stage.create(&run_id(2)));
    symlink(stage.folder.path(), stage.runs().join(run_id(2).as_str()).join("link")).unwrap();
    let outside = bytes_below(&stage.folder.path().join("project")).len();
    assert!(matches!(stage.lock().remove_run(&run_id(1)).unwrap(), RunRemoval::Alive(Some(_))));
    assert_eq!(stage.lock().remove_run(&run_id(2)).unwrap(), RunRemoval::Removed);
    assert_eq!(stage.lock().remove_run(&run_id(2)).unwrap(), RunRemoval::Missing);
    assert!(outside > 0 && stage.folder.path().exists());
    drop(held);
    assert_eq!(stage.lock().remove_run(&run_id(1)).unwrap(), RunRemoval::Removed);
    let left: Vec<_> = fs::read_dir(stage.runs()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only .gitignore: {left:?}");
}

#[test]
fn quality_r1_a_run_killed_during_creation_is_complete_or_absent() {
    // Creating a run makes fewer than ten calls of each kind.
    for call in ["mkdirat", "openat", "write", "fsync", "fdatasync", "renameat", "flock"] {
        for nth in 1..=10 {
            let stage = StoreFixture::new();
            drop(stage.lock());
            let notes = stage.folder.path().join("notes");
            let run = run_id(1);
            let helper = HelperCommand {
                action: "create",
                root: stage.store.root(),
                run: &run,
                notes: &notes,
            };
            let tree = stage.store.tree().join("runs").display().to_string();
            let places = [tree.clone(), format!("{tree}/.new-{run}"), format!("{tree}/{run}")];
            let mut under = vec!["strace", "-f", "-o", "/dev/null"];
            places.iter().for_each(|place| under.extend(["-P", place]));
            let inject = format!("inject={call}:signal=KILL:when={nth}");
            let trace = format!("trace={call}");
            under.extend(["-e", &trace, "-e", &inject]);
            helper.command(&under).status().expect("apt-get install strace");
            for listed in stage.store.runs().unwrap() {
                let folder = stage.store.run(&listed.id).unwrap().unwrap();
                assert_eq!(folder.read_spec::<Value>().unwrap(), json!({}), "{call} {nth}");
                assert_eq!(listed.liveness, Liveness::Ended);
                stage.acquired(&listed.id);
            }
            drop(stage.create(&run_id(2)));
            let names: Vec<_> = fs::read_dir(stage.runs()).unwrap().flatten().collect();
            let hidden = |name: &str| name.starts_with(".new") || name.ends_with(".tmp");
            assert!(
                !names.iter().any(|entry| hidden(&entry.file_name().to_string_lossy())),
                "{call} {nth}: {names:?}"
            );
        }
    }
}

#[test]
fn quality_r6_a_read_only_folder_is_an_error_that_names_the_folder() {
    for error in ["EROFS", "EACCES", "ENOSPC"] {
        let stage = StoreFixture::new();
        drop(stage.lock());
        let notes = stage.folder.path().join("notes");
        let run = run_id(1);
        let helper =
            HelperCommand { action: "create", root: stage.store.root(), run: &run, notes: &notes };
        let inject = format!("inject=mkdirat:error={error}");
        let under = ["strace", "-f", "-o", "/dev/null", "-e", "trace=mkdirat", "-e", &inject];
        helper.command(&under).status().expect("apt-get install strace");
        let noted = helper.acknowledged().join("\n");
        assert!(noted.contains("cannot make the folder") && noted.contains("runs"), "{noted}");
        assert!(stage.store.runs().unwrap().is_empty());
    }
}

#[test]
fn quality_s2_no_file_of_a_run_is_opened_through_a_link() {
    let stage = StoreFixture::new();
    let run = run_id(1);
    let outside = stage.folder.path().join("outside");
    let is_unsafe =
        |error: StoreError| assert!(matches!(error, StoreError::Unsafe { .. }), "{error}");

    drop(stage.create(&run));
    let folder = stage.runs().join(run.as_str());
    for name in ["journal.jsonl", "lock", "run.json", "output"] {
        let moved = stage.folder.path().join("moved");
        fs::rename(folder.join(name), &moved).unwrap();
        symlink(&moved, folder.join(name)).unwrap();
        match name {
            "run.json" => {
                is_unsafe(stage.store.run(&run).unwrap().unwrap().read_spec::<Value>().unwrap_err())
            }
            "output" => {
                let name = StepLogName::new("x");
                is_unsafe(stage.acquired(&run).folder().open_step_log(&name).unwrap_err());
            }
            _ => is_unsafe(stage.store.acquire_run(&run, &LockHolder::this_process()).unwrap_err()),
        }
        fs::remove_file(folder.join(name)).unwrap();
        fs::rename(&moved, folder.join(name)).unwrap();
    }
    fs::rename(stage.runs(), &outside).unwrap();
    symlink(&outside, stage.runs()).unwrap();
    let before = bytes_below(&outside);
    is_unsafe(stage.store.run(&run).unwrap_err());
    is_unsafe(stage.store.runs().unwrap_err());
    let made = stage.lock().create_run(&run_id(2), &json!({}), &LockHolder::this_process());
    is_unsafe(made.unwrap_err());
    assert_eq!(bytes_below(&outside), before);
}

#[test]
fn principle_7_git_ignores_runs_and_worktrees_even_if_the_project_tracks_the_folder() {
    let stage = StoreFixture::new();
    let root = stage.store.root().to_owned();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .current_dir(&root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", stage.folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    // A project that tracks omx's plans, with the strongest rules that git has.
    fs::create_dir(root.join(".omx")).unwrap();
    fs::write(root.join(".omx/.gitignore"), "!*\nstate\nlog\n").unwrap();
    fs::write(root.join(".gitignore"), "!.omx/**\n").unwrap();
    git(&["add", "-A"]);
    let before = git(&["status", "--porcelain", "-uall"]);
    drop(stage.create(&run_id(1)));
    let folder = stage.lock().make_run_worktrees().unwrap();
    assert_eq!(stage.store.run_worktree(&run_id(1)), folder.join(run_id(1).as_str()));
    fs::create_dir(folder.join("x")).unwrap();
    fs::write(folder.join("x/file"), "x").unwrap();
    assert_eq!(git(&["status", "--porcelain", "-uall"]), before);
}
