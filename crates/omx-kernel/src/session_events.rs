//! What a host's events change: the session's activity record, and the field `waiting` of
//! its documents. Also the summary of a session for a new conversation.

use crate::activity::{SessionActivity, ToolClass};
use crate::dialect::Dialect;
use crate::document::{Document, DocumentStatus};
use crate::hold_text::{format_instruction, format_paused};
use crate::mode::{Mode, OnCancel};
use crate::outcome::RunEnding;
use crate::review::fnv1a;
use crate::snapshot::Snapshot;
use crate::stop::StopCause;
use crate::time::Timestamp;
use crate::value::Value;

/// How often activity is recorded at most.
pub const SEEN_EVERY_MILLIS: i64 = 5 * 60 * 1_000;

/// Fields that change with every hold and say nothing about progress.
const IGNORED_FIELDS: [&str; 4] = ["iteration", "revision", "updated_at", "waiting"];

/// Returns the record after a tool call, if it is worth writing: for the first call after
/// a hold, from time to time as a sign of activity, and when an interrupted agent works
/// again. Reading files and running commands may serve a side question, but an agent that
/// edits files works.
pub fn record_tool_use(
    activity: &SessionActivity,
    tool: ToolClass,
    now: Timestamp,
) -> Option<SessionActivity> {
    let is_first = activity.holds_in_a_row > 0;
    let works_again = activity.interrupted && tool == ToolClass::Edit;
    if !is_first && is_fresh(activity, now) && !works_again {
        return None;
    }
    let mut updated = activity.clone();
    updated.record_tool_use(now);
    updated.interrupted &= !works_again;
    if is_first {
        updated.last_tool = Some(tool);
    }
    Some(updated)
}

/// Returns the record after a prompt of the person, if it is worth writing. What was
/// interrupted stays so: the prompt may be a side question.
pub fn record_prompt(activity: &SessionActivity, now: Timestamp) -> Option<SessionActivity> {
    if is_fresh(activity, now) && activity.holds_in_a_row == 0 {
        return None;
    }
    let mut updated = activity.clone();
    updated.last_seen = Some(now);
    updated.holds_in_a_row = 0;
    Some(updated)
}

/// Returns the record after the person asked to continue, if it is worth writing.
pub fn record_continue(activity: &SessionActivity, now: Timestamp) -> Option<SessionActivity> {
    if !activity.interrupted {
        return record_prompt(activity, now);
    }
    let mut updated = activity.clone();
    updated.last_seen = Some(now);
    updated.interrupted = false;
    updated.holds_in_a_row = 0;
    updated.same_fingerprint = 0;
    Some(updated)
}

/// Returns the record after an interrupt: no stop is held until the person asks to
/// continue, or the agent works again.
pub fn record_interrupt(activity: &SessionActivity, now: Timestamp) -> SessionActivity {
    let mut updated = activity.clone();
    updated.last_seen = Some(now);
    updated.interrupted = true;
    updated
}

fn is_fresh(activity: &SessionActivity, now: Timestamp) -> bool {
    activity.last_seen.is_some_and(|seen| now.millis_since(seen) < SEEN_EVERY_MILLIS)
}

