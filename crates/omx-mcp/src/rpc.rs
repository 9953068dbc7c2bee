//! JSON-RPC 2.0, one message per line.

use std::borrow::Cow;

use omx_kernel::Value;
use omx_store::json;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The error codes of JSON-RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RpcErrorCode {
    /// The line is not JSON.
    Parse,
    /// The line is JSON, but not a request.
    InvalidRequest,
    /// The server has no such method.
    MethodNotFound,
    /// The method exists; its parameters are wrong.
    InvalidParams,
}

impl RpcErrorCode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Parse => "-32700",
            Self::InvalidRequest => "-32600",
            Self::MethodNotFound => "-32601",
            Self::InvalidParams => "-32602",
        }
    }
}

/// An error response, before it is formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcError {
    pub code: RpcErrorCode,
    pub message: String,
}

impl RpcError {
    pub fn new(code: RpcErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(RpcErrorCode::InvalidParams, message)
    }
}

/// One line from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RpcMessage<'a> {
    /// The client expects a response under this id.
    Request { id: &'a str, method: Cow<'a, str>, params: Option<&'a str> },
    /// The client expects no response.
    Notification { method: Cow<'a, str>, params: Option<&'a str> },
    /// A response. The server sends no requests, so it ignores responses.
    Response,
}

/// A line that is not a message, and the id to report that under (`null` if unknown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidLine {
    pub id: String,
    pub error: RpcError,
}

/// The outermost object, with its fields unparsed: a field of the wrong type must
/// not hide the id under which the error is reported.
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

/// Keeps `null` apart from a missing field: only the latter is `None`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses one line.
pub(crate) fn parse_message(line: &[u8]) -> Result<RpcMessage<'_>, InvalidLine> {
    let invalid = |id: Option<&str>, code, message: String| InvalidLine {
        id: id.unwrap_or("null").to_owned(),
        error: RpcError { code, message },
    };
    let text = std::str::from_utf8(line)
        .map_err(|_| invalid(None, RpcErrorCode::Parse, "the message is not UTF-8".to_owned()))?;
    if text.starts_with('[') {
        let message = "a message is one object, not an array".to_owned();
        return Err(invalid(None, RpcErrorCode::InvalidRequest, message));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        let is_json = error.is_data();
        let code = if is_json { RpcErrorCode::InvalidRequest } else { RpcErrorCode::Parse };
        invalid(None, code, error.to_string())
    })?;
    let id = envelope.id.map(RawValue::get);
    let usable_id = id.filter(|id| RequestId::parse(id).is_some());
    let bad_request =
        |message: &str| invalid(usable_id, RpcErrorCode::InvalidRequest, message.to_owned());
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(bad_request("\"jsonrpc\" must be \"2.0\""));
    }
    let Some(method) = envelope.method else {
        let is_response = envelope.result.is_some() || envelope.error.is_some();
        return match is_response {
            true => Ok(RpcMessage::Response),
            false => Err(bad_request("\"method\" is missing")),
        };
    };
    let method: Cow<'_, str> = serde_json::from_str(method.get())
        .map_err(|_| bad_request("\"method\" must be a string"))?;
    let params = envelope.params.map(RawValue::get);
    match (id, usable_id) {
        (None, _) => Ok(RpcMessage::Notification { method, params }),
        (_, Some(id)) => Ok(RpcMessage::Request { id, method, params }),
        (Some(_), None) => Err(bad_request("\"id\" must be a string or an integer")),
    }
}

/// A request's id by value: `"a"` and `"\u0061"` are the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestId {
    Number(i64),
    Text(String),
}

impl RequestId {
    /// Parses the JSON text of an id.
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(number) => Some(Self::Number(number)),
            Err(_) => json::parse_valid(text).as_str().map(|text| Self::Text(text.to_owned())),
        }
    }
}

/// Formats a response with a result, which is JSON text.
pub(crate) fn format_result(id: &str, result: &str) -> String {
    ["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"result\":", result, "}\n"].concat()
}

/// Formats a response with an error.
pub(crate) fn format_error(id: &str, error: &RpcError) -> String {
    let message = Value::string(&error.message);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{},\"message\":{}}}}}\n",
        error.code.as_str(),
        message.as_json()
    )
}

/// Formats a notification.
pub(crate) fn format_notification(method: &str, params: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{}}}\n", params.as_json())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_notifications_and_responses_are_distinguished() {
        let request = br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
        assert!(matches!(parse_message(request), Ok(RpcMessage::Request { id: "\"a\"", .. })));
        let notification = br#"{"jsonrpc":"2.0","method":"x","params":{"a":1}}"#;
        let params = Some(r#"{"a":1}"#);
        let wanted = RpcMessage::Notification { method: "x".into(), params };
        assert_eq!(parse_message(notification), Ok(wanted));
        let response = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert_eq!(parse_message(response), Ok(RpcMessage::Response));
    }

    #[test]
    fn every_invalid_line_has_its_code_and_keeps_a_usable_id() {
        let table: [(&[u8], RpcErrorCode, &str); 11] = [
            (b"", RpcErrorCode::Parse, "null"),
            (b"{", RpcErrorCode::Parse, "null"),
            (b"\xff", RpcErrorCode::Parse, "null"),
            (b"42", RpcErrorCode::InvalidRequest, "null"),
            (b"[]", RpcErrorCode::InvalidRequest, "null"),
            (br#"{"id":7,"method":"ping"}"#, RpcErrorCode::InvalidRequest, "7"),
            (br#"{"jsonrpc":"2.0","id":7}"#, RpcErrorCode::InvalidRequest, "7"),
            (br#"{"jsonrpc":"2.0","id":7,"method":7}"#, RpcErrorCode::InvalidRequest, "7"),
            (br#"{"jsonrpc":2.0,"id":7,"method":"x"}"#, RpcErrorCode::InvalidRequest, "7"),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, RpcErrorCode::InvalidRequest, "null"),
            (br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, RpcErrorCode::InvalidRequest, "null"),
        ];
        for (line, code, id) in table {
            let invalid = parse_message(line).unwrap_err();
            assert_eq!((invalid.error.code, invalid.id.as_str()), (code, id), "{invalid:?}");
        }
    }

    #[test]
    fn an_id_is_compared_by_value() {
        assert_eq!(RequestId::parse("7"), Some(RequestId::Number(7)));
        assert_eq!(RequestId::parse(r#""\u0061""#), RequestId::parse(r#""a""#));
        assert_ne!(RequestId::parse("7"), RequestId::parse(r#""7""#));
        assert_eq!(RequestId::parse("null"), None);
        assert_eq!(RequestId::parse("1.5"), None);
    }
}
