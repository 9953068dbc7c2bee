//! What the events of a host change: omx's own record of the session, and what
//! its documents say they wait for. And what a conversation is told of them.

use crate::activity::{SessionActivity, ToolClass};
use crate::dialect::Dialect;
use crate::document::{Document, DocumentStatus};
use crate::mode::{Mode, OnCancel};
use crate::outcome::RunEnding;
use crate::review::fnv1a;
use crate::snapshot::Snapshot;
use crate::stop::{self, StopCause};
use crate::time::Timestamp;
use crate::value::Value;

/// A sign of life is noted at most this often.
pub const SEEN_EVERY_MILLIS: i64 = 5 * 60 * 1_000;

/// What moves with every hold and tells nothing of progress.
const RESTLESS: [&str; 4] = ["iteration", "revision", "updated_at", "waiting"];

/// The record after a tool call, if that is worth a write: the first one after
/// a hold, and a sign of life from time to time.
pub fn record_tool_use(
    activity: &SessionActivity,
    tool: ToolClass,
    now: Timestamp,
) -> Option<SessionActivity> {
    let is_first = activity.holds_in_a_row > 0;
    if !is_first && is_fresh(activity, now) && !activity.interrupted {
        return None;
    }
    let mut noted = activity.clone();
    noted.record_tool_use(now);
    noted.interrupted = false;
    if is_first {
        noted.last_tool = Some(tool);
    }
    Some(noted)
}

/// The record after a word of the person, if that is worth a write.
pub fn record_prompt(activity: &SessionActivity, now: Timestamp) -> Option<SessionActivity> {
    if is_fresh(activity, now) && !activity.interrupted && activity.holds_in_a_row == 0 {
        return None;
    }
    let mut noted = activity.clone();
    noted.last_seen = Some(now);
    noted.interrupted = false;
    noted.holds_in_a_row = 0;
    Some(noted)
}

/// The record after an interrupt: until the person speaks, nothing is held.
pub fn record_interrupt(activity: &SessionActivity, now: Timestamp) -> SessionActivity {
    let mut noted = activity.clone();
    noted.last_seen = Some(now);
    noted.interrupted = true;
    noted
}

fn is_fresh(activity: &SessionActivity, now: Timestamp) -> bool {
    activity.last_seen.is_some_and(|seen| now.millis_since(seen) < SEEN_EVERY_MILLIS)
}

/// The active documents, saying that they wait for a limit of the model's
/// service to pass. No iteration is counted.
pub fn mark_rate_limited(
    snapshot: &Snapshot,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Vec<(Mode, Document)> {
    let mut waiting = vec![("kind".to_owned(), Value::string("rate_limit"))];
    if let Some(until) = until {
        waiting.push(("until".to_owned(), Value::string(&until.to_string())));
    }
    changed(snapshot, now, |document| {
        document.set("waiting", Value::object(waiting.clone()));
    })
}

/// The active documents that waited for such a limit: the agent works again.
pub fn clear_rate_limit(snapshot: &Snapshot, now: Timestamp) -> Vec<(Mode, Document)> {
    changed(snapshot, now, |document| {
        let kind = document.get("waiting").and_then(|waiting| waiting.get("kind"));
        if kind.and_then(Value::as_str) == Some("rate_limit") {
            document.remove("waiting");
        }
    })
}

fn changed(
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

/// Why a turn ended, by the word a host has for it; `None` for words that mean
/// an ordinary end.
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

/// How the work of a session stands when its agent wants to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSample<'a> {
    /// The commit and the index of the folder, as far as they can be seen
    /// without walking it.
    pub worktree: &'a str,
    /// The agent's last words.
    pub last_message: &'a str,
}

/// A number that is the same as long as nothing moves: folder, documents (phase
/// and open tasks among them), kind of tool and words are all as before.
pub fn fingerprint(snapshot: &Snapshot, standing: SessionSample<'_>) -> u64 {
    let mut text = format!("{}\n{:?}\n", standing.worktree, snapshot.activity.last_tool);
    for mode in snapshot.active_modes() {
        let Some(document) = snapshot.active(mode) else { continue };
        for (name, value) in document.fields() {
            if !RESTLESS.contains(&name.as_str()) {
                text.push_str(name);
                text.push_str(value.as_json());
            }
        }
    }
    text.extend(standing.last_message.split_whitespace());
    fnv1a(&text)
}

/// What a conversation is told of its session: one line for each mode that is
/// active or can be gone on with.
pub fn describe_session(snapshot: &Snapshot, dialect: Dialect, now: Timestamp) -> Vec<String> {
    let mut lines = Vec::new();
    for mode in Mode::STOP_PRIORITY {
        let Some(document) = snapshot.documents.get(&mode) else { continue };
        match document.status() {
            DocumentStatus::Active if snapshot.is_stale(mode, now) => lines.push(format!(
                "[{} stale: phase {}] No sign of life for two hours; it holds nothing. Go on with it by {} state write, or end it: {} cancel",
                mode.title(),
                document.phase().unwrap_or("unknown"),
                dialect.name,
                dialect.name
            )),
            DocumentStatus::Active => {
                lines.push(stop::format_hold(mode, document, dialect));
                if let Some(task) = document.get_str("task_description").filter(|t| !t.is_empty()) {
                    lines.push(format!("{} task: {}", mode.title(), shorten(task)));
                }
            }
            DocumentStatus::Ended(RunEnding::Blocked) => lines.push(format!(
                "[{} waits for the person: {}] It holds nothing until the person says \"continue\".",
                mode.title(),
                shorten(document.get_str("error").unwrap_or("blocked_on_user"))
            )),
            DocumentStatus::Ended(RunEnding::Cancelled) if mode.spec().on_cancel != OnCancel::Ends => {
                lines.push(format!(
                    "[{} cancelled] It is not active. Only the person brings it back, with ${}.",
                    mode.title(),
                    mode.name()
                ));
            }
            DocumentStatus::Ended(_) => {}
        }
    }
    lines
}

/// At most so much of a person's words is repeated.
const LONGEST_REPEATED: usize = 300;

/// The beginning of a text, in one line.
pub fn shorten(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= LONGEST_REPEATED {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control()).take(LONGEST_REPEATED));
    }
    line
}
