//! What the three vendors' wire formats have in common: a history to read, an
//! answer to write.

use serde_json::Value;

use super::script::{ReplyBlock, ScriptedFailure, ScriptedUsage};

/// Who speaks in one entry of a request's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HistoryEntry {
    User(String),
    Model,
    /// Results of tools, instructions, notes of the client.
    Other,
}

/// One part of an answer, in the names this client knows.
#[derive(Debug, Clone)]
pub(super) enum ReplyPart {
    Text(String),
    Call { namespace: Option<String>, name: String, input: ToolInput },
}

/// What a tool is given.
#[derive(Debug, Clone)]
pub(super) enum ToolInput {
    Json(Value),
    Free(String),
}

impl ReplyPart {
    pub fn call(name: impl Into<String>, input: Value) -> Self {
        Self::Call { namespace: None, name: name.into(), input: ToolInput::Json(input) }
    }

    pub fn call_in(namespace: Option<String>, name: &str, input: Value) -> Self {
        Self::Call { namespace, name: name.to_owned(), input: ToolInput::Json(input) }
    }
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct ModelReply {
    /// Makes ids different from request to request.
    pub number: usize,
    pub model: Value,
    pub parts: Vec<ReplyPart>,
    pub usage: ScriptedUsage,
    /// Text is streamed word by word.
    pub words: bool,
}

/// One event of a stream.
#[derive(Debug)]
pub(super) struct StreamEvent {
    pub name: Option<&'static str>,
    pub data: Value,
    /// A piece of text: the time between words passes after it.
    pub paced: bool,
}

impl StreamEvent {
    /// An event whose name is its `type`.
    pub fn typed(name: &'static str, mut data: Value) -> Self {
        data["type"] = name.into();
        Self { name: Some(name), data, paced: false }
    }

    pub fn paced(mut self) -> Self {
        self.paced = true;
        self
    }
}

/// One vendor's wire format.
pub(super) trait WireFormat: Sync {
    /// The conversation so far, oldest first.
    fn history(&self, body: &Value) -> Vec<HistoryEntry>;
    /// The names of the tools the client offers.
    fn tools(&self, body: &Value) -> Vec<String>;
    /// A block in the words of this client; an error if it has none.
    fn part(&self, block: &ReplyBlock, body: &Value) -> Result<ReplyPart, String>;
    /// Whether the client wants a stream.
    fn streams(&self, path: &str, body: &Value) -> bool;
    /// The answer as a stream.
    fn events(&self, reply: &ModelReply) -> Vec<StreamEvent>;
    /// The answer at once.
    fn whole(&self, reply: &ModelReply) -> Value;
    /// The body of an error, and the headers that go with it.
    fn error(&self, status: u16, failure: &ScriptedFailure) -> (Value, Vec<(String, String)>);
    /// The schema the client wants the answer to have.
    fn schema<'a>(&self, body: &'a Value) -> Option<&'a Value>;
}

/// The wire format of a path.
pub(super) fn of_path(path: &str) -> Option<&'static dyn WireFormat> {
    if path.ends_with("/responses") {
        Some(&super::openai::OpenAi)
    } else if path.ends_with("/messages") {
        Some(&super::anthropic::Anthropic)
    } else if path.ends_with(":streamGenerateContent") || path.ends_with(":generateContent") {
        Some(&super::gemini::GeminiFormat)
    } else {
        None
    }
}

/// The elements of an array; none if it is not one.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The `name` fields of a list.
pub(super) fn names(tools: &Value) -> Vec<String> {
    list(tools).iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

/// The text in a string or a list of things with `text`.
pub(super) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A text as one piece, or in words with the space after them.
pub(super) fn pieces(text: &str, words: bool) -> Vec<&str> {
    if words { text.split_inclusive(' ').collect() } else { vec![text] }
}
