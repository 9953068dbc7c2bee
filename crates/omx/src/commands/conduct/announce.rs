//! Prints what a run was asked to do, before anything happens.

use omx_kernel::{EscapedText, ForeignText, Refusal};
use omx_ops::{Context, RunStartReport};
use omx_runs::RunSpec;

use crate::exit::Exit;
use crate::output::{self, Format};

/// Prints the effective settings of a run.
pub(super) fn announce(report: &RunStartReport, format: Format) {
    if format == Format::Json {
        output::value(&report.value(), format);
        return;
    }
    for warning in &report.warnings {
        output::note(&format!("warning: {warning}"));
    }
    let RunSpec { mode, agent, check, workspace, .. } = &report.spec;
    // All of this may be the repository's text.
    let folder = workspace.folder().to_string_lossy();
    let folder = EscapedText::one_line(&folder);
    let allowed = match report.spec.allow.as_str() {
        "edits" => "may edit files there; asks you before it runs commands",
        "all" => "may do anything: its own safeguards are off",
        _ => "may edit files and run commands there",
    };
    let none = "none detected; set one with --check";
    let check = check.as_ref().map_or(none, ForeignText::raw);
    // A line break separates commands, so it stays visible.
    let check = check.replace('\n', "\\n");
    let check = EscapedText::one_line(&check);
    output::lines(&[
        format!("{} run {}", mode.name(), report.id),
        format!("  folder  {folder}"),
        format!("  agent   {} {allowed}", EscapedText::one_line(agent)),
        format!("  check   {check}"),
    ]);
}

/// Prints the settings of a run that another process drives, and how to reach it.
pub(super) fn announce_detached(
    context: &Context<'_>,
    report: &RunStartReport,
    format: Format,
) -> Result<Exit, Refusal> {
    announce(report, format);
    if format == Format::Text {
        let (program, id) = (context.dialect.name, &report.id);
        output::lines(&[
            format!("follow it: {program} runs attach {id}"),
            format!("cancel it: {program} cancel --session-id {id}"),
        ]);
    }
    Ok(Exit::Done)
}
