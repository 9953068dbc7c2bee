//! What the server was asked, for tests to look at.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::wire;

/// A request the server has seen. It is here as soon as it has been read; how
/// it was answered follows.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The HTTP method.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query.
    pub query: String,
    /// Headers by name in small letters.
    pub headers: BTreeMap<String, String>,
    /// The body; null if there was none or it was not JSON.
    pub body: Value,
    /// What it was for.
    pub kind: ModelRequestKind,
    /// The names of the tools the client offered.
    pub tools: Vec<String>,
    /// The status it was answered with.
    pub status: Option<u16>,
    /// How far the answer has come.
    pub progress: ReplyProgress,
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyProgress {
    /// Nothing of it is out.
    Waiting,
    /// A stream is under way.
    Streaming,
    /// It went out to its end, or its last piece is just going.
    Whole,
    /// The stream was cut, or the client went away.
    Broken,
}

/// What a request was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRequestKind {
    /// A turn of a script.
    Turn {
        /// The script.
        script: String,
        /// Which of its turns, from 0.
        step: usize,
    },
    /// A request of the client's own: a title, a classification.
    Side,
    /// The summary that replaces a long conversation.
    Compaction,
    /// A request one of the test's own rules answered.
    Rule(String),
    /// A model request no script has an answer for.
    Stray(String),
    /// Not a model request.
    Other,
}

impl ModelRequest {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(&name.to_ascii_lowercase()).map(String::as_str)
    }

    /// What Codex says about the turn a request belongs to; null from others.
    pub fn codex(&self) -> Value {
        codex(&self.headers)
    }

    /// The schema the client wants the answer to have.
    pub fn schema(&self) -> Option<&Value> {
        wire::of_path(&self.path)?.schema(&self.body)
    }
}

/// One line: `full/0`, `full/0 429`, `full/0 broken`, `side`, `HEAD /`.
impl fmt::Display for ModelRequest {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ModelRequestKind::Turn { script, step } => write!(to, "{script}/{step}")?,
            ModelRequestKind::Side => write!(to, "side")?,
            ModelRequestKind::Compaction => write!(to, "compaction")?,
            ModelRequestKind::Rule(phrase) => write!(to, "rule {phrase}")?,
            ModelRequestKind::Stray(why) => write!(to, "stray: {why}")?,
            ModelRequestKind::Other => write!(to, "{} {}", self.method, self.path)?,
        }
        match (self.progress, self.status) {
            (ReplyProgress::Whole, Some(200)) => Ok(()),
            (ReplyProgress::Whole, status) => write!(to, " {}", status.unwrap_or_default()),
            (ReplyProgress::Waiting, _) => write!(to, " waiting"),
            (ReplyProgress::Streaming, _) => write!(to, " streaming"),
            (ReplyProgress::Broken, _) => write!(to, " broken"),
        }
    }
}

/// Codex's header about a turn.
pub(super) fn codex(headers: &BTreeMap<String, String>) -> Value {
    let text = headers.get("x-codex-turn-metadata");
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
