//! quality.md R16 on the built program: for any input it ends in time with a defined
//! exit code, and writes nothing outside the project.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use omx_testkit::TestProject;
use omx_testkit::fuzz::{Random, document, fuzz_at_most, odd_bytes, request, rpc_line};

use crate::project;

const DEADLINE: Duration = Duration::from_secs(5);
/// Processes in a short run.
const MOST: u64 = 150;

/// A project with a few documents of any content.
fn planted(rng: &mut Random) -> TestProject {
    let project = project();
    for path in ["ralph-state.json", "sessions/s1/autopilot-state.json", "team-state.json"] {
        if !rng.one_in(3) {
            project.write(&format!(".omx/state/{path}"), document(rng));
        }
    }
    project
}

/// Runs it with this input and returns its exit code.
fn ended(mut command: Command, stdin: &[u8]) -> Option<i32> {
    let mut child: Child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("omx starts");
    let start = Instant::now();
    // A program that answers before it has read everything closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if start.elapsed() > DEADLINE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it did not end within {DEADLINE:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a text could name another project folder.
fn names_a_folder(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).contains("irectory")
}

#[test]
fn fuzz_program_state() {
    fuzz_at_most("fuzz_program_state", MOST, |rng| {
        let project = planted(rng);
        let operation = rng.pick(&["read", "write", "write", "clear", "list-active", "get-status"]);
        let input = if rng.one_in(8) { odd_bytes(rng) } else { request(rng).into_bytes() };
        if names_a_folder(&input) {
            return;
        }
        let mut args = vec!["state", operation, "--input", "-"];
        if rng.one_in(2) {
            args.push("--json");
        }
        let command = project.omx_command(&args);
        check(&project, command, &input);
    });
}

#[test]
fn fuzz_program_arguments() {
    fuzz_at_most("fuzz_program_arguments", MOST, |rng| {
        let project = planted(rng);
        let text = request(rng);
        // The system itself takes no more, and no NUL.
        if names_a_folder(text.as_bytes()) || text.contains('\0') || text.len() > 100_000 {
            return;
        }
        let args: Vec<&str> = match rng.below(6) {
            0 => vec!["state", "write", "--input", &text],
            1 => vec!["state", "write", "--input", &text, "--mode", "ralph", "--session-id", "s1"],
            2 => vec!["cancel", "--mode", &text],
            3 => vec!["cancel", "--session-id", &text],
            4 => vec!["state", &text],
            _ => vec!["cancel", rng.pick(&["--force", "--every-session", "--json"])],
        };
        let command = project.omx_command(&args);
        check(&project, command, b"");
    });
}

#[test]
fn fuzz_program_mcp() {
    fuzz_at_most("fuzz_program_mcp", 20, |rng| {
        let project = planted(rng);
        let lines: Vec<Vec<u8>> = (0..50).map(|_| rpc_line(rng)).collect();
        let input = lines.into_iter().filter(|line| !names_a_folder(line)).collect::<Vec<_>>();
        let command = project.omx_command(&["mcp"]);
        check(&project, command, &input.join(&b'\n'));
    });
}

fn check(project: &TestProject, command: Command, stdin: &[u8]) {
    let report = format!("{command:?}");
    let outside = |project: &TestProject| {
        let mut bytes = project.bytes("..");
        let tree = project.root().join("../project/.omx");
        bytes.retain(|path, _| !path.starts_with(&tree));
        bytes
    };
    let before = outside(project);
    let code = ended(command, stdin);
    let input = String::from_utf8_lossy(&stdin[..stdin.len().min(2_000)]);
    assert!(matches!(code, Some(0..=2)), "{code:?}\n{report}\n{input}");
    assert!(outside(project) == before, "changed outside\n{report}\n{input}");
}
