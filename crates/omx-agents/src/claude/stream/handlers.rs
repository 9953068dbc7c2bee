//! Handlers for claude's lines.

use std::time::Instant;

use serde_json::{Value, json};

use omx_kernel::Timestamp;

use super::super::errors::{ClaudeError, classify_message, claude_failure, parse_status, text};
use super::super::launch::SavedHistory;
use super::super::{lines, tools};
use super::{
    ClaudePhase, ClaudeProtocol, ClaudeTurn, ControlRequest, PendingInterrupt, PendingToolUse,
};
use crate::agent::AgentMessage;
use crate::event::{AgentEvent, ApprovalId, CallId, Delivery, ToolOutcome, TurnAnswer};
use crate::failure::FailureCause;
use crate::protocol::ProtocolEffect;

impl ClaudeProtocol {
    /// Handles a line. Unknown or malformed lines are ignored.
    pub(super) fn handle_line(&mut self, line: &Value, now: Instant) {
        match line["type"].as_str().unwrap_or_default() {
            "control_response" => self.handle_control_response(&line["response"], now),
            "control_request" => self.handle_control_request(line),
            "control_cancel_request" => {
                self.pending_approvals.remove(&ApprovalId(text(&line["request_id"])));
            }
            "system" => self.handle_system(line),
            "assistant" => self.handle_assistant(line),
            "user" if line["isReplay"] == true => self.message_replayed(&text(&line["uuid"])),
            "user" => self.handle_tool_results(line),
            "rate_limit_event" => {
                let info = &line["rate_limit_info"];
                let reset = info["resetsAt"].as_i64().filter(|_| info["status"] == "rejected");
                let millis = |seconds: i64| Timestamp::from_millis(seconds.saturating_mul(1000));
                self.limited_until = reset.map(millis);
            }
            "result" if self.phase != ClaudePhase::Ready => self.fail(classify_start_failure(line)),
            "result" => self.handle_turn_result(line, now),
            _ => {}
        }
    }

    /// Claude also repeats our own responses, which match no pending request.
    fn handle_control_response(&mut self, response: &Value, now: Instant) {
        let id = response["request_id"].as_str().unwrap_or_default();
        let done = response["subtype"] == "success";
        match self.requests.remove(id) {
            Some(ControlRequest::Initialize) if done => {
                self.phase = ClaudePhase::Ready;
                let conversation = self.conversation.clone();
                self.emit(AgentEvent::Started { conversation, model: None });
                self.report_interrupt();
                self.start_next_turn(now);
            }
            Some(ControlRequest::Initialize) => {
                self.fail(FailureCause::Protocol { detail: text(&response["error"]) });
            }
            Some(ControlRequest::Interrupt) => match (&mut self.interrupt, self.turn) {
                // It arrived after the turn had ended.
                (_, ClaudeTurn::None) => self.interrupt = None,
                (Some(interrupt), _) => interrupt.acknowledged = true,
                (None, _) => {}
            },
            Some(ControlRequest::Fence(words)) => {
                let steer =
                    self.steers.iter_mut().find(|steer| steer.id == words && !steer.is_reported);
                if let Some(steer) = steer {
                    steer.is_reported = true;
                    self.emit(AgentEvent::Delivered(Delivery::Queued));
                }
            }
            Some(ControlRequest::Withdraw(words)) if response["response"]["cancelled"] == true => {
                let mut steers = self.steers.iter_mut();
                if let Some(steer) = steers.find(|steer| steer.id == words) {
                    steer.is_withdrawn = true;
                }
            }
            Some(ControlRequest::Withdraw(_)) | None => {}
        }
    }

    fn handle_control_request(&mut self, line: &Value) {
        let Some(id) = line["request_id"].as_str() else { return };
        let request = &line["request"];
        if request["subtype"] != "can_use_tool" {
            return self.effects.push(ProtocolEffect::Write(lines::refusal(id)));
        }
        let approval = ApprovalId(id.to_owned());
        let call = CallId(text(&request["tool_use_id"]));
        let input = request["input"].clone();
        self.pending_approvals.insert(approval.clone(), PendingToolUse { call, input });
        let ask = tools::parse_request(request, &self.folder);
        self.emit(AgentEvent::ApprovalNeeded { approval, ask });
    }

