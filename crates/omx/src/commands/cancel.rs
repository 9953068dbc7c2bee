//! `cancel`: on a terminal, a person is asked which session is meant.

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

use omx_kernel::{Dialect, Mode, Refusal, RefusalCode, RunId, Scope, SessionId, Value};
use omx_ops::{CancelReport, Context, Input, cancel, sessions_with_active_modes};
use omx_runs::stop::{self, RunTermination};

use super::{set_flags, with_context};
use crate::cli::{CancelArgs, Global};
use crate::exit::Exit;
use crate::output::{self, Format};

/// How long a run has to stop by itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a run that has begun has to say so in its document.
const BEGINNING: Duration = Duration::from_secs(5);

/// Cancels.
pub fn run(args: &CancelArgs, global: &Global, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    if args.finish {
        // The host that ran the hook may end everything it started.
        let _ = rustix::process::setsid();
    }
    with_context(global, by_name, format, |context| {
        let mut input = Input::default();
        let flags = [("mode", args.mode.as_ref()), ("session_id", args.session_id.as_ref())];
        set_flags(&mut input, &flags)?;
        for (name, given) in [("force", args.force), ("every_session", args.every_session)] {
            if given {
                input.set(name, Value::bool(true))?;
            }
        }
        let mut report = match cancel(context, &input) {
            Err(refusal) if refusal.code == RefusalCode::AmbiguousSession && can_ask(format) => {
                match ask(context, &input)? {
                    Some(chosen) => cancel(context, &chosen)?,
                    None => return Err(refusal),
                }
            }
            result => result?,
        };
        if report.cancelled.is_empty() && !args.finish && has_begun(context, &input, args)? {
            report = cancel(context, &input)?;
        }
        let printed = print(&report, format);
        let mut sessions: BTreeSet<SessionId> =
            report.cancelled.iter().filter_map(|(scope, _)| scope.session().cloned()).collect();
        if args.finish {
            // Its documents were ended by the hook already.
            sessions.extend(args.session_id.as_deref().and_then(|id| SessionId::new(id).ok()));
        }
        Ok(stop_runs(context, &sessions)?.unwrap_or(printed))
    })
}

/// Whether a run that this cancel is meant for began a moment ago, and has
/// written its document only now.
fn has_begun(context: &Context<'_>, input: &Input, args: &CancelArgs) -> Result<bool, Refusal> {
    let store = context.store(&Input::default())?;
    let scope = match args.force || args.every_session {
        true => Scope::Compatibility,
        false => context.scope(input)?,
    };
    stop::wait_for_starting(&store, scope.session(), BEGINNING)
}

/// Ends the processes that drove what was cancelled. The documents are written
/// by now, so nothing of it begins again whatever comes of this.
fn stop_runs(
    context: &Context<'_>,
    sessions: &BTreeSet<SessionId>,
) -> Result<Option<Exit>, Refusal> {
    let mut exit = None;
    for session in sessions {
        let Ok(run) = RunId::new(session.as_str()) else { continue };
        let store = context.store(&Input::default())?;
        match stop::terminate(&store, &run, PATIENCE)? {
            RunTermination::NotRunning | RunTermination::Exited => {}
            RunTermination::Killed => {
                output::note(&format!("run {run} did not stop by itself and was killed"))
            }
            RunTermination::StillRunning => {
                output::note(&format!(
                    "error: run {run} is cancelled, but a process still holds it"
                ));
                exit = Some(Exit::Failed);
            }
        }
    }
    Ok(exit)
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

/// Asks which session is meant; `None` if the person wants none of them.
fn ask(context: &Context<'_>, input: &Input) -> Result<Option<Input>, Refusal> {
    let sessions: Vec<(SessionId, Vec<Mode>)> = sessions_with_active_modes(context, input)?;
    output::note("Modes are active in several sessions:");
    for (index, (session, modes)) in sessions.iter().enumerate() {
        let modes: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
        output::note(&format!("  {}) {session} ({})", index + 1, modes.join(", ")));
    }
    let mut err = io::stderr().lock();
    let all = if input.get("mode").is_none() { ", a for all" } else { "" };
    let _ = write!(err, "Cancel which? [1-{}{all}, Enter for none] ", sessions.len());
    let _ = err.flush();
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    let mut chosen = input.clone();
    match answer.trim() {
        "a" if input.get("mode").is_none() => chosen.set("every_session", Value::bool(true))?,
        answer => {
            let index = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let Some((session, _)) = index.and_then(|index| sessions.get(index)) else {
                return Ok(None);
            };
            chosen.set("session_id", Value::string(session.as_str()))?;
        }
    }
    Ok(Some(chosen))
}
