//! `hook`: reads a host's event from standard input and prints the effect.
//!
//! Whatever goes wrong, the hook prints the empty effect and exits with 0 within a
//! second: a problem in omx must never stop or delay a person.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omx_host::HostKind;
use omx_host::hook::{HookEvent, HookFollowUp, HookOutcome, HookOutput, HookPayload, handle_event};
use omx_kernel::Dialect;
use omx_ops::hook::CancelRest;
use omx_prompt::{
    self as prompt, CallTarget, CancelReach, CandidateVerdict, KeywordPolicy, PromptDecision,
    SessionState,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cli::GlobalArgs;
use crate::edge;
use crate::exit::Exit;
use crate::output;

/// The time from the start of the process to its answer. It leaves some of the second
/// for starting and ending the process.
const DEADLINE: Duration = Duration::from_millis(900);

/// The maximum payload size. Anything larger is not an event.
const LONGEST: usize = 16 * 1024 * 1024;

/// Answers one event.
pub fn run(host: HostKind, event: Option<&str>, by_name: Dialect) -> Exit {
    let begun = Instant::now();
    omx_process::answer_after(DEADLINE);
    omx_process::ignore_file_size_signal();
    answer_panics();
    if let Some(bytes) = read(begun)
        && let Some(payload) = HookPayload::parse(host, event, &bytes)
    {
        if may_flush(&payload.event) {
            watch(begun);
        }
        let handled = answer(&payload, by_name).unwrap_or(HookOutput::Empty.into());
        say(&handled.output.format_line(host, &payload.name, edge::text));
        if let (HookFollowUp::FinishCancel(rest), Some(session)) =
            (handled.follow_up, &payload.session)
        {
            finish_cancel(&payload, session.as_str(), rest);
        }
    }
    say("{}");
    Exit::Done
}

/// With `panic = "abort"`, only a panic hook can still print an answer.
fn answer_panics() {
    std::panic::set_hook(Box::new(|_| give_up()));
}

fn answer(payload: &HookPayload<'_>, by_name: Dialect) -> Option<HookOutcome> {
    let hook_edge = edge::hook(payload, by_name)?;
    handle_event(payload, &hook_edge.context, &hook_edge.files).ok()
}

/// Reads standard input to its end; `None` if it takes too long or is too large.
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

/// Whether handling the event may wait for a disk. No signal interrupts that, so a thread
/// has to enforce the deadline.
fn may_flush(event: &HookEvent<'_>) -> bool {
    !matches!(event, HookEvent::BeforeTool { .. } | HookEvent::AfterTool { .. } | HookEvent::Other)
}

/// Starts a thread that gives up at the deadline.
fn watch(begun: Instant) {
    let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
        std::thread::sleep(DEADLINE.saturating_sub(begun.elapsed()));
        give_up();
    });
}

/// Exits with the empty effect, unless an answer was printed.
fn give_up() {
    say("{}");
    std::process::exit(0);
}

/// Prints an answer, unless one was printed before.
fn say(line: &str) {
    if omx_process::claim_answer() {
        let mut out = io::stdout().lock();
        let _ = out.write_all(line.as_bytes());
        let _ = out.write_all(b"\n");
        let _ = out.flush();
    }
}

/// Hands the processes of a cancelled run over to a process that has time to wait.
fn finish_cancel(payload: &HookPayload<'_>, session: &str, rest: CancelRest) {
    let Ok(program) = edge::own_program() else { return };
    let mut command = Command::new(program);
    command.args(["cancel", "--finish"]);
    match rest {
        CancelRest::Nothing => return,
        CancelRest::Session => command.args(["--session-id", session]),
        CancelRest::EverySession => command.arg("--every-session"),
        CancelRest::Force => command.arg("--force"),
    };
    if let Some(folder) = edge::hook_folder(payload) {
        command.current_dir(folder);
    }
    let null = Stdio::null;
    let _ = command.stdin(null()).stdout(null()).stderr(null()).spawn();
}

/// Explains what a prompt would start, and why it would not start the others.
pub fn explain(text: &str, global: &GlobalArgs, by_name: Dialect) -> Exit {
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
            let linked = linked.join(" and ");
            match (start.mode.name(), start.task) {
                (name, "") => format!("Resumes {name}{with}{linked}, if there is a run to resume."),
                (name, task) => format!("Starts {name}{with}{linked}. Task: {task}"),
            }
        }
        PromptDecision::Cancel(call) => match call.reach {
            CancelReach::Session => "Cancels what is active in this session.".to_owned(),
            CancelReach::Mode(mode) => format!("Cancels {} in this session.", mode.name()),
            CancelReach::EverySession => "Cancels what is active in every session.".to_owned(),
            CancelReach::Force => {
                "Cancels what is active in every session and clears all state.".to_owned()
            }
        },
        PromptDecision::Resume => "Resumes what is waiting for the person.".to_owned(),
        PromptDecision::Continue => {
            "Tells the agent what the active mode's phase asks for.".to_owned()
        }
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
        let message = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{message}");
        assert_eq!(message.lines().last(), Some("{}"), "{message}");
        assert!(output.stderr.is_empty(), "{:?}", output.stderr);
    }
}
