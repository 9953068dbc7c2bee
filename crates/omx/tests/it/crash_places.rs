//! state.md 4.6 with real causes: a read-only mount, a full disk, a folder of another
//! user. Each test has its own mount namespace.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use omx_testkit::{CommandOutcome, TestProject, release_binary};
use serde_json::{Value, json};

const WRITE: &str =
    r#""$OMX" state write --json --input '{"mode":"ralph","session_id":"one","iteration":2}'"#;

fn project() -> TestProject {
    let project = TestProject::new(release_binary());
    project.put(json!({"mode":"ralph","active":true,"session_id":"one","iteration":1}));
    project
}

/// Every command that would change something, without its name.
const CHANGES: [&str; 6] = [
    "state write --json --input {\"mode\":\"ralph\",\"session_id\":\"one\",\"iteration\":2}",
    "state write --json --input {\"mode\":\"ralph\",\"session_id\":\"new\",\"active\":true}",
    "state clear --json --mode ralph --session-id one",
    "cancel --json",
    "cancel --json --every-session",
    "cancel --json --force",
];

/// Runs a shell script as root of a mount namespace, the person's own or a new one.
fn in_namespace(project: &TestProject, script: &str) -> CommandOutcome {
    let mut command = project.command("unshare");
    if !is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-eu", "-c", script]).env("OMX", project.binary());
    let output = command.output();
    output.unwrap_or_else(|error| panic!("unshare: {error}; apt-get install util-linux")).into()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[track_caller]
fn assert_io(answer: &str, cause: &str) {
    let value: Value = serde_json::from_str(answer).unwrap_or_else(|e| panic!("{e}: {answer:?}"));
    assert_eq!(value["code"], "io", "{value}");
    assert!(value["error"].as_str().expect("a sentence").contains(cause), "{value}");
}

#[test]
fn state_4_6_a_read_only_mount_is_an_io_error_and_changes_nothing() {
    let project = project();
    let before = project.bytes("");
    for change in CHANGES {
        let script = format!(
            "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\"\n\
             \"$OMX\" state read --json --mode ralph --session-id one >/dev/null\n\
             set -f; exec \"$OMX\" {}",
            change.replace('{', "'{").replace('}', "}'")
        );
        let outcome = in_namespace(&project, &script);
        assert_eq!(outcome.code, Some(1), "{change}: {outcome:?}");
        assert_io(&outcome.stdout, "Read-only file system");
        assert_eq!(project.bytes(""), before, "{change}");
    }
    project.put(json!({"mode":"ralph","session_id":"one","iteration":2}));
}

#[test]
fn state_4_6_a_full_disk_is_an_io_error_and_the_document_stays() {
    let project = project();
    let script = format!(
        "disk=$(pwd)/../disk; out=$(pwd)/..; mkdir \"$disk\"\n\
         mount -t tmpfs -o size=1m omx-test \"$disk\"\n\
         cp -a .omx \"$disk\"; cd \"$disk\"\n\
         cat /dev/zero > filler 2>/dev/null || true\n\
         cp .omx/state/sessions/one/ralph-state.json \"$out/before\"\n\
         {WRITE} > \"$out/answer\" && exit 90\n\
         find .omx -name '*.tmp' > \"$out/leftovers\"\n\
         cp .omx/state/sessions/one/ralph-state.json \"$out/after\"\n\
         rm filler\n\
         {WRITE} > \"$out/again\""
    );
    let outcome = in_namespace(&project, &script);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let file = |name: &str| fs::read_to_string(project.folder().join(name)).expect("a file");
    assert_io(&file("answer"), "No space left on device");
    assert_eq!(file("after"), file("before"));
    assert_eq!(file("leftovers"), "");
    assert!(file("again").contains("\"success\":true"), "{}", file("again"));
}

/// Lets another user read the project and run the program, but not change anything.
fn open_to_readers(project: &TestProject) -> PathBuf {
    let binary = project.folder().join("omx");
    fs::copy(project.binary(), &binary).expect("a copy");
    for path in [project.folder(), project.root(), project.home(), binary.clone()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o555)).expect("permissions");
    }
    binary
}

#[test]
fn state_4_6_a_folder_of_another_user_is_an_io_error_and_changes_nothing() {
    for has_state in [true, false] {
        let project = if has_state { project() } else { TestProject::new(release_binary()) };
        let binary = open_to_readers(&project);
        let before = project.bytes("");
        let writes = if has_state { &CHANGES[..] } else { &CHANGES[1..2] };
        for change in writes {
            let mut command = if is_root() {
                let mut command = project.command("setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary);
                command
            } else {
                take_state_away(&project);
                project.command(&binary)
            };
            let outcome = run(command.args(change.split(' ')));
            assert_eq!(outcome.code, Some(1), "{change}: {outcome:?}");
            assert_io(&outcome.stdout, "Permission denied");
            if is_root() {
                assert_eq!(project.bytes(""), before, "{change}");
            }
        }
        give_back(&project);
        assert_eq!(project.bytes(""), before);
    }
}

fn run(command: &mut Command) -> CommandOutcome {
    let output = command.output();
    output.unwrap_or_else(|error| panic!("{error}; apt-get install util-linux")).into()
}

/// As the owner, permissions alone make the folder read-only.
fn take_state_away(project: &TestProject) {
    let _ = fs::set_permissions(project.root().join(".omx"), fs::Permissions::from_mode(0o000));
}

fn give_back(project: &TestProject) {
    for path in [project.folder(), project.root(), project.home(), project.root().join(".omx")] {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    }
}
