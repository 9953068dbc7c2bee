//! Mistakes in a scenario file, and the lines they are on.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use omx_kernel::nearest::nearest;

/// A mistake in a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub file: PathBuf,
    /// The line, unless the file could not be read at all.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.line {
            Some(line) => write!(f, "{file}:{line}: {}", self.message),
            None => write!(f, "{file}: {}", self.message),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// A scenario file's text, for turning byte offsets into lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScenarioSource<'a> {
    pub(super) file: &'a Path,
    pub(super) bytes: &'a [u8],
}

impl ScenarioSource<'_> {
    /// The line of an offset, counted from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        let before = self.bytes.get(..offset).unwrap_or(self.bytes);
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// An error at an offset.
    pub(super) fn error(&self, offset: usize, message: impl Into<String>) -> ScenarioError {
        ScenarioError {
            file: self.file.to_owned(),
            line: Some(self.line(offset)),
            message: message.into(),
        }
    }

    /// An error of the TOML reader.
    pub(super) fn toml_error(&self, error: &toml::de::Error) -> ScenarioError {
        let Range { start, .. } = error.span().unwrap_or_default();
        self.error(start, rephrase(error.message()))
    }
}

/// Rewrites serde's messages in the terms of TOML.
fn rephrase(message: &str) -> String {
    if let Some(name) = quoted_after(message, "missing field ") {
        return format!("missing key {name:?}");
    }
    for (prefix, what) in [("unknown field ", "key"), ("unknown variant ", "kind")] {
        let Some(name) = quoted_after(message, prefix) else { continue };
        let known: Vec<String> = message.split('`').skip(3).step_by(2).map(str::to_owned).collect();
        return match nearest(name, known.iter().cloned()) {
            Some(near) => format!("unknown {what} {name:?}; the nearest known {what} is {near:?}"),
            None => format!("unknown {what} {name:?}; known {what}s: {}", known.join(", ")),
        };
    }
    let mut message = message.trim_end().replace('\n', ", ");
    if message.starts_with("invalid type: ") {
        for (serde, toml) in [("sequence", "list"), ("map", "table"), ("floating point", "number")]
        {
            message = message.replace(serde, toml);
        }
    }
    message
}

/// The word that a message quotes after this prefix.
fn quoted_after<'a>(message: &'a str, prefix: &str) -> Option<&'a str> {
    message.strip_prefix(prefix)?.strip_prefix('`')?.split('`').next()
}
