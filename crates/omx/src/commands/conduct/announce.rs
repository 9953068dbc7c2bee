//! Prints what a run was asked to do, before anything happens.

use omx_conductor::sandbox::SandboxSetup;
use omx_kernel::approval::AllowLevel;
use omx_kernel::confinement::WorkspaceAccess;
use omx_kernel::{AgentKind, EscapedText, ForeignText, Mode, Refusal};
use omx_ops::{Context, RunStartReport};
use omx_runs::{RunSpec, Workspace};

use crate::exit::Exit;
use crate::output::{self, Format};
use crate::sandbox;

/// Prints the effective settings of a run.
pub(super) fn announce(report: &RunStartReport, setup: &SandboxSetup, format: Format) {
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
    let mut lines = vec![
        format!("{} run {}", mode.name(), report.id),
        format!("  folder  {folder}"),
        format!("  agent   {} {allowed}", EscapedText::one_line(agent)),
        format!("  check   {check}"),
    ];
    lines.extend(confinement_lines(&report.spec, setup));
    output::lines(&lines);
}

/// What confines the agents of a run, and what that leaves open.
fn confinement_lines(spec: &RunSpec, setup: &SandboxSetup) -> Vec<String> {
    let (Some(agent), Some(allow)) =
        (AgentKind::parse(&spec.agent), AllowLevel::parse(&spec.allow))
    else {
        return Vec::new();
    };
    let access = match spec.mode {
        Mode::CodeReview | Mode::Ralplan => WorkspaceAccess::ReadOnly,
        _ => WorkspaceAccess::ReadWrite,
    };
    let mut lines = vec![format!("  {}", sandbox::describe(setup, agent, allow, access))];
    let is_own = matches!(spec.workspace, Workspace::InPlace { .. });
    if is_own && access == WorkspaceAccess::ReadWrite {
        let open = "the folder is your own: its .git and its state folder are not protected";
        lines.push(format!("  note    {open}"));
    }
    if allow == AllowLevel::Edits && spec.check.is_some() {
        let runs = "the check runs code that the agent wrote, without asking you";
        lines.push(format!("  note    {runs}"));
    }
    lines
}

/// Prints the settings of a run that another process drives, and how to reach it.
pub(super) fn announce_detached(
    context: &Context<'_>,
    report: &RunStartReport,
    setup: &SandboxSetup,
    format: Format,
) -> Result<Exit, Refusal> {
    announce(report, setup, format);
    if format == Format::Text {
        let (program, id) = (context.dialect.name, &report.id);
        output::lines(&[
            format!("follow it: {program} runs attach {id}"),
            format!("cancel it: {program} cancel --session-id {id}"),
        ]);
    }
    Ok(Exit::Done)
}
