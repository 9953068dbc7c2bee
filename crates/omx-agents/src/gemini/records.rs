//! Gemini's own records of conversations: `.gemini/tmp/PROJECT/chats/session-TIME-START.jsonl`,
//! where START is the beginning of the id.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::agent::ConversationId;
use crate::conversation_record::{ConversationRecord, content_texts, search_lines};

/// How much of an id is in the name of its record.
const START: usize = 8;

pub(super) fn find_message(
    home: Option<PathBuf>,
    conversation: &ConversationId,
    message: &str,
) -> ConversationRecord {
    let Some(home) = home else { return ConversationRecord::Unknown };
    let start = conversation.as_str().get(..START).unwrap_or(conversation.as_str());
    let end = format!("-{start}.jsonl");
    let mut found = ConversationRecord::Unknown;
    for project in fs::read_dir(home.join(".gemini/tmp")).into_iter().flatten().flatten() {
        for record in fs::read_dir(project.path().join("chats")).into_iter().flatten().flatten() {
            if !record.file_name().to_string_lossy().ends_with(&end) {
                continue;
            }
            // A resumed conversation may have several records.
            match search_lines(&record.path(), message, user_texts) {
                ConversationRecord::Received => return ConversationRecord::Received,
                ConversationRecord::NotReceived => found = ConversationRecord::NotReceived,
                ConversationRecord::Empty | ConversationRecord::Unknown => {}
            }
        }
    }
    found
}

/// What the person said in a line of a record.
fn user_texts(line: &Value) -> Vec<&str> {
    if line["type"] == "user" { content_texts(&line["content"]) } else { Vec::new() }
}
