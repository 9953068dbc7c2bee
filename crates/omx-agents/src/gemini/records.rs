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

#[cfg(test)]
mod tests {
    use super::*;

    /// As version 0.61.0 writes them.
    #[test]
    fn trust_5_1b_a_message_is_found_in_geminis_record() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join(".gemini/tmp/project/chats");
        fs::create_dir_all(&chats).unwrap();
        let record = chats.join("session-2026-11-16T13-24-01234567.jsonl");
        let id = ConversationId::new("01234567-89ab-4cde-8f01-23456789abcd").unwrap();
        let found = || find_message(Some(home.path().to_owned()), &id, "## Task\n\ndo it");
        assert_eq!(found(), ConversationRecord::Unknown);
        let header = r#"{"sessionId":"01234567-89ab-4cde-8f01-23456789abcd","kind":"main"}"#;
        fs::write(&record, format!("{header}\n")).unwrap();
        assert_eq!(found(), ConversationRecord::NotReceived);
        let message = r###"{"id":"1","type":"user","content":[{"text":"## Task\n\ndo it\n"}]}"###;
        fs::write(&record, format!("{header}\n{message}\n")).unwrap();
        assert_eq!(found(), ConversationRecord::Received);
        // What the agent quotes is not a message to it.
        let quoted = message.replace("\"user\"", "\"gemini\"");
        fs::write(&record, format!("{header}\n{quoted}\n")).unwrap();
        assert_eq!(found(), ConversationRecord::NotReceived);
    }
}
