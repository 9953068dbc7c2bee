//! The app-server's notifications and requests. Subagents of codex report as
//! threads of their own: their tool calls and usage count, their messages and
//! the ends of their turns do not.

use std::time::Instant;

use serde_json::Value;

use omx_kernel::Timestamp;

use super::super::usage::parse_app_server_usage;
use super::super::{errors, items};
use super::turn::{CodexTurn, TurnEnd, TurnOrigin};
use super::{AppServer, AppServerState, codex_failure};
use crate::agent::ConversationId;
use crate::event::AgentEvent;
use crate::failure::FailureCause;
use crate::protocol::ProtocolEffect;

/// JSON-RPC's error code for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

impl AppServer {
    /// Handles a request. An unknown one is rejected, so that codex does not wait
    /// for a response.
    pub(super) fn handle_request(
        &mut self,
        id: Value,
        method: &str,
        params: &Value,
    ) -> Vec<ProtocolEffect> {
        let folder = &self.options.folder;
        match self.approvals.add_request(id.clone(), method, params, folder, &self.items) {
            Some((approval, ask)) => {
                vec![ProtocolEffect::Emit(AgentEvent::ApprovalNeeded { approval, ask })]
            }
            None => {
                let refusal =
                    self.rpc.reject(&id, METHOD_NOT_FOUND, "not supported by this client");
                vec![ProtocolEffect::Write(refusal)]
            }
        }
    }

    pub(super) fn handle_notification(
        &mut self,
        method: &str,
        params: &Value,
        now: Instant,
    ) -> Vec<ProtocolEffect> {
        let thread = params["threadId"].as_str();
        let is_own = thread == self.thread.as_ref().map(ConversationId::as_str);
        match method {
            "item/started" => emit(self.items.started(&params["item"])),
            "item/completed" => {
                let mut effects = Vec::new();
                if let Some(words) = items::message_text(&params["item"]).filter(|_| is_own) {
                    if let Some(turn) = &mut self.turn {
                        turn.last_message = Some(words.to_owned());
                    }
                    effects.push(ProtocolEffect::Emit(AgentEvent::Text(words.to_owned())));
                }
                effects.extend(emit(self.items.completed(&params["item"])));
                effects
            }
            "thread/tokenUsage/updated" => self.usage_updated(params, is_own),
            "account/rateLimits/updated" => {
                self.resets.learn_windows(&params["rateLimits"]);
                Vec::new()
            }
            "serverRequest/resolved" => {
                self.approvals.remove_resolved(&params["requestId"]);
                Vec::new()
            }
            "turn/started" if is_own && self.state == AppServerState::Open => {
                match params["turn"]["id"].as_str() {
                    Some(id) => self.turn_started(id, now),
                    None => Vec::new(),
                }
            }
            "turn/completed" if is_own => self.turn_completed(&params["turn"], now),
            "error" if is_own => self.error_reported(params),
            _ => Vec::new(),
        }
    }

    fn usage_updated(&mut self, params: &Value, is_own: bool) -> Vec<ProtocolEffect> {
        let Some(thread) = params["threadId"].as_str() else { return Vec::new() };
        let sum = parse_app_server_usage(&params["tokenUsage"]["total"]);
        let turn = self.turn.as_ref().and_then(|turn| turn.id.as_deref());
        if is_own && turn != params["turnId"].as_str() {
            // The total of a resumed conversation.
            self.usage.set_baseline(thread, sum);
            return Vec::new();
        }
        emit(self.usage.add_total(thread, sum).map(AgentEvent::Usage))
    }

    fn error_reported(&mut self, params: &Value) -> Vec<ProtocolEffect> {
        let error = &params["error"];
        if params["willRetry"] == true {
            let cause = errors::classify(error, self.error_context(None));
            return vec![ProtocolEffect::Emit(AgentEvent::Retrying(codex_failure(cause)))];
        }
        if let Some(turn) = &mut self.turn {
            turn.error = Some(error.clone());
        }
        Vec::new()
    }

    fn turn_started(&mut self, id: &str, now: Instant) -> Vec<ProtocolEffect> {
        let ordered = self.turn.as_ref().filter(|turn| turn.origin == TurnOrigin::Owner);
        match ordered.map(|turn| turn.id.as_deref()) {
            Some(name) if name.is_none_or(|name| name == id) => self.turn_running(id, now),
            // A turn of codex's own, before ours has started.
            Some(_) => Vec::new(),
            None => {
                self.last_turn = self.last_turn.next();
                self.turn = Some(CodexTurn::started_by_codex(self.last_turn, id));
                Vec::new()
            }
        }
    }

    fn turn_completed(&mut self, reported: &Value, now: Instant) -> Vec<ProtocolEffect> {
        let id = reported["id"].as_str();
        let is_it = |turn: &mut CodexTurn| turn.id.is_none() || turn.id.as_deref() == id;
        let Some(mut turn) = self.turn.take_if(is_it) else { return Vec::new() };
        if turn.origin == TurnOrigin::Codex && !turn.is_interrupted {
            return self.start_next_after(turn, now);
        }
        let ending = match reported["status"].as_str() {
            Some("completed") if turn.origin == TurnOrigin::Owner => {
                let message = reported["items"].as_array().into_iter().flatten();
                if let Some(words) = message.filter_map(items::message_text).next_back() {
                    turn.last_message = Some(words.to_owned());
                }
                TurnEnd::Finished(turn.take_answer())
            }
            _ if turn.is_interrupted => TurnEnd::Interrupted,
            status => TurnEnd::Failed(self.failure_cause(reported, status, &turn)),
        };
        self.turn_ended(turn, ending, now)
    }

    fn failure_cause(
        &self,
        reported: &Value,
        status: Option<&str>,
        turn: &CodexTurn,
    ) -> FailureCause {
        let error =
            Some(&reported["error"]).filter(|error| !error.is_null()).or(turn.error.as_ref());
        let moment = reported["completedAt"].as_i64().and_then(|seconds| seconds.checked_mul(1000));
        match (error, status) {
            (Some(error), _) => {
                errors::classify(error, self.error_context(moment.map(Timestamp::from_millis)))
            }
            (None, Some("interrupted")) => {
                FailureCause::Rejected { detail: "codex ended the turn on its own".to_owned() }
            }
            (None, _) => FailureCause::Rejected { detail: "codex gives no reason".to_owned() },
        }
    }
}

fn emit(events: impl IntoIterator<Item = AgentEvent>) -> Vec<ProtocolEffect> {
    events.into_iter().map(ProtocolEffect::Emit).collect()
}
