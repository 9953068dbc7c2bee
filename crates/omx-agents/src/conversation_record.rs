//! What an agent program's own record of a conversation says about a message. A message that
//! the program has on record is not sent a second time, even if omx was killed before it
//! could note that the agent received it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// How much of a record is read.
const MAX_BYTES: u64 = 256 << 20;

/// What a record says about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationRecord {
    /// The agent received the message.
    Received,
    /// The record exists and does not have the message.
    NotReceived,
    /// The record exists and is empty: the program was killed before it kept anything. It
    /// cannot resume the conversation.
    Empty,
    /// There is no record where one is expected, or it cannot be read. Only the program knows.
    Unknown,
}

/// Searches a record of JSON lines. `texts` returns the texts of the person in a line.
pub fn search_lines(
    path: &Path,
    message: &str,
    texts: impl Fn(&Value) -> Vec<&str>,
) -> ConversationRecord {
    let Ok(file) = File::open(path) else { return ConversationRecord::Unknown };
    let mut reader = BufReader::new(file.take(MAX_BYTES));
    let (mut line, mut has_lines) = (Vec::new(), false);
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(_) => return ConversationRecord::Unknown,
        }
        // A line that is torn or foreign says nothing.
        let Ok(value) = serde_json::from_slice::<Value>(&line) else { continue };
        has_lines = true;
        if texts(&value).iter().any(|text| text.contains(message)) {
            return ConversationRecord::Received;
        }
    }
    if has_lines { ConversationRecord::NotReceived } else { ConversationRecord::Empty }
}

/// The texts of a message's content: a string, or a list of parts.
pub fn content_texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

/// Finds a file below a folder, at most so many folders deep.
pub fn find_below(folder: &Path, depth: u32, fits: &impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_file() && entry.file_name().to_str().is_some_and(fits) {
            return Some(entry.path());
        }
    }
    // Records are filed by date: the latest come first.
    folders.sort();
    let mut deeper = folders.iter().rev().filter(|_| depth > 0);
    deeper.find_map(|folder| find_below(folder, depth - 1, fits))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn searched(text: &str) -> ConversationRecord {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        fs::write(&path, text).unwrap();
        search_lines(&path, "do it\nwell", |line| content_texts(&line["content"]))
    }

    #[test]
    fn trust_5_1b_a_record_says_whether_a_message_was_received() {
        let line = |content: Value| format!("{}\n", json!({ "content": content }));
        let parts = json!([{"type": "image"}, {"type": "text", "text": "role\n\ndo it\nwell"}]);
        assert_eq!(searched(&line(parts)), ConversationRecord::Received);
        assert_eq!(searched(&line(json!("do it\nwell"))), ConversationRecord::Received);
        let other = line(json!("something else"));
        assert_eq!(searched(&other), ConversationRecord::NotReceived);
        // The last line is torn.
        let torn = line(json!("do it\nwell"));
        let torn = format!("{other}{}", &torn[..torn.len() / 2]);
        assert_eq!(searched(&torn), ConversationRecord::NotReceived);
        assert_eq!(searched(""), ConversationRecord::Empty);
        assert_eq!(searched("{\"cont"), ConversationRecord::Empty);
        let nowhere = search_lines(Path::new("/nonexistent"), "x", |_| Vec::new());
        assert_eq!(nowhere, ConversationRecord::Unknown);
    }

    #[test]
    fn trust_5_1b_a_record_is_found_below_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("2026/11/16");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("rollout-x-1234.jsonl"), "").unwrap();
        let fits = |name: &str| name.ends_with("-1234.jsonl");
        assert_eq!(find_below(folder.path(), 3, &fits), Some(deep.join("rollout-x-1234.jsonl")));
        assert_eq!(find_below(folder.path(), 2, &fits), None);
        assert_eq!(find_below(Path::new("/nonexistent"), 3, &fits), None);
    }
}
