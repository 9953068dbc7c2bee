//! `cancel`: on a terminal, asks the person to choose a session if several are active.

use std::io::{self, BufRead, IsTerminal};

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Dialect, Mode, Refusal, RefusalCode, SessionId, Value};
use omx_ops::{
    CancelBreadth, CancelOptions, CancelReport, CancelRequest, Context, cancel,
    sessions_to_choose_from,
};
use omx_runs::stop::RunTermination;

use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_state::CancelArgs;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::relayed_call::{RelayedCall, relay_of_agent};

/// Runs the command.
pub fn run(args: &CancelArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    // A limit for file sizes must not keep anything from being stopped.
    omx_process::ignore_file_size_signal();
    if args.finish {
        // Leave the host's session: the host may kill everything its hook started.
        let _ = rustix::process::setsid();
    }
    with_context(global, by_name, format, |context| {
        let options = options(args)?;
        if let Some(relay) = relay_of_agent(global)? {
            let relayed = RelayedCall { tool: "cancel", arguments: options.value() };
            return relayed.send(&relay).map(|answer| answer.print(format, |it| reply(it, format)));
        }
        let mut request = CancelRequest::try_from(options.clone())?;
        if args.finish && args.session_id.is_some() {
            request.breadth = CancelBreadth::Finish;
        }
        let report = match cancel(context, &request) {
            Err(refusal) if refusal.code == RefusalCode::AmbiguousSession && can_ask(format) => {
                match choose_on_terminal(context, options)? {
                    Some(chosen) => cancel(context, &chosen.try_into()?)?,
                    None => return Err(refusal),
                }
            }
            result => result?,
        };
        let printed = print(&report, format);
        let failed = report_runs(&report);
        Ok(failed.or(report.failure().map(|_| Exit::Failed)).unwrap_or(printed))
    })
}

/// Prints a report that came through the relay.
fn reply(report: &Value, format: Format) -> Exit {
    match report.get("message").and_then(Value::as_str) {
        Some(message) if format == Format::Text => {
            output::lines(&message.lines().map(str::to_owned).collect::<Vec<_>>())
        }
        _ => output::value(report, format),
    }
}

fn options(args: &CancelArgs) -> Result<CancelOptions, Refusal> {
    Ok(CancelOptions {
        project: None,
        what: args.what.clone(),
        mode: args.mode.as_deref().map(Mode::parse).transpose()?,
        session: args.session_id.as_deref().map(SessionId::new).transpose()?,
        force: args.force,
        every_session: args.every_session,
    })
}

/// Reports the processes that did not exit by themselves.
fn report_runs(report: &CancelReport) -> Option<Exit> {
    let mut exit = None;
    for (run, termination) in &report.runs {
        match termination {
            RunTermination::Killed => {
                output::note(&format!("run {run} did not stop by itself and was killed"));
            }
            RunTermination::StillRunning => {
                output::note(&format!(
                    "error: run {run} is cancelled, but a process still holds it"
                ));
                exit = Some(Exit::Failed);
            }
            RunTermination::NotRunning | RunTermination::Exited => {}
        }
    }
    exit
}

fn print(report: &CancelReport, format: Format) -> Exit {
    match format {
        Format::Json => output::value(&report.value(), format),
        Format::Text => output::lines(&report.lines),
    }
}

fn can_ask(format: Format) -> bool {
    format == Format::Text && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the person to choose a session; `None` if they choose none.
fn choose_on_terminal(
    context: &Context<'_>,
    options: CancelOptions,
) -> Result<Option<CancelOptions>, Refusal> {
    let request = CancelRequest::try_from(options.clone())?;
    let CancelBreadth::Scope(target) = request.breadth else { return Ok(None) };
    let sessions = sessions_to_choose_from(context, target)?;
    output::note("Modes are active in several sessions:");
    for (index, (session, modes)) in sessions.iter().enumerate() {
        let modes: Vec<&str> = modes.all().map(Mode::name).collect();
        output::note(&format!("  {}) {session} ({})", index + 1, modes.join(", ")));
    }
    let is_everything = target == CancelTarget::Everything;
    let all = if is_everything { ", a for all" } else { "" };
    output::prompt(&format!("Cancel which? [1-{}{all}, Enter for none]", sessions.len()));
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    Ok(match answer.trim() {
        "a" if is_everything => Some(CancelOptions { every_session: true, ..options }),
        answer => {
            let index = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let chosen = index.and_then(|index| sessions.into_iter().nth(index));
            chosen.map(|(session, _)| CancelOptions { session: Some(session), ..options })
        }
    })
}
