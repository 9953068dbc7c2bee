//! Removes old runs and merged worktrees.

use omx_kernel::Refusal;
use omx_ops::{Context, run_gc};

use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn gc(context: &Context<'_>, format: Format) -> Result<Exit, Refusal> {
    let report = run_gc(context, None)?;
    if format == Format::Json {
        return Ok(output::value(&report.value(), format));
    }
    let removed = &report.0;
    let mut lines = vec![match (removed.runs.len(), removed.worktrees.len()) {
        (0, 0) if removed.sessions == 0 => "Nothing to remove.".to_owned(),
        (runs, worktrees) => format!(
            "Removed {}, {}.",
            counted(runs, "old run", "old runs"),
            counted(worktrees, "merged worktree", "merged worktrees")
        ),
    }];
    if removed.sessions > 0 {
        let sessions = counted(removed.sessions, "ended session", "ended sessions");
        lines.push(format!("Removed the documents of {sessions}."));
    }
    let unreadable = removed.unreadable.iter();
    lines.extend(
        unreadable.map(|run| format!("kept: run {} (unreadable: {})", run.id, run.why.one_line())),
    );
    let kept = removed.kept.iter();
    lines.extend(
        kept.map(|kept| format!("kept: {} ({})", kept.path.display(), kept.why.one_line())),
    );
    Ok(output::lines(&lines))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}
