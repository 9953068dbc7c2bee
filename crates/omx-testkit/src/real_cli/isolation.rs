//! A test's body in a process of its own without a network.

use std::process::Command;

use super::AgentCli;
use crate::run::CommandOutcome;

/// Set in the process that has no network.
const INSIDE: &str = "TEST_WITHOUT_NETWORK";

/// Runs the body of a `#[test]` function in a process of its own with loopback
/// only, and fails if it fails there. The programs it needs are installed
/// before, while there is a network.
///
/// The body must be a closure written in the test function itself: its name is
/// how the new process knows which test to run.
#[track_caller]
pub fn offline<Body: FnOnce()>(programs: &[AgentCli], body: Body) {
    if std::env::var_os(INSIDE).is_some() {
        assert!(only_loopback(), "this process has a network");
        return body();
    }
    for program in programs {
        program.program();
    }
    let test = test_name(std::any::type_name::<Body>());
    let again = std::env::current_exe().expect("the test binary has a path");
    let outcome: CommandOutcome = Command::new("unshare")
        .args(["--net", "--map-root-user", "sh", "-c"])
        .arg("ip link set lo up && exec \"$0\" --exact \"$1\" --nocapture --test-threads=1")
        .arg(again)
        .arg(test)
        .env(INSIDE, "1")
        .output()
        .expect("unshare runs (apt package util-linux)")
        .into();
    // A name that fits no test would pass with nothing done.
    let ran = outcome.stdout.contains("test result: ok. 1 passed");
    assert!(
        outcome.code == Some(0) && ran,
        "{test} without a network (needs unshare, apt package util-linux, and ip, \
         apt package iproute2): {:?}\n{}\n{}",
        outcome.code,
        outcome.stdout,
        outcome.stderr
    );
}

/// The name of a test as the test binary knows it, from its closure's type:
/// `binary::module::test::{{closure}}`.
fn test_name(closure: &str) -> &str {
    let path = closure.strip_suffix("::{{closure}}").unwrap_or(closure);
    path.split_once("::").map_or(path, |(_, name)| name)
}

fn only_loopback() -> bool {
    let table = std::fs::read_to_string("/proc/self/net/dev").expect("Linux");
    table.lines().skip(2).all(|line| line.trim_start().starts_with("lo:"))
}
