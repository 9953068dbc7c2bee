//! Cancel and hooks: cancel.md 3.4, 3.6, 3.7, and a lock that stays held.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omx_testkit::{TestProject, await_condition};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::kit::{
    BOTH, HookHost, HostConversation, PATIENCE, context, ended, held, start, used_project,
    within_a_second,
};
use crate::conduct::Repository;

/// A process that holds the project's lock and does not release it.
struct HeldLock(std::process::Child);

impl HeldLock {
    fn on(project: &TestProject) -> Self {
        let lock = project.state(".lock");
        let mut command = Command::new("flock");
        command.arg("--exclusive").arg(&lock).args(["sh", "-c", "echo; exec sleep 600"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        // It reports when it has the lock.
        let mut line = String::new();
        let mut message = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut message, &mut line).unwrap();
        Self(child)
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // The child holds the lock as long as it lives; the test owns both.
        let pid = i32::try_from(self.0.id()).unwrap();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            let _ = kill_process(Pid::from_raw(child.parse().unwrap()).unwrap(), Signal::KILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn cancel_3_4_after_cancel_returns_every_stop_is_allowed() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        for call in ["$ralph one", "$autopilot two", "$ultraqa three", "$ultrawork four"] {
            conversation.prompt(call);
            held(&conversation.stop("not yet"));
            assert_eq!(project.omx(&["cancel", "--session-id", "s1"]).code, Some(0));
            let before = project.bytes(".omx/state/sessions");
            for words in ["done", "ralph is still active, go on", ""] {
                assert_eq!(conversation.stop(words), json!({}), "{call}");
            }
            conversation.tool("Bash");
            conversation.event("PreCompact", json!({"trigger": "auto"}));
            conversation.event("SessionStart", json!({"source": "compact"}));
            conversation.event("StopFailure", json!({"error": "rate_limit"}));
            assert_eq!(project.bytes(".omx/state/sessions"), before, "{call}: a hook revived it");
        }
    }
}

#[test]
fn modes_5_3_a_cancel_keyword_cancels_at_once_and_says_so() {
    for host in BOTH {
        for word in ["cancelomx", "stopomx", "cancelomc", "stopomc", "stop", "cancel", "abort"] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            conversation.prompt("$ralph mend the parser");
            let answer = conversation.prompt(word);
            assert!(context(&answer).contains("Ralph cancelled."), "{word}: {answer}");
            assert_eq!(conversation.document("ralph")["run_outcome"], "cancelled", "{word}");
            assert_eq!(conversation.stop("ok"), json!({}), "{word}");
        }
    }
}

#[test]
fn cancel_3_6_a_hook_writes_at_once_and_the_processes_are_stopped_after_it() {
    let repository = Repository::new();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(12);
    let id = repository.id();
    let conversation =
        HostConversation { project: &repository.project, host: HookHost::Claude, session: &id };
    let begun = Instant::now();
    let answer = conversation.prompt("cancelomx");
    assert!(begun.elapsed() < PATIENCE);
    assert!(context(&answer).contains("Autopilot cancelled at phase"), "{answer}");
    // Written before the hook answers, whatever happens to the processes.
    assert_eq!(conversation.document("autopilot")["run_outcome"], "cancelled");
    assert_eq!(running.code(), Some(4));
    await_condition("nobody is left", Duration::from_secs(12), || {
        repository.processes().is_empty()
    });
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

#[test]
fn cancel_3_7_a_hook_creates_no_document_for_a_run_removed_by_force() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        held(&conversation.stop("one"));
        // Hooks that have read the document and wait for the lock while force runs.
        let payload = conversation.payload("Stop", json!({})).to_string();
        for _ in 0..20 {
            let sitter = HeldLock::on(&project);
            let begun = Instant::now();
            let waiting = start(conversation.command(), payload.as_bytes());
            std::fs::remove_dir_all(project.root().join(".omx/state/sessions/s1")).unwrap();
            drop(sitter);
            assert_eq!(ended(waiting, begun), json!({}));
            assert!(!project.session("s1", "ralph-state.json").exists());
            conversation.prompt("$ralph mend the parser");
            held(&conversation.stop("one"));
        }
        assert_eq!(project.omx(&["cancel", "--force"]).code, Some(0));
        conversation.stop("two");
        conversation.tool("Bash");
        conversation.event("PreCompact", json!({"trigger": "auto"}));
        conversation.event("StopFailure", json!({"error": "rate_limit"}));
        conversation.event("Interrupt", json!({}));
        assert!(!project.session("s1", "ralph-state.json").exists());
    }
}

#[test]
fn hosts_1_4_a_held_lock_delays_no_hook_beyond_its_deadline() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        held(&conversation.stop("one"));
        let before = project.bytes(".omx/state/sessions");
        let sitter = HeldLock::on(&project);
        within_a_second(|| assert_eq!(conversation.stop("two"), json!({})));
        assert_eq!(conversation.event("Interrupt", json!({})), json!({}));
        conversation.tool("Bash");
        assert_eq!(conversation.prompt("$ultraqa x"), json!({}));
        assert_eq!(project.bytes(".omx/state/sessions"), before);
        // A cancel that cannot be written yet is not lost.
        let answer = conversation.prompt("cancelomx");
        assert!(context(&answer).contains("could not be recorded"), "{answer}");
        assert_eq!(conversation.stop("three"), json!({}));
        drop(sitter);
        await_condition("the cancel is written", Duration::from_secs(10), || {
            conversation.document("ralph")["active"] == json!(false)
        });
        assert_eq!(conversation.stop("four"), json!({}));
    }
}
