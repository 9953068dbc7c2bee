//! A program with a deadline ends on time and its output is bounded.

use std::process::Command;
use std::time::{Duration, Instant};

use omx_process::{
    CommandLimits, CommandOutput, KeptOutput, Leftovers, ProcessInfo, run_with_deadline,
};

use crate::stage::{LONG, ProcessFixture, wait_until};

const LIMITS: CommandLimits = CommandLimits {
    deadline: LONG,
    grace: Duration::from_millis(500),
    drain: Duration::from_millis(300),
    stdout: KeptOutput::First(1000),
    stderr: KeptOutput::Last(1000),
    leftovers: Leftovers::Keep,
};

fn sh(stage: &ProcessFixture, script: &str, input: &[u8], limits: CommandLimits) -> CommandOutput {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(stage.path("."));
    run_with_deadline(&mut command, input, limits).unwrap()
}

#[test]
fn a_program_gets_its_input_and_its_output_is_returned() {
    let stage = ProcessFixture::new();
    let output = sh(&stage, "cat; echo no >&2; exit 3", b"in", LIMITS);
    assert_eq!(output.status.unwrap().code(), Some(3));
    assert_eq!((output.stdout.as_slice(), output.stdout_length), (&b"in"[..], 2));
    assert_eq!(output.stderr, b"no\n");
}

#[test]
fn an_input_larger_than_a_pipe_does_not_block() {
    let stage = ProcessFixture::new();
    let input = vec![b'x'; 1 << 20];
    let output = sh(&stage, "cat", &input, LIMITS);
    assert_eq!(output.stdout_length, input.len());
    assert_eq!(output.stdout, input[..1000]);
    let output = sh(&stage, "exec <&-; echo done", &input, LIMITS);
    assert_eq!(output.stdout, b"done\n");
}

#[test]
fn output_is_bounded_at_its_beginning_or_its_end() {
    let stage = ProcessFixture::new();
    let script = "seq 1 20000; seq 1 20000 >&2";
    let output = sh(&stage, script, b"", LIMITS);
    assert_eq!((output.stdout.len(), output.stderr.len()), (1000, 1000));
    assert!(output.stdout.starts_with(b"1\n2\n3\n"));
    assert!(output.stderr.ends_with(b"19999\n20000\n"));
    assert_eq!(output.stdout_length, 108_894);
}

#[test]
fn a_program_past_its_deadline_ends_with_what_it_started() {
    let stage = ProcessFixture::new();
    let deadline = Duration::from_millis(300);
    let script = "trap '' TERM; sh -c \"trap '' TERM; sleep 1000\" & echo early; sleep 1000";
    let begun = Instant::now();
    let output = sh(&stage, script, b"", CommandLimits { deadline, ..LIMITS });
    assert!(begun.elapsed() < LONG / 2, "{:?}", begun.elapsed());
    assert!(output.status.is_none());
    assert_eq!(output.stdout, b"early\n");
    wait_until("its child is gone", || stage.processes().is_empty());
}

#[test]
fn a_program_may_clean_up_when_it_is_terminated() {
    let stage = ProcessFixture::new();
    let deadline = Duration::from_millis(300);
    let script = "trap 'echo cleaned > cleaned; exit' TERM; sleep 1000 & wait";
    sh(&stage, script, b"", CommandLimits { deadline, grace: LONG, ..LIMITS });
    assert!(stage.path("cleaned").exists());
}

#[test]
fn a_process_left_in_the_background_delays_nothing() {
    let stage = ProcessFixture::new();
    let begun = Instant::now();
    let script = "sleep 1000 & echo $! > left; echo done";
    let output = sh(&stage, script, b"", LIMITS);
    assert!(begun.elapsed() < LONG / 2, "{:?}", begun.elapsed());
    assert_eq!(output.stdout, b"done\n");
    let left = stage.process("left");
    assert!(left.is_running());
    left.signal(omx_process::Signal::KILL);
    let limits = CommandLimits { leftovers: Leftovers::Kill, ..LIMITS };
    sh(&stage, script, b"", limits);
    wait_until("it is killed", || !stage.process("left").is_running());
}

#[test]
fn a_detached_program_leads_a_session_of_its_own() {
    let mut command =
        omx_process::platform::detached_command("/bin/sleep".as_ref(), &Default::default());
    let mut child = command.arg("60").spawn().unwrap();
    wait_until("it leads its session", || {
        ProcessInfo::read(child.id()).is_some_and(|info| info.session == child.id())
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_program_that_does_not_exist_is_an_error() {
    let mut command = Command::new("/nonexistent/program");
    let error = run_with_deadline(&mut command, b"", LIMITS).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
