//! Discards a run.

use omx_kernel::Refusal;
use omx_ops::{Context, RunDiscardRequest, RunSelector, run_discard};
use omx_runs::retention::DiscardScope;

use crate::cli_runs::DiscardArgs;
use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn discard(
    context: &Context<'_>,
    args: DiscardArgs,
    format: Format,
) -> Result<Exit, Refusal> {
    let scope = if args.force { DiscardScope::Everything } else { DiscardScope::NothingOfValue };
    let run = RunSelector { project: None, id: Some(args.id) };
    let report = run_discard(context, &RunDiscardRequest { run, scope })?;
    if format == Format::Json {
        return Ok(output::value(&report.value(), format));
    }
    let removed = &report.removed;
    let mut lines = vec![format!("Discarded run {}.", report.id)];
    if let Some(worktree) = &removed.worktree {
        lines.push(format!("  worktree  {}", worktree.display()));
    }
    if let Some(branch) = &removed.branch {
        let at = removed.commit.as_ref().map(|commit| format!(" (was at {commit})"));
        lines.push(format!("  branch    {branch}{}", at.unwrap_or_default()));
    }
    lines.push(format!("  journal   {}", removed.folder.display()));
    Ok(output::lines(&lines))
}
