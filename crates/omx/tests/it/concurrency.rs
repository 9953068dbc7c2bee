//! state.md 4.1 and 4.3, cancel.md 1.3: many processes at once, two concurrent
//! sessions, and a lock holder that is stopped.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use omx_testkit::strace::{Injection, Syscall, injected, rule};
use omx_testkit::{
    CommandOutcome, Random, TestProject, await_condition, in_parallel, release_binary,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(20);

fn project() -> TestProject {
    TestProject::new(release_binary())
}

#[test]
fn state_4_3_32_processes_with_20_writes_each_lose_nothing() {
    const PROCESSES: usize = 32;
    const WRITES: usize = 20;
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"session_id":"one"}));
    let writers: Vec<usize> = (0..PROCESSES).collect();
    in_parallel(PROCESSES, &writers, |writer| {
        for number in 0..WRITES {
            let field = json!({(format!("w{writer}_{number}")): number});
            project.put(json!({"mode":"ralph","session_id":"one","state":field}));
        }
    });
    let document = project.session_document("one", "ralph");
    for writer in writers {
        for number in 0..WRITES {
            assert_eq!(document[format!("w{writer}_{number}")], number, "w{writer}_{number}");
        }
    }
    assert_eq!(document["revision"], PROCESSES * WRITES + 1);
}

#[test]
fn configuration_1_concurrent_settings_lose_nothing() {
    let project = project();
    let modes = ["autopilot", "ralph", "ralplan", "ultrawork", "ecomode", "ultraqa"];
    in_parallel(modes.len(), &modes, |mode| {
        for limit in 1..=10 {
            let key = format!("limits.max_iterations.{mode}");
            let outcome = project.omx(&["config", "set", &key, &limit.to_string()]);
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
        }
    });
    let text = project.read(project.home().join(".config/omx/config.toml"));
    for mode in modes {
        assert!(text.contains(&format!("{mode} = 10\n")), "{mode} is lost: {text}");
    }
    assert_eq!(omx_testkit::tree::leftovers(&project), Vec::<String>::new());
}

/// A random operation of a session on itself; refusals count as successes here.
fn act(project: &TestProject, session: &str, random: &mut Random, number: usize) {
    let mode = *random.choose(&["ralph", "ultrawork", "ultraqa"]);
    let write = |mut input: Value| {
        input["session_id"] = session.into();
        project.state_op("write", &input)
    };
    let outcome = match random.below(10) {
        0..=2 => write(json!({"mode":mode,"active":true,"start":true})),
        3..=5 => write(json!({"mode":mode,"state":{"note":number}})),
        6 => write(json!({"mode":"ralph","linked_ultrawork":true})),
        7 => project.omx(&["cancel", "--json", "--session-id", session]),
        8 => project.omx(&["cancel", "--json", "--session-id", session, "--mode", mode]),
        _ => project.omx(&["state", "clear", "--json", "--session-id", session, "--mode", mode]),
    };
    // "busy", "io" or a crash is never an answer to any of these.
    let known = ["mode_conflict", "invalid_input", "linked_mode", "recently_cancelled"];
    let is_refused = outcome.code == Some(1) && known.contains(&outcome.refused().as_str());
    assert!(outcome.code == Some(0) || is_refused, "{outcome:?}");
}

fn bytes_of(
    project: &TestProject,
    session: &str,
) -> Vec<std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>> {
    [format!(".omx/state/sessions/{session}"), format!(".omx/state/.activity/{session}.json")]
        .iter()
        .map(|path| project.bytes(path))
        .collect()
}

#[test]
fn cancel_1_3_a_thousand_operations_of_two_sessions_never_touch_the_other() {
    const SEED: u64 = 11;
    let project = project();
    let mut random = Random::new(SEED);
    let mut seen = [bytes_of(&project, "one"), bytes_of(&project, "two")];
    for number in 0..1_000 {
        let (own, other) = if random.below(2) == 0 { (0, 1) } else { (1, 0) };
        act(&project, ["one", "two"][own], &mut random, number);
        let untouched = bytes_of(&project, ["one", "two"][other]);
        assert_eq!(untouched, seen[other], "seed {SEED}, operation {number}");
        seen[own] = bytes_of(&project, ["one", "two"][own]);
    }
}

#[test]
fn cancel_1_3_two_sessions_at_the_same_time_never_touch_each_other() {
    let project = project();
    in_parallel(2, &["one", "two"], |session| {
        let mut random = Random::new(session.len() as u64 + u64::from(session.as_bytes()[0]));
        let mut own = bytes_of(&project, session);
        for number in 0..150 {
            assert_eq!(bytes_of(&project, session), own, "{session}, before {number}");
            act(&project, session, &mut random, number);
            own = bytes_of(&project, session);
        }
    });
}

