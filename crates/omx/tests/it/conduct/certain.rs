//! trust.md 4.1, quality.md R19: a cancel ends a live run whatever happens to its files,
//! and the run stays cancelled. Each test has its own mount namespace with a small disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use omx_testkit::CommandOutcome;
use rustix::process::geteuid;
use serde_json::Value;

use super::kit::{Repository, quick_scenario};

/// Everything has ended by then.
const GONE: Duration = Duration::from_secs(12);

/// What happens to the files of a live run, and what undoes it. `$id` is the run,
/// `$out` a folder on another disk.
struct Damage {
    strike: &'static str,
    undo: &'static str,
}

const FULL: Damage = Damage {
    strike: "cat /dev/zero > filler 2>/dev/null || true; ! echo x > more 2>/dev/null",
    undo: "rm -f filler more",
};
const READ_ONLY: Damage = Damage {
    strike: "mount --bind . . && mount -o remount,bind,ro . && cd / && cd \"$disk\"\n\
             ! touch x 2>/dev/null",
    undo: "cd /; umount \"$disk\"; cd \"$disk\"",
};
const LOCKED: Damage = Damage {
    strike: "flock .omx/state/.lock sh -c 'echo $$ > \"$0\"; exec sleep 1000' \"$out/locked\" &\n\
             flock=$!; while ! test -s \"$out/locked\"; do sleep 0.01; done",
    undo: "kill $(cat \"$out/locked\"); wait $flock || true",
};
const FOLDERS: Damage = Damage {
    strike: "for it in .omx/state/sessions/$id/*-state.json; do rm $it; mkdir $it; done",
    undo: "rmdir .omx/state/sessions/$id/*-state.json",
};
const PIPES: Damage = Damage {
    strike: "for it in .omx/state/sessions/$id/*-state.json; do rm $it; mkfifo $it; done",
    undo: "rm .omx/state/sessions/$id/*-state.json",
};
const LINKS: Damage = Damage {
    strike: "for it in .omx/state/sessions/$id/*-state.json; do ln -sf /dev/zero $it; done",
    undo: "rm .omx/state/sessions/$id/*-state.json",
};
const LINKED_STATE: Damage = Damage {
    strike: "mv .omx/state .omx/aside; ln -s aside .omx/state",
    undo: "rm .omx/state; mv .omx/aside .omx/state",
};
/// What an agent can do to files outside its workspace: their modes are not held.
const CLOSED: Damage = Damage { strike: "chmod 000 .omx", undo: "chmod 700 .omx" };
const CLOSED_PARTS: Damage = Damage {
    strike: "chmod 000 .omx/runs/*/lock .omx/state/sessions/* \"$HOME/.local/state\"",
    undo: "chmod 700 .omx/runs/*/lock .omx/state/sessions/* \"$HOME/.local/state\"",
};
const NO_HOME: Damage = Damage { strike: "rm -rf \"$HOME\"", undo: "mkdir \"$HOME\"" };

/// How the cancel is requested. Its answer goes to `$out/answer`, its exit code to
/// `$out/code`.
const CANCEL: &str = "\"$OMX\" cancel --json --session-id $id > \"$out/answer\" || code=$?";
const CANCEL_ONLY: &str = "\"$OMX\" cancel --json > \"$out/answer\" || code=$?";
const EVERY_SESSION: &str = "\"$OMX\" cancel --json --every-session > \"$out/answer\" || code=$?";
const FORCE: &str = "\"$OMX\" cancel --json --force > \"$out/answer\" || code=$?";
/// Through MCP: the exit code is made from `isError`.
const MCP: &str = r#"
{ echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
  echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"cancel","arguments":{"session_id":"'$id'"}}}'
  while ! grep -q '"id":2' "$out/mcp" 2>/dev/null; do sleep 0.05; done; } | "$OMX" mcp > "$out/mcp"
grep '"id":2' "$out/mcp" | sed 's/.*"structuredContent":\(.*\),"isError".*/\1/' > "$out/answer"
if grep -q '"isError":true' "$out/mcp"; then code=1; fi"#;

/// What a cancel under a damage led to.
struct Cancelled {
    repository: Repository,
    code: i32,
    answer: String,
    took: Duration,
    /// The exit code of the run itself.
    run: i32,
    /// `runs --json` after the damage was undone.
    runs: Value,
    /// `status --json` after the damage was undone.
    status: Value,
    /// What a Stop of the run's session got after the damage was undone.
    stop: String,
}

/// Plays an agent that never ends, and whose processes do their best to survive.
fn endless() -> Repository {
    let scenario = quick_scenario();
    let first = "say = \"I read check.sh: it wants a greeting by name.\"";
    assert_eq!(scenario.matches(first).count(), 1);
    let work = "run = { command = \"sh \\\"$HOME/../work.sh\\\"\" }";
    Repository::playing(&scenario.replace(first, work))
}

