//! The messages of cancel, in both dialects. Every surface prints these.

use crate::cancel::CancelEntry;
use crate::dialect::Dialect;
use crate::ids::RunId;
use crate::mode::Mode;

/// Formats the report on one cancelled document. `run` is the run that omx drives there;
/// without one, the document belongs to a conversation.
pub fn format_cancelled(entry: &CancelEntry, dialect: Dialect, run: Option<&RunId>) -> Vec<String> {
    if let Some(parent) = entry.linked_to {
        return vec![format!("Cleaned up: {} (linked to {})", entry.mode.name(), parent.name())];
    }
    if entry.mode == Mode::Team {
        // The report on each team says what was shut down.
        return vec![TEAM_ENDED.to_owned()];
    }
    let line = entry.mode.spec().cancelled_message;
    if entry.mode != Mode::Autopilot {
        return vec![line.to_owned()];
    }
    let phase = entry.phase.as_deref().unwrap_or("unknown");
    if !entry.preserved {
        return vec![format!("Autopilot cancelled at phase: {phase}.")];
    }
    let resume = match run {
        Some(id) => format!("Run {} resume {id} to go on.", dialect.name),
        None => format!("Run {} to resume.", dialect.autopilot_command),
    };
    vec![line.replace("{phase}", phase), resume]
}

/// The message for a team of which no process was running.
const TEAM_ENDED: &str = "Team ended. No teammate was running.";

/// Formats the report on a team of which only the file is left: no process was there to
/// signal, and only `--force` removes its files.
pub fn format_team_report(name: &str, path: &str, dialect: Dialect) -> Vec<String> {
    let mut lines = vec![format!("Team {name:?} cancelled:")];
    lines.extend(
        dialect.team_report.iter().map(|line| format!("- {}", line.replace("{path}", path))),
    );
    lines
}

/// Formats the refusal to cancel a mode that is linked to another.
pub fn format_linked(mode: Mode, parent: Mode, dialect: Dialect) -> String {
    format!(
        "{} is linked to {}. Use {} to cancel both.",
        mode.title(),
        parent.title(),
        dialect.cancel_command
    )
}

/// Formats the first line of a cancel that finds nothing active.
pub fn format_nothing_active(dialect: Dialect) -> String {
    format!("No active {} modes detected.", dialect.label)
}

/// The last line of a cancel that finds nothing active.
pub const USE_FORCE: &str = "Use --force to clear all state files anyway.";

/// Formats the last line of a forced cancel.
pub fn format_all_cleared(dialect: Dialect) -> String {
    format!("All {} modes cleared. You are free to start fresh.", dialect.label)
}