    fn handle_system(&mut self, line: &Value) {
        match line["subtype"].as_str().unwrap_or_default() {
            "init" => {
                self.model = line["model"].as_str().map(str::to_owned).or(self.model.take());
                if self.turn == ClaudeTurn::Sent {
                    self.turn_started();
                }
            }
            "api_retry" => {
                let cause = ClaudeError::from_retry(line, self.limited_until).cause();
                self.emit(AgentEvent::Retrying(claude_failure(cause)));
            }
            _ => {}
        }
    }

    /// A turn starts with the message that was sent, or else with the first
    /// queued text.
    fn turn_started(&mut self) {
        if self.sent_id.take().is_none() && !self.steers.is_empty() {
            self.steers.remove(0);
        }
        self.turn = ClaudeTurn::Running;
        self.emit(AgentEvent::Delivered(Delivery::Turn));
        // An interrupt that claude read before the turn started had no effect.
        if let Some(interrupt) = self.interrupt.as_mut().filter(|one| one.acknowledged) {
            interrupt.acknowledged = false;
            self.request(ControlRequest::Interrupt, json!({"subtype": "interrupt"}));
        }
    }

    /// The message with this id has reached the model.
    fn message_replayed(&mut self, id: &str) {
        self.history = SavedHistory::Saved;
        if self.turn == ClaudeTurn::Sent && self.sent_id.is_some() {
            self.turn_started();
        }
        let Some(at) = self.steers.iter().position(|steer| steer.id == id) else { return };
        if matches!(self.turn, ClaudeTurn::Sent | ClaudeTurn::None) {
            self.steers.swap(0, at);
            self.turn_started();
        } else {
            self.steers.remove(at);
            self.emit(AgentEvent::Delivered(Delivery::Steered));
        }
    }

