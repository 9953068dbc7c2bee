//! What a text file looks like besides its words: the byte-order mark and the
//! kind of line ends. omx's own lines take the file's form.

use sha2::{Digest, Sha256};

const MARK: char = '\u{feff}';

/// A text without its byte-order mark, and how its lines end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextForm {
    has_mark: bool,
    /// The line end in use: that of the first line.
    pub newline: &'static str,
}

impl TextForm {
    /// The form of a text, and the text without its mark.
    pub fn of(text: &str) -> (Self, &str) {
        let bare = text.strip_prefix(MARK);
        let body = bare.unwrap_or(text);
        let first = body.find('\n').is_some_and(|at| body[..at].ends_with('\r'));
        (Self { has_mark: bare.is_some(), newline: if first { "\r\n" } else { "\n" } }, body)
    }

    /// The text with its mark again.
    pub fn whole(self, body: String) -> String {
        if self.has_mark { format!("{MARK}{body}") } else { body }
    }
}

/// The hash of a content, as it is written into the manifest.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
