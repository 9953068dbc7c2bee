//! JSON-RPC 2.0, one message a line.

use std::borrow::Cow;

use omx_kernel::Value;
use omx_store::json;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Error codes of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not JSON.
    Parse,
    /// JSON, but not a request.
    InvalidRequest,
    /// No such method.
    MethodNotFound,
    /// The method exists, its parameters are wrong.
    InvalidParams,
}

impl Fault {
    const fn code(self) -> &'static str {
        match self {
            Self::Parse => "-32700",
            Self::InvalidRequest => "-32600",
            Self::MethodNotFound => "-32601",
            Self::InvalidParams => "-32602",
        }
    }
}

/// What a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// An answer is wanted under this id.
    Request { id: &'a str, method: Cow<'a, str>, params: Option<&'a str> },
    /// No answer is wanted.
    Notification,
    /// An answer to something we asked; we ask nothing.
    Response,
}

/// Only the outermost object is read here: a field of the wrong type must not
/// hide the id under which that is said.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// `null` is something: only what is not there is `None`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one line. A fault comes with the id to answer under (`null` if unknown).
pub fn read(line: &[u8]) -> Result<Message<'_>, (Fault, String, String)> {
    let null = || "null".to_owned();
    let text = std::str::from_utf8(line)
        .map_err(|_| (Fault::Parse, null(), "the message is not UTF-8".to_owned()))?;
    if text.starts_with('[') {
        let why = "a message is one object, not an array".to_owned();
        return Err((Fault::InvalidRequest, null(), why));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        let fault = if error.is_data() { Fault::InvalidRequest } else { Fault::Parse };
        (fault, null(), error.to_string())
    })?;
    let id = envelope.id.map(RawValue::get);
    let usable_id = id.filter(|id| {
        let value = json::parse_valid(id);
        value.as_str().is_some() || id.parse::<i64>().is_ok()
    });
    let answer_id = || usable_id.unwrap_or("null").to_owned();
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        let why = "\"jsonrpc\" must be \"2.0\"".to_owned();
        return Err((Fault::InvalidRequest, answer_id(), why));
    }
    let Some(method) = envelope.method else {
        return if envelope.result.is_some() || envelope.error.is_some() {
            Ok(Message::Response)
        } else {
            Err((Fault::InvalidRequest, answer_id(), "\"method\" is missing".to_owned()))
        };
    };
    let method: Cow<'_, str> = serde_json::from_str(method.get()).map_err(|_| {
        (Fault::InvalidRequest, answer_id(), "\"method\" must be a string".to_owned())
    })?;
    match (id, usable_id) {
        (None, _) => Ok(Message::Notification),
        (_, Some(id)) => {
            Ok(Message::Request { id, method, params: envelope.params.map(RawValue::get) })
        }
        (Some(_), None) => {
            Err((Fault::InvalidRequest, null(), "\"id\" must be a string or an integer".to_owned()))
        }
    }
}

/// A line that answers a request.
pub fn result(id: &str, result: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}\n", result.as_json())
}

/// A line that refuses a request.
pub fn fault(id: &str, fault: Fault, why: &str) -> String {
    let message = Value::string(why);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{},\"message\":{}}}}}\n",
        fault.code(),
        message.as_json()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let request = br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
        assert!(matches!(read(request), Ok(Message::Request { id: "\"a\"", .. })));
        let notification = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(read(notification), Ok(Message::Notification));
        assert_eq!(read(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Message::Response));
    }

    #[test]
    fn every_broken_line_has_its_fault_and_keeps_a_usable_id() {
        let table: [(&[u8], Fault, &str); 11] = [
            (b"", Fault::Parse, "null"),
            (b"{", Fault::Parse, "null"),
            (b"\xff", Fault::Parse, "null"),
            (b"42", Fault::InvalidRequest, "null"),
            (b"[]", Fault::InvalidRequest, "null"),
            (br#"{"id":7,"method":"ping"}"#, Fault::InvalidRequest, "7"),
            (br#"{"jsonrpc":"2.0","id":7}"#, Fault::InvalidRequest, "7"),
            (br#"{"jsonrpc":"2.0","id":7,"method":7}"#, Fault::InvalidRequest, "7"),
            (br#"{"jsonrpc":2.0,"id":7,"method":"x"}"#, Fault::InvalidRequest, "7"),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, Fault::InvalidRequest, "null"),
            (br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, Fault::InvalidRequest, "null"),
        ];
        for (line, wanted, wanted_id) in table {
            let (fault, id, why) = read(line).unwrap_err();
            assert_eq!((fault, id.as_str()), (wanted, wanted_id), "{why}");
        }
    }
}