    fn handle_assistant(&mut self, line: &Value) {
        let own = line["parent_tool_use_id"].is_null();
        match self.turn {
            ClaudeTurn::Sent => self.turn_started(),
            ClaudeTurn::None if self.phase == ClaudePhase::Ready => {
                self.turn = ClaudeTurn::Unrequested
            }
            _ => {}
        }
        let message = &line["message"];
        if let Some(code) = line["error"].as_str() {
            let code = code.to_owned();
            self.last_error = Some(ClaudeError { code, ..ClaudeError::default() });
        }
        // Messages that claude writes in place of the model are not answers.
        if line["error"].is_string() || message["model"] == "<synthetic>" {
            return;
        }
        if let Some(usage) = self.usage.add_step(message) {
            self.emit(AgentEvent::Usage(usage));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                // The text of an interrupted turn stops in mid-sentence.
                "text" if own && self.interrupt.is_none() => {
                    let message = text(&block["text"]);
                    if !message.trim().is_empty() {
                        self.emit(AgentEvent::Text(message));
                    }
                }
                "tool_use" => self.tool_started(block),
                _ => {}
            }
        }
    }

    fn tool_started(&mut self, block: &Value) {
        let call = CallId(text(&block["id"]));
        let tool = tools::parse_tool(block["name"].as_str().unwrap_or_default(), &block["input"]);
        if let Some(interrupt) = &mut self.interrupt {
            interrupt.in_tool = true;
        }
        self.calls.insert(call.clone(), tool.clone());
        self.emit(AgentEvent::ToolStarted { call, tool });
    }

    fn handle_tool_results(&mut self, line: &Value) {
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            let call = CallId(text(&block["tool_use_id"]));
            let Some(tool) = self.calls.remove(&call) else { continue };
            let end = tools::parse_outcome(&tool, block);
            self.emit(AgentEvent::ToolFinished { call, end });
            if end == ToolOutcome::Succeeded {
                for path in tools::changed_paths(tool, line) {
                    self.emit(AgentEvent::FileChanged(path));
                }
            }
        }
    }

    /// Handles the end of a turn.
    fn handle_turn_result(&mut self, line: &Value, now: Instant) {
        if self.turn == ClaudeTurn::Sent {
            self.turn_started();
        }
        if let Some(usage) = self.usage.finish_turn(line) {
            self.emit(AgentEvent::Usage(usage));
        }
        for call in std::mem::take(&mut self.calls).into_keys() {
            self.emit(AgentEvent::ToolFinished { call, end: ToolOutcome::Failed });
        }
        self.pending_approvals.clear();
        let fault = self.last_error.take();
        let turn = std::mem::replace(&mut self.turn, ClaudeTurn::None);
        let interrupt = self.take_interrupt(line);
        self.requeue_withdrawn();
        match (turn, interrupt) {
            (ClaudeTurn::None | ClaudeTurn::Unrequested, _) => {}
            (_, Some(interrupt)) if interrupt.in_tool => {
                // Restart the process to terminate what a command left behind.
                self.interrupt_due = Some(interrupt.requested_at + self.interrupt_grace);
                return self.launch(now);
            }
            (_, Some(_)) => self.emit(AgentEvent::TurnInterrupted),
            (_, None) => {
                let outcome = self.outcome(line, fault);
                self.emit(outcome);
            }
        }
        if self.steers.is_empty() {
            return self.start_next_turn(now);
        }
        // Claude continues with the text it has queued.
        self.turn = ClaudeTurn::Sent;
        for at in 0..self.steers.len() {
            if !std::mem::replace(&mut self.steers[at].is_reported, true) {
                self.emit(AgentEvent::Delivered(Delivery::Queued));
            }
        }
    }

    /// Our interrupt, if it ended the turn. One that came too late is dropped as
    /// soon as claude has read it.
    fn take_interrupt(&mut self, line: &Value) -> Option<PendingInterrupt> {
        let interrupt = self.interrupt?;
        let aborted = text(&line["terminal_reason"]).starts_with("aborted")
            || line["subtype"] == "error_during_execution";
        if aborted || interrupt.acknowledged {
            self.interrupt = None;
        }
        aborted.then_some(interrupt)
    }

    /// Puts withdrawn text at the front of the queue.
    fn requeue_withdrawn(&mut self) {
        let steers = std::mem::take(&mut self.steers);
        let (withdrawn, kept): (Vec<_>, Vec<_>) =
            steers.into_iter().partition(|steer| steer.is_withdrawn);
        self.steers = kept;
        for steer in withdrawn.into_iter().rev() {
            self.queue.push_front(AgentMessage::text(steer.text));
        }
    }

    /// How the turn ended. Claude reports a failed turn as a success with an error.
    fn outcome(&self, line: &Value, fault: Option<ClaudeError>) -> AgentEvent {
        let words = result_text(line);
        match line["subtype"].as_str().unwrap_or_default() {
            // One of the person's hooks blocked the message before the model saw it.
            "success" if line["is_error"] != true && line["num_turns"] == 0 => {
                AgentEvent::TurnFailed(claude_failure(FailureCause::Rejected { detail: words }))
            }
            "success" if line["is_error"] != true => {
                let structured = line.get("structured_output").filter(|value| !value.is_null());
                AgentEvent::TurnFinished(TurnAnswer {
                    text: words,
                    structured: structured.cloned(),
                })
            }
            // The model never returned a valid structured answer.
            "error_max_structured_output_retries" => {
                AgentEvent::TurnFinished(TurnAnswer { text: words, structured: None })
            }
            _ => {
                let fault = ClaudeError {
                    status: parse_status(&line["api_error_status"]),
                    message: words,
                    until: self.limited_until,
                    model: self.model.clone(),
                    ..fault.unwrap_or_default()
                };
                AgentEvent::TurnFailed(claude_failure(fault.cause()))
            }
        }
    }
}

/// The final message of a turn, or its errors.
fn result_text(line: &Value) -> String {
    match line["result"].as_str() {
        Some(words) => words.to_owned(),
        None => {
            let errors = line["errors"].as_array().into_iter().flatten();
            errors.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Why a process ended before it was ready.
fn classify_start_failure(line: &Value) -> FailureCause {
    let detail = result_text(line);
    classify_message(&detail).unwrap_or(FailureCause::CannotStart { detail })
}
