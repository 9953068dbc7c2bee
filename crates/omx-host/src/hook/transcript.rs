//! The end of a host's transcript. Claude Code reports no interrupt; its transcript is the
//! only place that shows one.

use std::borrow::Cow;
use std::path::Path;

use omx_process::read_plain_tail;
use serde::Deserialize;
use serde_json::value::RawValue;

/// How much of a transcript is read. What follows an interrupt is short.
const TAIL_BYTES: u64 = 32 * 1024;

/// One line of a transcript, as far as it matters here.
#[derive(Deserialize)]
struct TranscriptLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<TranscriptMessage<'a>>,
}

#[derive(Deserialize)]
struct TranscriptMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

/// Whether the last message of the conversation is the host's mark of an interrupt. A
/// transcript that cannot be read shows none.
pub(super) fn ends_with_interrupt(path: &Path, mark: &str) -> bool {
    read_plain_tail(path, TAIL_BYTES).is_ok_and(|tail| is_interrupted(&tail, mark))
}

fn is_interrupted(tail: &[u8], mark: &str) -> bool {
    // The first line of the tail may be cut, and notes of the host follow a message.
    let lines = tail.rsplit(|byte| *byte == b'\n');
    let mut messages = lines
        .filter_map(|line| serde_json::from_slice::<TranscriptLine<'_>>(line).ok())
        .filter(|line| matches!(line.kind.as_deref(), Some("user" | "assistant")));
    // A prompt is a string; the host's own entries are blocks. So a prompt that quotes the
    // mark does not count.
    let blocks = messages.next().and_then(|line| {
        serde_json::from_str::<Vec<TextBlock<'_>>>(line.message?.content?.get()).ok()
    });
    blocks.is_some_and(|blocks| {
        blocks.iter().any(|block| block.text.as_deref().is_some_and(|text| text.starts_with(mark)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = "[Request interrupted by user";

    #[test]
    fn surface_6_2a_only_the_hosts_own_last_entry_counts_as_an_interrupt() {
        let entry = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"interruptedMessageId":"m"}"#;
        let note = r#"{"type":"file-history-snapshot","snapshot":{}}"#;
        let prompt = r#"{"type":"user","message":{"role":"user","content":"what does \"x\" do?"}}"#;
        let quoted = r#"{"type":"user","message":{"role":"user","content":"[Request interrupted by user]"}}"#;
        let cut = "ext\":\"y\"}]}}";
        let seen = |lines: &[&str]| is_interrupted(lines.join("\n").as_bytes(), MARK);
        assert!(seen(&[cut, prompt, entry, ""]));
        assert!(seen(&[prompt, entry, note, note, ""]));
        assert!(!seen(&[entry, prompt, ""]), "the person has written since");
        assert!(!seen(&[prompt, quoted, ""]), "a quotation");
        assert!(!seen(&[cut]) && !seen(&[]) && !is_interrupted(&[0xff, b'\n'], MARK));
    }
}