/// A stopped process would outlive a test that fails before continuing it.
struct EndsWithTest(u32);

impl Drop for EndsWithTest {
    fn drop(&mut self) {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.0));
        for child in children.unwrap_or_default().split_whitespace() {
            let pid = child.parse().ok().and_then(Pid::from_raw);
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

/// What `busy` says, and after how long.
fn busy(project: &TestProject, args: &[&str]) -> (String, Duration) {
    let start = Instant::now();
    let outcome: CommandOutcome = project.omx(args);
    assert_eq!(outcome.refused(), "busy", "{outcome:?}");
    (outcome.json()["error"].as_str().expect("a sentence").to_owned(), start.elapsed())
}

#[test]
fn state_4_1_a_stopped_lock_holder_makes_writers_busy_and_delays_no_reader() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"session_id":"one"}));
    let input = json!({"mode":"ralph","session_id":"one","iteration":7}).to_string();
    let log = project.folder().join("trace");
    // Stopped as by Ctrl-Z, while holding the lock.
    let stop = Syscall { name: "fdatasync".into(), nth: 1, text: String::new() };
    let args = ["state", "write", "--json", "--input", &input];
    let mut command = injected(&project, &args, &log, Some(rule(&stop, Injection::Stop)));
    command.stdout(Stdio::piped());
    let mut holder = command.spawn().expect("strace runs; apt-get install strace");
    let _guard = EndsWithTest(holder.id());
    let stopped = || fs::read_to_string(&log).unwrap_or_default().contains("stopped by SIGSTOP");
    await_condition("the stop of the holder", LONG, stopped);
    let trace = fs::read_to_string(&log).expect("a trace");
    let pid: i32 = trace.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a pid");

    let start = Instant::now();
    let read = project.omx(&["state", "read", "--json", "--mode", "ralph", "--session-id", "one"]);
    assert_eq!(read.ok()["iteration"], 0);
    project.omx(&["state", "list-active", "--json"]).ok();
    project.omx(&["status", "--json"]).ok();
    assert!(start.elapsed() < Duration::from_secs(5), "readers took {:?}", start.elapsed());

    let (told, waited) = busy(&project, &["cancel", "--json", "--session-id", "one"]);
    assert!(told.contains(&format!("process {pid} ")), "{told}; it is {pid}");
    assert!(told.contains("omx state write"), "{told}");
    // Nobody waits longer than a second for a cancel.
    assert!(waited > Duration::from_millis(900) && waited < Duration::from_secs(8), "{waited:?}");

    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::CONT).expect("it is there");
    assert!(holder.wait().expect("it ends").success());
    assert_eq!(project.session_document("one", "ralph")["iteration"], 7);
    project.omx(&["cancel", "--json", "--session-id", "one"]).ok();
    assert_eq!(project.session_document("one", "ralph")["active"], false);
}

#[test]
fn state_4_1_a_waiting_writer_continues_as_soon_as_the_lock_is_free() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"session_id":"one"}));
    let lock = File::options().write(true).open(project.state(".lock")).expect("the lock");
    lock.lock().expect("it is free");
    (&lock).write_all(b"1 somebody").expect("information only");
    let input = json!({"mode":"ralph","session_id":"one","iteration":1}).to_string();
    let mut command = project.omx_command(&["state", "write", "--json", "--input", &input]);
    let mut waiting = command.stdout(Stdio::null()).spawn().expect("omx runs");
    let tasks = format!("/proc/{}/task", waiting.id());
    // It waits on its own thread.
    let waits = || fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() == 2);
    await_condition("the wait for the lock", LONG, waits);
    assert_eq!(project.session_document("one", "ralph")["iteration"], 0);
    let start = Instant::now();
    drop(lock);
    assert!(waiting.wait().expect("it ends").success());
    assert!(start.elapsed() < Duration::from_secs(4), "it took {:?}", start.elapsed());
    assert_eq!(project.session_document("one", "ralph")["iteration"], 1);
}

#[test]
fn state_1_4_the_lock_file_is_never_removed() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"session_id":"one"}));
    let inode = || fs::metadata(project.state(".lock")).expect("the lock").ino();
    let first = inode();
    for args in [
        &["state", "clear", "--json", "--input", r#"{"mode":"ralph","all_sessions":true}"#][..],
        &["cancel", "--json", "--every-session"],
        &["cancel", "--json", "--force"],
        &["cancel", "--json", "--all"],
    ] {
        project.put(json!({"mode":"ultrawork","active":true,"start":true,"session_id":"two"}));
        project.omx(args).ok();
        assert_eq!(inode(), first, "{args:?}");
        project
            .omx(&["state", "clear", "--json", "--mode", "ultrawork", "--session-id", "two"])
            .ok();
    }
}