const WORK: &str = r#"
beat() { while :; do date > "$1"; sleep 0.05; done; }
trap '' INT TERM
out=$(cd "$(dirname "$0")" && pwd)
setsid sh -c 'trap "" INT TERM HUP; while :; do date > "$0/beat"; sleep 0.05; done' "$out" &
env -i PATH="$PATH" sh -c 'trap "" INT TERM HUP; while :; do date > "$0/beat2"; sleep 0.05; done' "$out" &
beat "$out/working"
"#;

fn cancelled_under(damage: &Damage, cancel: &str) -> Cancelled {
    let repository = endless();
    let folder = repository.project.folder();
    fs::write(folder.join("work.sh"), WORK).unwrap();
    let script = format!(
        "out=$(cd .. && pwd); disk=$out/disk; mkdir \"$disk\"\n\
         mount -t tmpfs -o size=8m,mode=700 omx-test \"$disk\"\n\
         cp -a . \"$disk\"; cd \"$disk\"\n\
         \"$@\" > \"$out/run.log\" 2>&1 & run=$!\n\
         while ! test -e \"$out/beat2\" || ! test -e \"$out/working\"; do sleep 0.02; done\n\
         id=$(ls .omx/runs)\n\
         {}\n\
         code=0; begun=$(date +%s%N)\n\
         {cancel}\n\
         ended=$(date +%s%N); echo $code > \"$out/code\"; echo $((ended - begun)) > \"$out/took\"\n\
         code=0; wait $run || code=$?; echo $code > \"$out/run_code\"\n\
         {}\n\
         \"$OMX\" runs --json > \"$out/runs\"\n\
         \"$OMX\" status --json > \"$out/status\"\n\
         echo '{{\"hook_event_name\":\"Stop\",\"session_id\":\"'$id'\",\"cwd\":\"'$disk'\"}}' |\n\
           \"$OMX\" hook --host claude > \"$out/stop\"\n",
        damage.strike, damage.undo
    );
    // The agent writes beside its workspace: a confined one has nothing to survive with.
    let run = repository.command("autopilot", &["--config", "sandbox=off", "greet people by name"]);
    let mut command = repository.project.command("unshare");
    if !geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-eu", "-c", &script, "sh"]);
    // Without the right to ignore modes, which root has and the person has not.
    let omx = folder.join("omx");
    let without = "--bounding-set=-dac_override,-dac_read_search";
    let script = format!(
        "#!/bin/sh\nexec setpriv {without} '{}' \"$@\"\n",
        repository.project.binary().display()
    );
    fs::write(&omx, script).unwrap();
    fs::set_permissions(&omx, fs::Permissions::from_mode(0o755)).unwrap();
    command.arg(&omx).args(run.get_args());
    command.env("OMX", &omx);
    let runtime = folder.join("runtime");
    fs::create_dir(&runtime).unwrap();
    command.env("XDG_RUNTIME_DIR", &runtime);
    let log = folder.join("script.log");
    let log = fs::File::create(log).unwrap();
    command.stdout(Stdio::piped()).stderr(log);
    let outcome: CommandOutcome = command.output().unwrap().into();
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let context = || {
        format!(
            "{outcome:?}\nscript: {}\nrun: {}\nanswer: {}",
            file("script.log"),
            file("run.log"),
            file("answer")
        )
    };
    assert_eq!(outcome.code, Some(0), "{}", context());
    repository.await_nobody();
    let number = |name: &str| {
        let text = file(name);
        text.trim().parse::<u64>().unwrap_or_else(|_| panic!("{name}: {text:?}\n{}", context()))
    };
    // Nothing of the tree is left, not even what hid from its environment and session.
    let beats = || {
        ["beat", "beat2", "working"]
            .map(|name| fs::metadata(folder.join(name)).unwrap().modified().unwrap())
    };
    let before = beats();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(beats(), before, "a process of the agent goes on: {}", context());
    Cancelled {
        code: i32::try_from(number("code")).unwrap(),
        answer: file("answer"),
        took: Duration::from_nanos(number("took")),
        run: i32::try_from(number("run_code")).unwrap(),
        runs: serde_json::from_str(&file("runs")).unwrap_or_else(|_| panic!("{}", context())),
        status: serde_json::from_str(&file("status")).unwrap_or_else(|_| panic!("{}", context())),
        stop: file("stop"),
        repository,
    }
}

impl Cancelled {
    /// Asserts that the run ended in time, that the answer says what could not be
    /// recorded, and that the run stays cancelled.
    #[track_caller]
    fn assert_unrecorded(&self, code: &str) {
        self.assert_stopped();
        assert_eq!(self.code, 1, "{}", self.answer);
        let answer: Value = serde_json::from_str(&self.answer).unwrap();
        assert_eq!(answer["code"], code, "{answer:#}");
        assert!(answer["error"].as_str().unwrap().contains("could not be recorded"), "{answer:#}");
        assert_eq!(answer["runs"].as_array().map(Vec::len), Some(1), "{answer:#}");
        assert!(answer["unrecorded"][0]["mark"].is_string(), "{answer:#}");
    }

    #[track_caller]
    fn assert_stopped(&self) {
        self.assert_ended(&[4, 137]);
    }

