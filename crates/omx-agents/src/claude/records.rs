//! Claude's own records of conversations: `projects/FOLDER/ID.jsonl`.

use serde_json::Value;

use super::account::config_folder;
use crate::agent::ConversationId;
use crate::conversation_record::{ConversationRecord, content_texts, find_below, search_lines};
use crate::driver::AgentEnv;

pub(super) fn find_message(
    env: &AgentEnv,
    conversation: &ConversationId,
    message: &str,
) -> ConversationRecord {
    let Some(folder) = config_folder(env) else { return ConversationRecord::Unknown };
    let own = format!("{conversation}.jsonl");
    match find_below(&folder.join("projects"), 1, &|name| name == own) {
        Some(path) => search_lines(&path, message, user_texts),
        None => ConversationRecord::Unknown,
    }
}

/// What the person said in a line of a record. A message that only waits in claude's queue is
/// not part of the conversation yet.
fn user_texts(line: &Value) -> Vec<&str> {
    if line["type"] == "user" { content_texts(&line["message"]["content"]) } else { Vec::new() }
}
