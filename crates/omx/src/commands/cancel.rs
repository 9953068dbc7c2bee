//! `cancel`: on a terminal, a person is asked which session is meant.

use std::io::{self, BufRead, IsTerminal, Write};

use omx_kernel::{Code, Dialect, Mode, Refusal, SessionId, Value};
use omx_ops::{CancelReport, Context, Input, cancel, sessions_with_active_modes};

use super::{set_flags, with_context};
use crate::cli::{CancelArgs, Global};
use crate::exit::Exit;
use crate::output::{self, Format};

/// Cancels.
pub fn run(args: &CancelArgs, global: &Global, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    with_context(global, by_name, format, |context| {
        let mut input = Input::default();
        let flags = [("mode", args.mode.as_ref()), ("session_id", args.session_id.as_ref())];
        set_flags(&mut input, &flags)?;
        for (name, given) in [("force", args.force), ("every_session", args.every_session)] {
            if given {
                input.set(name, Value::bool(true))?;
            }
        }
        let report = match cancel(context, &input) {
            Err(refusal) if refusal.code == Code::AmbiguousSession && can_ask(format) => {
                match ask(context, &input)? {
                    Some(chosen) => cancel(context, &chosen)?,
                    None => return Err(refusal),
                }
            }
            result => result?,
        };
        Ok(print(&report, format))
    })
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
