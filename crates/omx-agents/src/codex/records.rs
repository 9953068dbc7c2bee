//! Codex's own records of conversations: `sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`.

use serde_json::Value;

use super::config::codex_home;
use crate::agent::ConversationId;
use crate::conversation_record::{ConversationRecord, content_texts, find_below, search_lines};
use crate::driver::AgentEnv;

/// The folders of years, months and days.
const DEPTH: u32 = 3;

pub(super) fn find_message(
    env: &AgentEnv,
    conversation: &ConversationId,
    message: &str,
) -> ConversationRecord {
    let Some(home) = codex_home(env) else { return ConversationRecord::Unknown };
    let end = format!("-{conversation}.jsonl");
    match find_below(&home.join("sessions"), DEPTH, &|name| name.ends_with(&end)) {
        Some(path) => search_lines(&path, message, user_texts),
        None => ConversationRecord::Unknown,
    }
}

/// What the person said in a line of a record.
fn user_texts(line: &Value) -> Vec<&str> {
    let item = &line["payload"];
    if line["type"] == "response_item" && item["type"] == "message" && item["role"] == "user" {
        content_texts(&item["content"])
    } else {
        Vec::new()
    }
}
