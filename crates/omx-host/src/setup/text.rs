//! The form of a text file: its byte-order mark and line endings. omx's lines take the
//! same form.

use sha2::{Digest, Sha256};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Whether a text has a byte-order mark, and its line endings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextForm {
    has_mark: bool,
    /// The line ending of the first line.
    pub newline: &'static str,
}

impl TextForm {
    /// Splits a text into its form and the text without a byte-order mark.
    pub fn split(text: &str) -> (Self, &str) {
        let bare = text.strip_prefix(BYTE_ORDER_MARK);
        let body = bare.unwrap_or(text);
        let first = body.find('\n').is_some_and(|at| body[..at].ends_with('\r'));
        (Self { has_mark: bare.is_some(), newline: if first { "\r\n" } else { "\n" } }, body)
    }

    /// Puts the byte-order mark back.
    pub fn join(self, body: String) -> String {
        if self.has_mark { format!("{BYTE_ORDER_MARK}{body}") } else { body }
    }
}

/// The hash of a content, as the manifest records it.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
