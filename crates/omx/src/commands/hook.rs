//! `hook`: a host's event on standard input, an effect on standard output.
//!
//! Whatever goes wrong, the answer is the empty effect, exit 0, within a second:
//! a person is never stopped or delayed because omx has a problem.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use omx_host::HostKind;
use omx_host::hook::{FollowUp, HookEvent, HookOutcome, HookOutput, HookPayload, handle_event};
use omx_kernel::Dialect;
use omx_prompt::{
    self as prompt, CallTarget, CandidateVerdict, KeywordPolicy, PromptDecision, SessionState,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cli::Global;
use crate::edge;
use crate::exit::Exit;
use crate::output;

/// From the start of the process to its answer: within a second, with something
/// left for the start and the end of a process.
const DEADLINE: Duration = Duration::from_millis(900);

/// A payload that is longer is no event of ours.
const LONGEST: usize = 16 * 1024 * 1024;

/// Whether somebody has answered; the first does, and nobody after.
static ANSWERED: AtomicBool = AtomicBool::new(false);

/// Answers one event.
pub fn run(host: HostKind, event: Option<&str>, by_name: Dialect) -> Exit {
    let begun = Instant::now();
    answer_panics();
    if let Some(bytes) = read(begun)
        && let Some(payload) = HookPayload::parse(host, event, &bytes)
    {
        if may_flush(&payload.event) {
            watch(begun);
        }
        let handled = answer(&payload, by_name).unwrap_or(HookOutput::Empty.into());
        say(&handled.output.format_line(host, &payload.name));
        if let (FollowUp::FinishCancel, Some(session)) = (handled.follow_up, &payload.session) {
            finish_cancel(&payload, session.as_str());
        }
    }
    say("{}");
    Exit::Done
}

/// With `panic = "abort"` only a panic hook can still answer.
fn answer_panics() {
    std::panic::set_hook(Box::new(|_| give_up()));
}

fn answer(payload: &HookPayload<'_>, by_name: Dialect) -> Option<HookOutcome> {
    let surroundings = edge::hook(payload, by_name)?;
    handle_event(payload, &surroundings.context, &surroundings.files).ok()
}

/// Reads standard input to its end; `None` if that takes too long or too much.
fn read(begun: Instant) -> Option<Vec<u8>> {
    let input = rustix::stdio::stdin();
    let mut bytes = Vec::with_capacity(16 * 1024);
    loop {
        let left = DEADLINE.checked_sub(begun.elapsed())?;
        let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return None,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        bytes.reserve(16 * 1024);
        match rustix::io::read(input, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => return Some(bytes),
            Ok(_) if bytes.len() > LONGEST => return None,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return None,
        }
    }
}

/// Whether the event may wait for a disk: then somebody keeps the deadline.
fn may_flush(event: &HookEvent<'_>) -> bool {
    !matches!(event, HookEvent::BeforeTool { .. } | HookEvent::AfterTool { .. } | HookEvent::Other)
}

/// Gives up when the time is over.
fn watch(begun: Instant) {
    let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
        std::thread::sleep(DEADLINE.saturating_sub(begun.elapsed()));
        give_up();
    });
}

/// Ends the process with the empty effect, unless there was an answer.
fn give_up() {
    say("{}");
    std::process::exit(0);
}

/// Says it, unless something was said before.
fn say(line: &str) {
    if !ANSWERED.swap(true, Ordering::SeqCst) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(line.as_bytes());
        let _ = out.write_all(b"\n");
        let _ = out.flush();
    }
}

/// Leaves the processes of a cancelled run to one that may take its time.
fn finish_cancel(payload: &HookPayload<'_>, session: &str) {
    let Ok(program) = edge::own_program() else { return };
    let mut command = Command::new(program);
    command.args(["cancel", "--finish", "--session-id", session]);
    if let Some(folder) = edge::hook_folder(payload) {
        command.current_dir(folder);
    }
    let null = Stdio::null;
    let _ = command.stdin(null()).stdout(null()).stderr(null()).spawn();
}

/// Says what a prompt would start, and why it would not start the others.
pub fn explain(text: &str, global: &Global, by_name: Dialect) -> Exit {
    let keywords = edge::context(global, by_name, "cli").ok().and_then(|context| {
        let store = context.store().ok()?;
        let config = omx_ops::config::load(&context, &store).ok()?;
        KeywordPolicy::parse(config.get("keywords")?.value.as_str()?)
    });
    let explained = prompt::explain(text, keywords.unwrap_or_default(), SessionState::Idle);
    let mut lines = vec![match &explained.decision {
        PromptDecision::Nothing => "Starts nothing.".to_owned(),
        PromptDecision::Suggest(mode) => {
            format!("Suggests {0}; starts nothing. ${0} would start it.", mode.name())
        }
        PromptDecision::Start(start) => {
            let linked: Vec<&str> = start.linked.iter().map(|mode| mode.name()).collect();
            let with = if linked.is_empty() { String::new() } else { " with ".to_owned() };
            let task = if start.task.is_empty() { "(none)" } else { start.task };
            format!("Starts {}{with}{}. Task: {task}", start.mode.name(), linked.join(" and "))
        }
        PromptDecision::Cancel => "Cancels what is active.".to_owned(),
        PromptDecision::Resume => "Resumes what is waiting for the person.".to_owned(),
    }];
    for candidate in &explained.candidates {
        let word = match candidate.target {
            CallTarget::Mode(mode) => mode.name(),
            CallTarget::Cancel => "cancel",
        };
        let why = match candidate.verdict {
            CandidateVerdict::Accepted => "counts",
            CandidateVerdict::Rejected(why) => why.as_str(),
        };
        lines.push(format!("  {word} ({:?}, byte {}): {why}", candidate.text, candidate.at));
    }
    output::lines(&lines)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    /// Set in the process that panics.
    const PANICS: &str = "TEST_PANICS";

    #[test]
    #[allow(clippy::panic, clippy::unwrap_used, reason = "a test")]
    fn hosts_1_1_a_panic_gives_the_empty_effect() {
        if std::env::var_os(PANICS).is_some() {
            super::answer_panics();
            panic!("as anything may");
        }
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "commands::hook::tests::hosts_1_1_a_panic_gives_the_empty_effect"]);
        let output = again.args(["--nocapture", "--quiet"]).env(PANICS, "1").output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(said.lines().last(), Some("{}"), "{said}");
        assert!(output.stderr.is_empty(), "{:?}", output.stderr);
    }
}