    /// The same for a run that cannot open its own files, which may end with an error.
    #[track_caller]
    fn assert_stopped_without_files(&self) {
        self.assert_ended(&[1, 4, 137]);
        assert_eq!(self.code, 1, "{}", self.answer);
        let answer: Value = serde_json::from_str(&self.answer).unwrap();
        assert_eq!(answer["runs"].as_array().map(Vec::len), Some(1), "{answer:#}");
    }

    #[track_caller]
    fn assert_ended(&self, codes: &[i32]) {
        let log = || fs::read_to_string(self.repository.project.folder().join("run.log")).unwrap();
        assert!(self.took < GONE, "{:?}: {}", self.took, self.answer);
        assert!(codes.contains(&self.run), "{}: {}\n{}", self.run, self.answer, log());
        assert_eq!(self.runs["runs"][0]["state"], "cancelled", "{}", self.runs);
        assert_eq!(self.status["active_modes"], serde_json::json!([]), "{}", self.status);
        assert_eq!(self.stop, "{}\n", "a Stop is released");
    }
}

#[test]
fn trust_4_1_cancel_on_a_full_disk_ends_the_run() {
    cancelled_under(&FULL, CANCEL).assert_unrecorded("io");
}

#[test]
fn trust_4_1_cancel_without_an_id_on_a_full_disk_ends_the_run() {
    cancelled_under(&FULL, CANCEL_ONLY).assert_unrecorded("io");
}

#[test]
fn trust_4_1_cancel_every_session_on_a_full_disk_ends_the_run() {
    cancelled_under(&FULL, EVERY_SESSION).assert_unrecorded("io");
}

/// Removing frees what writing needs.
#[test]
fn trust_4_1_cancel_force_on_a_full_disk_ends_the_run() {
    let cancelled = cancelled_under(&FULL, FORCE);
    cancelled.assert_stopped();
    assert_eq!(cancelled.code, 0, "{}", cancelled.answer);
}

#[test]
fn trust_4_1_cancel_over_mcp_on_a_full_disk_ends_the_run() {
    cancelled_under(&FULL, MCP).assert_unrecorded("io");
}

#[test]
fn trust_4_1_cancel_on_a_read_only_disk_ends_the_run() {
    cancelled_under(&READ_ONLY, CANCEL).assert_unrecorded("io");
}

#[test]
fn trust_4_1_cancel_force_on_a_read_only_disk_ends_the_run() {
    cancelled_under(&READ_ONLY, FORCE).assert_unrecorded("io");
}

#[test]
fn trust_4_1_cancel_while_another_process_holds_the_lock_ends_the_run() {
    cancelled_under(&LOCKED, CANCEL).assert_unrecorded("busy");
}

#[test]
fn trust_4_1_cancel_force_while_another_process_holds_the_lock_ends_the_run() {
    cancelled_under(&LOCKED, FORCE).assert_unrecorded("busy");
}

#[test]
fn trust_4_1_cancel_every_session_while_another_process_holds_the_lock_ends_the_run() {
    cancelled_under(&LOCKED, EVERY_SESSION).assert_unrecorded("busy");
}

#[test]
fn trust_4_1_cancel_with_folders_in_place_of_documents_ends_the_run() {
    cancelled_under(&FOLDERS, CANCEL).assert_unrecorded("unsafe_path");
}

#[test]
fn trust_4_1_cancel_with_pipes_in_place_of_documents_ends_the_run() {
    cancelled_under(&PIPES, CANCEL).assert_unrecorded("unsafe_path");
}

#[test]
fn trust_4_1_cancel_with_links_in_place_of_documents_ends_the_run() {
    cancelled_under(&LINKS, CANCEL_ONLY).assert_unrecorded("unsafe_path");
}

#[test]
fn trust_4_1_cancel_with_a_link_in_place_of_the_state_folder_ends_the_run() {
    cancelled_under(&LINKED_STATE, CANCEL_ONLY).assert_unrecorded("unsafe_path");
}

#[test]
fn trust_4_1_cancel_with_a_closed_folder_ends_the_run() {
    cancelled_under(&CLOSED, CANCEL).assert_stopped_without_files();
}

#[test]
fn trust_4_1_cancel_without_an_id_with_a_closed_folder_ends_the_run() {
    cancelled_under(&CLOSED, CANCEL_ONLY).assert_stopped_without_files();
}

#[test]
fn trust_4_1_cancel_force_with_a_closed_folder_ends_the_run() {
    cancelled_under(&CLOSED, FORCE).assert_stopped_without_files();
}

#[test]
fn trust_4_1_cancel_with_closed_parts_ends_the_run() {
    cancelled_under(&CLOSED_PARTS, CANCEL_ONLY).assert_stopped_without_files();
}

#[test]
fn trust_4_1_cancel_force_with_closed_parts_ends_the_run() {
    cancelled_under(&CLOSED_PARTS, FORCE).assert_stopped_without_files();
}

/// The home holds nothing that a cancel needs.
#[test]
fn trust_4_1_cancel_without_a_home_ends_the_run() {
    let cancelled = cancelled_under(&NO_HOME, CANCEL);
    cancelled.assert_stopped();
    assert_eq!(cancelled.code, 0, "{}", cancelled.answer);
}