/// Returns the active documents marked as waiting for a rate limit to pass. This counts no
/// iteration.
pub fn mark_rate_limited(
    snapshot: &Snapshot,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Vec<(Mode, Document)> {
    let mut waiting = vec![("kind".to_owned(), Value::string("rate_limit"))];
    if let Some(until) = until {
        waiting.push(("until".to_owned(), Value::string(&until.to_string())));
    }
    update_active(snapshot, now, |document| {
        document.set("waiting", Value::object(waiting.clone()));
    })
}

/// Returns the documents that waited for a rate limit, unmarked: the agent works again.
pub fn clear_rate_limit(snapshot: &Snapshot, now: Timestamp) -> Vec<(Mode, Document)> {
    update_active(snapshot, now, |document| {
        let kind = document.get("waiting").and_then(|waiting| waiting.get("kind"));
        if kind.and_then(Value::as_str) == Some("rate_limit") {
            document.remove("waiting");
        }
    })
}

fn update_active(
    snapshot: &Snapshot,
    now: Timestamp,
    change: impl Fn(&mut Document),
) -> Vec<(Mode, Document)> {
    let session = snapshot.scope.session().map(|id| id.as_str());
    let mut changed = Vec::new();
    for mode in snapshot.active_modes() {
        let Some(old) = snapshot.active(mode) else { continue };
        let mut document = old.clone();
        change(&mut document);
        if document != *old {
            document.stamp(mode, session, old.next_revision(), now);
            changed.push((mode, document));
        }
    }
    changed
}

/// Parses a host's reason for the end of a turn. `None` means an ordinary end.
pub fn parse_stop_cause(word: &str) -> Option<StopCause> {
    let word = word.to_ascii_lowercase().replace(['-', ' '], "_");
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if has(&["interrupt", "abort", "cancel", "user_requested", "sigint"]) {
        Some(StopCause::Interrupted)
    } else if has(&["context", "max_tokens", "max_output", "token_limit", "too_long"]) {
        Some(StopCause::ContextLimit)
    } else if has(&["rate_limit", "ratelimit", "usage_limit", "overloaded", "quota", "429"]) {
        Some(StopCause::RateLimit)
    } else if has(&["auth", "login", "billing", "payment", "credit", "permission_error", "401"]) {
        Some(StopCause::Account)
    } else {
        None
    }
}

/// The state of a session's work when its agent wants to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionWorkState<'a> {
    /// Commit and index of the worktree, as far as they can be read without walking it.
    pub worktree: &'a str,
    /// The agent's last message.
    pub last_message: &'a str,
}

/// A number that stays the same as long as worktree, documents, tool class and last
/// message do not change.
pub fn fingerprint(snapshot: &Snapshot, sample: SessionWorkState<'_>) -> u64 {
    let mut text = format!("{}\n{:?}\n", sample.worktree, snapshot.activity.last_tool);
    for mode in snapshot.active_modes() {
        let Some(document) = snapshot.active(mode) else { continue };
        for (name, value) in document.fields() {
            if !IGNORED_FIELDS.contains(&name.as_str()) {
                text.push_str(name);
                text.push_str(value.as_json());
            }
        }
    }
    text.extend(sample.last_message.split_whitespace());
    fnv1a(&text)
}

/// Describes a session to a conversation: the modes that are active or can be resumed.
pub fn describe_session(snapshot: &Snapshot, dialect: Dialect, now: Timestamp) -> Vec<String> {
    let mut lines = Vec::new();
    for mode in Mode::STOP_PRIORITY {
        let Some(document) = snapshot.documents.get(&mode) else { continue };
        match document.status() {
            DocumentStatus::Active if snapshot.is_stale(mode, now) => lines.push(format!(
                "[{} stale: phase {}] No activity for two hours, so it does not hold the session. Continue it with {} state write, or end it with {} cancel.",
                mode.title(),
                document.phase().unwrap_or("unknown"),
                dialect.name,
                dialect.name
            )),
            DocumentStatus::Active => {
                lines.push(format_instruction(mode, document, dialect));
                if snapshot.activity.interrupted {
                    lines.push(format_paused(mode));
                }
                if let Some(task) = document.get_str("task_description").filter(|t| !t.is_empty()) {
                    lines.push(format!("{} task: {}", mode.title(), shorten(task)));
                }
            }
            DocumentStatus::Ended(RunEnding::Blocked) => lines.push(format!(
                "[{} waits for the person: {}] It does not hold the session until the person says \"continue\".",
                mode.title(),
                shorten(document.get_str("error").unwrap_or("blocked_on_user"))
            )),
            DocumentStatus::Ended(RunEnding::Cancelled) if mode.spec().on_cancel != OnCancel::Ends => {
                lines.push(format!(
                    "[{} cancelled] It is not active. Only the person can resume it, with ${}.",
                    mode.title(),
                    mode.name()
                ));
            }
            DocumentStatus::Ended(_) => {}
        }
    }
    lines
}

/// How much of a person's text is repeated at most.
const MAX_REPEATED_CHARS: usize = 300;

/// Shortens a text to one line.
pub fn shorten(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= MAX_REPEATED_CHARS {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control()).take(MAX_REPEATED_CHARS));
    }
    line
}
