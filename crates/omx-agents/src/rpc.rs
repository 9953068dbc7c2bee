//! JSON-RPC as lines, both ways: ids, requests, answers, notifications, and a
//! deadline for each request. Codex's app-server and the agent client
//! protocol both speak it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What a line of the other side is.
#[derive(Clone, Debug, PartialEq)]
pub enum RpcIncoming<Purpose> {
    /// The answer to a request of ours.
    Response(Purpose, Result<Value, RpcFailure>),
    /// A request that wants an answer.
    Request {
        /// To be given back with the answer.
        id: Value,
        /// What is asked.
        method: String,
        /// With what.
        params: Value,
    },
    /// Something told.
    Notification {
        /// What.
        method: String,
        /// With what.
        params: Value,
    },
    /// An answer nobody waits for, or no JSON-RPC at all.
    Unknown(Value),
}

/// The other side's refusal.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcFailure {
    /// Its code.
    pub code: i64,
    /// Its words.
    pub message: String,
    /// What it adds.
    pub data: Value,
}

/// One end of the line. `Purpose` tells requests of ours apart.
#[derive(Debug)]
pub struct Rpc<Purpose> {
    version: Option<&'static str>,
    timeout: Duration,
    last_id: u64,
    pending: BTreeMap<u64, (Purpose, Instant)>,
}

impl<Purpose> Rpc<Purpose> {
    /// An end that writes `"jsonrpc":"2.0"` into its lines, as most want.
    pub fn version_2(patience: Duration) -> Self {
        Self { version: Some("2.0"), timeout: patience, last_id: 0, pending: BTreeMap::new() }
    }

    /// An end that leaves the version out.
    pub fn unversioned(patience: Duration) -> Self {
        Self { version: None, ..Self::version_2(patience) }
    }

    /// A request that must be answered in the usual time.
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

    /// A request that must be answered by then.
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

    /// Something told.
    pub fn notification(&self, method: &str, params: Value) -> Value {
        self.line(json!({"method": method, "params": params}))
    }

    /// The answer to a request of the other side.
    pub fn response(&self, id: &Value, result: Value) -> Value {
        self.line(json!({"id": id, "result": result}))
    }

    /// The refusal of a request of the other side.
    pub fn reject(&self, id: &Value, code: i64, message: &str) -> Value {
        self.line(json!({"id": id, "error": {"code": code, "message": message}}))
    }

    /// Understands a line of the other side.
    pub fn parse_incoming(&mut self, line: Value) -> RpcIncoming<Purpose> {
        let Value::Object(mut fields) = line else { return RpcIncoming::Unknown(line) };
        let method = match fields.get("method") {
            Some(Value::String(method)) => Some(method.clone()),
            // It must not pass for an answer.
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

    /// When the next request runs out of time.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.pending.values().map(|(_, deadline)| *deadline).min()
    }

    /// Takes a request that has run out of time; its answer is nobody's from now on.
    pub fn take_expired(&mut self, now: Instant) -> Option<Purpose> {
        let id = *self.pending.iter().find(|(_, (_, deadline))| *deadline <= now)?.0;
        self.pending.remove(&id).map(|(purpose, _)| purpose)
    }

    /// Gives up every request that waits for an answer; the oldest comes first.
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
