//! `status`: shows the active modes as a table.

use omx_kernel::time::format_age;
use omx_kernel::{Dialect, ForeignText, SessionId};
use omx_ops::{MISNAMED, StatusReport, StatusRequest, WaitingMode, status};

use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_state::StatusArgs;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::text::{columns, pad, truncate};

/// The width of a phase's name.
const PHASE_COLUMNS: usize = 24;
/// The width of a task.
const TASK_COLUMNS: usize = 40;

/// Shows the active modes.
pub fn run(args: &StatusArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    with_context(global, by_name, format, |context| {
        let session = args.session_id.as_deref().map(SessionId::new).transpose()?;
        let request = StatusRequest { session, ..StatusRequest::default() };
        let report = status(context, &request)?;
        Ok(match format {
            Format::Json => output::value(&report.value(), format),
            Format::Text => output::lines(&lines(&report, &request, context.dialect)),
        })
    })
}

/// Shows the same and a hint, when omx is called without a command.
pub fn overview(global: &GlobalArgs, by_name: Dialect) -> Exit {
    with_context(global, by_name, Format::Text, |context| {
        let request = StatusRequest::default();
        let report = status(context, &request)?;
        let mut lines = lines(&report, &request, context.dialect);
        lines.push(String::new());
        lines.push(format!("Run {} --help for a list of commands.", context.dialect.name));
        Ok(output::lines(&lines))
    })
}

fn lines(report: &StatusReport, request: &StatusRequest, dialect: Dialect) -> Vec<String> {
    let mut lines = Vec::new();
    if report.active.is_empty() {
        lines.push(format!("No active modes in {}.", report.root.display()));
    } else {
        lines.push(format!("Active in {}:", report.root.display()));
        lines.extend(table(report));
        for stop in &report.stops {
            let session = stop.scope.session().map_or("-", |id| id.as_str());
            lines.push(match stop.held_by {
                Some(mode) => format!("Stop is held in session {session} by {}.", mode.name()),
                None => format!("Stop is not held in session {session}: {}.", stop.why),
            });
        }
        lines.push(stop_line(report, request, dialect));
    }
    lines.extend(report.waiting.iter().map(|waiting| waiting_line(waiting, dialect)));
    for id in &report.foreign {
        let program = dialect.name;
        lines.push(format!(
            "Run {id} is foreign; to see what it would do, run {program} runs adopt {id}."
        ));
    }
    for found in &report.unreadable {
        lines.push(format!("Unreadable: {}", found.error));
    }
    for found in &report.misnamed {
        lines.push(format!("Unreadable: {}: {MISNAMED}", found.path.display()));
    }
    lines
}

/// The command that stops what is shown. Without a session it would be ambiguous where
/// several are active.
fn stop_line(report: &StatusReport, request: &StatusRequest, dialect: Dialect) -> String {
    let program = dialect.name;
    let mut sessions: Vec<&SessionId> =
        report.active.iter().filter_map(|active| active.scope.session()).collect();
    sessions.dedup();
    match (&request.session, sessions.as_slice()) {
        (Some(session), _) => format!("To stop, run {program} cancel --session-id {session}."),
        (None, [first, _, ..]) => format!(
            "To stop one session, run {program} cancel --session-id {first}; to stop all, \
             {program} cancel --every-session."
        ),
        (None, _) => format!("To stop, run {program} cancel."),
    }
}

/// What a mode waits for, and how it goes on or ends.
fn waiting_line(waiting: &WaitingMode, dialect: Dialect) -> String {
    let (mode, program) = (waiting.mode.name(), dialect.name);
    let reason = format_text(waiting.reason.as_ref(), "it is blocked");
    let phase = format_text(waiting.phase.as_ref(), "-");
    match (&waiting.run, waiting.scope.session()) {
        (Some(run), _) => format!(
            "Needs you: {mode} (run {run}, phase {phase}): {reason}. Resume it with {program} runs \
             resume {run}, or end it with {program} cancel --session-id {run}."
        ),
        (None, Some(session)) => format!(
            "Needs you: {mode} (session {session}, phase {phase}): {reason}. Say \"continue\" in that \
             conversation, or end it with {program} cancel --session-id {session}."
        ),
        (None, None) => format!(
            "Needs you: {mode} (phase {phase}): {reason}. Resume it with {program} state write and \
             \"resume\": true, or end it with {program} cancel."
        ),
    }
}

fn table(report: &StatusReport) -> Vec<String> {
    let header = ["MODE", "SESSION", "PHASE", "ITERATION", "UPDATED", "TASK"];
    let mut rows = vec![header.map(str::to_owned)];
    for active in &report.active {
        let iteration = match active.iteration {
            (Some(at), Some(limit)) => format!("{at}/{limit}"),
            (Some(at), None) => at.to_string(),
            _ => "-".to_owned(),
        };
        let mut sign =
            active.updated_at.map_or("-".to_owned(), |time| format_age(time, report.now));
        if active.stale {
            sign.push_str(" (stale)");
        }
        rows.push([
            active.mode.name().to_owned(),
            active.scope.session().map_or("-".to_owned(), ToString::to_string),
            truncate(&format_text(active.phase.as_ref(), "-"), PHASE_COLUMNS),
            iteration,
            sign,
            truncate(&format_text(active.task.as_ref(), ""), TASK_COLUMNS),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| pad(cell, *width));
            format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
        })
        .collect()
}

fn format_text(text: Option<&ForeignText>, none: &str) -> String {
    text.map_or_else(|| none.to_owned(), |text| text.one_line().to_string())
}
