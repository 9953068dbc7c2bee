//! A call of a mode without a task. It never replaces a run: it resumes one, says that
//! the last one is complete, or asks for a task.

use crate::document::{Document, DocumentStatus};
use crate::ids::Scope;
use crate::mode::Mode;
use crate::outcome::RunEnding;
use crate::session_events::shorten;
use crate::time::{Timestamp, format_age};
use crate::value::Value;

/// The latest run of a mode in another scope of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRun {
    /// Its scope.
    pub scope: Scope,
    /// Its document.
    pub document: Document,
}

/// Chooses the run that a bare call is about when the own session has none: the latest
/// that can be resumed or is complete.
pub fn choose_other_run(mode: Mode, runs: Vec<OtherRun>) -> Option<OtherRun> {
    let is_finished =
        |run: &OtherRun| run.document.status() == DocumentStatus::Ended(RunEnding::Finished);
    runs.into_iter()
        .filter(|run| run.document.can_resume(mode) || is_finished(run))
        .max_by_key(|run| ended_at(&run.document))
}

/// Returns the document of another session for this session. Its revision is at least
/// `last_revision`, so that revisions keep increasing here too.
pub fn take_over(other: &OtherRun, session: &str, last_revision: u64) -> Document {
    let mut document = other.document.clone();
    document.set("session_id", Value::string(session));
    let revision = document.revision().max(last_revision);
    document.set("revision", Value::integer(revision));
    document
}

/// When a run ended.
pub fn ended_at(document: &Document) -> Option<Timestamp> {
    document.get_time("completed_at").or_else(|| document.get_time("updated_at"))
}

/// Formats when a run ended, for a sentence; empty if unknown.
pub fn format_ended(document: &Document, now: Timestamp) -> String {
    ended_at(document).map(|time| format_age(time, now)).unwrap_or_default()
}

/// Summarizes a completed run: its task, and what shows that it is done.
pub fn summarize_completed(document: &Document) -> String {
    let mut parts = Vec::new();
    let mut add = |label: &str, text: String| {
        if !text.is_empty() {
            parts.push(format!("{label}: {}", shorten(&text)));
        }
    };
    let text = |name: &str| document.get_str(name).unwrap_or_default().to_owned();
    let handoffs = document.get("handoff_artifacts");
    let handoff = |stage: &str| handoffs.and_then(|handoffs| handoffs.get(stage));
    add("Task", text("task_description"));
    let plan = handoff("ralplan").and_then(|plan| plan.get("plan_path")).and_then(Value::as_str);
    add("Plan", plan.map_or_else(|| text("plan_path"), str::to_owned));
    let changed = handoff("ralph").and_then(|work| work.get("changed_files"));
    add("Changed files", join_items(changed));
    let audit = document.get("completion_audit");
    add("Checklist", join_items(audit.and_then(|audit| audit.get("checklist"))));
    let evidence = handoff("ralph").or(audit).and_then(|work| work.get("evidence"));
    // The agent says so; omx did not run these commands.
    add("Evidence reported by the agent", join_items(evidence));
    add("Last check", document.get("last_check").map(format_item).unwrap_or_default());
    let verdict = document.get("review_verdict").filter(|verdict| verdict.as_object().is_some());
    let word = |name: &str| verdict.and_then(|verdict| verdict.get(name)).and_then(Value::as_str);
    let words = [word("recommendation"), word("architectural_status")];
    add("Review", words.into_iter().flatten().collect::<Vec<_>>().join(", "));
    add("Note", text("completion_note"));
    parts.join(". ")
}

fn join_items(list: Option<&Value>) -> String {
    let items = list.and_then(Value::as_array).unwrap_or_default();
    items.iter().map(format_item).filter(|item| !item.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Formats a string, a command with its exit code, a path or an item of a checklist.
fn format_item(item: &Value) -> String {
    if let Some(text) = item.as_str() {
        return text.to_owned();
    }
    let field = |name: &str| item.get(name).and_then(Value::as_str);
    match (field("command"), item.get("exit_code").and_then(Value::as_u64)) {
        (Some(command), Some(code)) => format!("`{command}` exited with {code}"),
        (Some(command), None) => format!("`{command}`"),
        _ => field("path").or_else(|| field("item")).unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionId;

    fn run(session: &str, outcome: &str, at: &str) -> OtherRun {
        let fields = [("active", Value::bool(false)), ("run_outcome", Value::string(outcome))];
        let mut fields: Vec<(String, Value)> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        fields.push(("completed_at".to_owned(), Value::string(at)));
        let scope = Scope::Session(SessionId::new(session).unwrap());
        OtherRun { scope, document: Document::new(fields) }
    }

    #[test]
    fn modes_5_3b_the_latest_run_that_can_be_resumed_or_is_complete_is_chosen() {
        let chosen = |mode, runs: &[(&str, &str, &str)]| {
            let runs = runs.iter().map(|(session, outcome, at)| run(session, outcome, at));
            choose_other_run(mode, runs.collect())
                .and_then(|run| run.scope.session().map(|id| id.as_str().to_owned()))
        };
        let (old, new) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
        let cancelled = [("a", "cancelled", new), ("b", "failed", old)];
        assert_eq!(chosen(Mode::Autopilot, &cancelled).as_deref(), Some("a"));
        assert_eq!(chosen(Mode::Ralph, &cancelled).as_deref(), Some("b"), "a cancelled ralph ends");
        let finished = [("a", "finish", new), ("b", "blocked_on_user", old)];
        assert_eq!(chosen(Mode::Ralph, &finished).as_deref(), Some("a"));
        assert_eq!(chosen(Mode::Ralph, &[]), None);
    }
}
