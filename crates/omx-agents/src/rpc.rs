//! JSON-RPC over lines, in both directions, with a deadline for each request.
//! Codex's app-server and the Agent Client Protocol use it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A parsed line from the peer.
#[derive(Clone, Debug, PartialEq)]
pub enum RpcIncoming<Purpose> {
    /// The response to one of our requests.
    Response(Purpose, Result<Value, RpcFailure>),
    /// A request that expects a response.
    Request {
        /// The id to respond with.
        id: Value,
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A response to no pending request, or not JSON-RPC at all.
    Unknown(Value),
}

/// An error response from the peer.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcFailure {
    /// The error code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// Additional data.
    pub data: Value,
}

/// One end of the connection. `Purpose` identifies our pending requests.
#[derive(Debug)]
pub struct Rpc<Purpose> {
    version: Option<&'static str>,
    timeout: Duration,
    last_id: u64,
    pending: BTreeMap<u64, (Purpose, Instant)>,
}

impl<Purpose> Rpc<Purpose> {
    /// Writes `"jsonrpc":"2.0"` into its lines, as the standard requires.
    pub fn version_2(patience: Duration) -> Self {
        Self { version: Some("2.0"), timeout: patience, last_id: 0, pending: BTreeMap::new() }
    }

    /// Omits the version, as codex does.
    pub fn unversioned(patience: Duration) -> Self {
        Self { version: None, ..Self::version_2(patience) }
    }

    /// A request with the default timeout.
    pub fn request(
        &mut self,
        purpose: Purpose,
        method: &str,
        params: Value,
        now: Instant,
    ) -> Value {
        let deadline = now + self.timeout;
        self.request_until(purpose, method, params, deadline)
    }

    /// A request with a deadline.
    pub fn request_until(
        &mut self,
        purpose: Purpose,
        method: &str,
        params: Value,
        deadline: Instant,
    ) -> Value {
        self.last_id += 1;
        self.pending.insert(self.last_id, (purpose, deadline));
        self.line(json!({"id": self.last_id, "method": method, "params": params}))
    }

    /// A notification.
    pub fn notification(&self, method: &str, params: Value) -> Value {
        self.line(json!({"method": method, "params": params}))
    }

    /// The response to a request of the peer.
    pub fn response(&self, id: &Value, result: Value) -> Value {
        self.line(json!({"id": id, "result": result}))
    }

    /// An error response to a request of the peer.
    pub fn reject(&self, id: &Value, code: i64, message: &str) -> Value {
        self.line(json!({"id": id, "error": {"code": code, "message": message}}))
    }

    /// Parses a line from the peer and matches responses with pending requests.
    pub fn parse_incoming(&mut self, line: Value) -> RpcIncoming<Purpose> {
        let Value::Object(mut fields) = line else { return RpcIncoming::Unknown(line) };
        let method = match fields.get("method") {
            Some(Value::String(method)) => Some(method.clone()),
            // It must not be mistaken for a response.
            Some(_) => return RpcIncoming::Unknown(Value::Object(fields)),
            None => None,
        };
        let id = fields.get("id").filter(|id| !id.is_null()).cloned();
        let mut params = || fields.remove("params").unwrap_or(Value::Null);
        match (method, id) {
            (Some(method), Some(id)) => RpcIncoming::Request { id, method, params: params() },
            (Some(method), None) => RpcIncoming::Notification { method, params: params() },
            (None, Some(id)) => {
                let waiting = id.as_u64().and_then(|id| self.pending.remove(&id));
                let Some((purpose, _)) = waiting else {
                    return RpcIncoming::Unknown(Value::Object(fields));
                };
                let answer = match fields.remove("error") {
                    None | Some(Value::Null) => Ok(fields.remove("result").unwrap_or(Value::Null)),
                    Some(error) => Err(RpcFailure::from(error)),
                };
                RpcIncoming::Response(purpose, answer)
            }
            (None, None) => RpcIncoming::Unknown(Value::Object(fields)),
        }
    }

    /// The earliest deadline of a pending request.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.pending.values().map(|(_, deadline)| *deadline).min()
    }

    /// Removes a request whose deadline has passed; a later response to it is
    /// ignored.
    pub fn take_expired(&mut self, now: Instant) -> Option<Purpose> {
        let id = *self.pending.iter().find(|(_, (_, deadline))| *deadline <= now)?.0;
        self.pending.remove(&id).map(|(purpose, _)| purpose)
    }

    /// Removes every pending request, oldest first.
    pub fn take_pending(&mut self) -> Vec<Purpose> {
        std::mem::take(&mut self.pending).into_values().map(|(purpose, _)| purpose).collect()
    }

    fn line(&self, mut line: Value) -> Value {
        if let (Some(version), Value::Object(fields)) = (self.version, &mut line) {
            fields.insert("jsonrpc".to_owned(), version.into());
        }
        line
    }
}

impl From<Value> for RpcFailure {
    fn from(error: Value) -> Self {
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error.get("data").cloned().unwrap_or(Value::Null),
        }
    }
}
