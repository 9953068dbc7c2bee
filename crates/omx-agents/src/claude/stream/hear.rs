//! What claude's lines mean.

use std::time::Instant;

use serde_json::{Value, json};

use omx_kernel::Timestamp;

use super::super::errors::{Fault, of_words, status, text, trouble};
use super::super::launch::Record;
use super::super::{lines, tools};
use super::{Asked, Interrupt, Phase, Purpose, Stream, Turn};
use crate::agent::AgentMessage;
use crate::event::{AgentEvent, ApprovalId, CallId, Delivery, ToolOutcome, TurnAnswer};
use crate::failure::FailureCause;
use crate::protocol::ProtocolEffect;

impl Stream {
    /// Takes a line. What is unknown, or not as expected, means nothing.
    pub(super) fn hear(&mut self, line: &Value, now: Instant) {
        match line["type"].as_str().unwrap_or_default() {
            "control_response" => self.hear_answer(&line["response"], now),
            "control_request" => self.hear_request(line),
            "control_cancel_request" => {
                self.asked.remove(&ApprovalId(text(&line["request_id"])));
            }
            "system" => self.hear_system(line),
            "assistant" => self.hear_model(line),
            "user" if line["isReplay"] == true => self.heard(&text(&line["uuid"])),
            "user" => self.hear_results(line),
            "rate_limit_event" => {
                let info = &line["rate_limit_info"];
                let reset = info["resetsAt"].as_i64().filter(|_| info["status"] == "rejected");
                let millis = |seconds: i64| Timestamp::from_millis(seconds.saturating_mul(1000));
                self.limited_until = reset.map(millis);
            }
            "result" if self.phase != Phase::Ready => self.fail(of_start(line)),
            "result" => self.hear_result(line, now),
            _ => {}
        }
    }

    /// Claude also repeats our own answers; they fit no request of ours.
    fn hear_answer(&mut self, response: &Value, now: Instant) {
        let id = response["request_id"].as_str().unwrap_or_default();
        let done = response["subtype"] == "success";
        match self.requests.remove(id) {
            Some(Purpose::Initialize) if done => {
                self.phase = Phase::Ready;
                let conversation = self.conversation.clone();
                self.emit(AgentEvent::Started { conversation, model: None });
                self.settle();
                self.next(now);
            }
            Some(Purpose::Initialize) => {
                self.fail(FailureCause::Protocol { detail: text(&response["error"]) });
            }
            Some(Purpose::Interrupt) => match (&mut self.interrupt, self.turn) {
                // It came after the turn it was meant for.
                (_, Turn::None) => self.interrupt = None,
                (Some(interrupt), _) => interrupt.acknowledged = true,
                (None, _) => {}
            },
            Some(Purpose::Fence(words)) => {
                let steer = self.steers.iter_mut().find(|steer| steer.id == words && !steer.told);
                if let Some(steer) = steer {
                    steer.told = true;
                    self.emit(AgentEvent::Delivered(Delivery::Queued));
                }
            }
            Some(Purpose::Withdraw(words)) if response["response"]["cancelled"] == true => {
                let mut steers = self.steers.iter_mut();
                if let Some(steer) = steers.find(|steer| steer.id == words) {
                    steer.withdrawn = true;
                }
            }
            Some(Purpose::Withdraw(_)) | None => {}
        }
    }

    fn hear_request(&mut self, line: &Value) {
        let Some(id) = line["request_id"].as_str() else { return };
        let request = &line["request"];
        if request["subtype"] != "can_use_tool" {
            return self.effects.push(ProtocolEffect::Write(lines::refusal(id)));
        }
        let approval = ApprovalId(id.to_owned());
        let call = CallId(text(&request["tool_use_id"]));
        let input = request["input"].clone();
        self.asked.insert(approval.clone(), Asked { call, input });
        let ask = tools::ask(request, &self.folder);
        self.emit(AgentEvent::ApprovalNeeded { approval, ask });
    }

    fn hear_system(&mut self, line: &Value) {
        match line["subtype"].as_str().unwrap_or_default() {
            "init" => {
                self.model = line["model"].as_str().map(str::to_owned).or(self.model.take());
                if self.turn == Turn::Ahead {
                    self.begun();
                }
            }
            "api_retry" => {
                let cause = Fault::of_retry(line, self.limited_until).cause();
                self.emit(AgentEvent::Retrying(trouble(cause)));
            }
            _ => {}
        }
    }

    /// The message that is ahead begins a turn; if none of ours is, the first
    /// of the words that were kept.
    fn begun(&mut self) {
        if self.sent.take().is_none() && !self.steers.is_empty() {
            self.steers.remove(0);
        }
        self.turn = Turn::Running;
        self.emit(AgentEvent::Delivered(Delivery::Turn));
        // An interrupt that claude read before it began has interrupted nothing.
        if let Some(interrupt) = self.interrupt.as_mut().filter(|one| one.acknowledged) {
            interrupt.acknowledged = false;
            self.request(Purpose::Interrupt, json!({"subtype": "interrupt"}));
        }
    }

    /// The words of this id are part of the conversation.
    fn heard(&mut self, id: &str) {
        self.record = Record::Kept;
        if self.turn == Turn::Ahead && self.sent.is_some() {
            self.begun();
        }
        let Some(at) = self.steers.iter().position(|steer| steer.id == id) else { return };
        if matches!(self.turn, Turn::Ahead | Turn::None) {
            self.steers.swap(0, at);
            self.begun();
        } else {
            self.steers.remove(at);
            self.emit(AgentEvent::Delivered(Delivery::Steered));
        }
    }

    fn hear_model(&mut self, line: &Value) {
        let own = line["parent_tool_use_id"].is_null();
        match self.turn {
            Turn::Ahead => self.begun(),
            Turn::None if self.phase == Phase::Ready => self.turn = Turn::Unasked,
            _ => {}
        }
        let message = &line["message"];
        if let Some(code) = line["error"].as_str() {
            let code = code.to_owned();
            self.fault = Some(Fault { code, ..Fault::default() });
        }
        // What claude says in the model's place is no answer.
        if line["error"].is_string() || message["model"] == "<synthetic>" {
            return;
        }
        if let Some(usage) = self.tally.step(message) {
            self.emit(AgentEvent::Usage(usage));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                // An interrupted turn ends in the middle of a sentence.
                "text" if own && self.interrupt.is_none() => {
                    let said = text(&block["text"]);
                    if !said.trim().is_empty() {
                        self.emit(AgentEvent::Text(said));
                    }
                }
                "tool_use" => self.hear_tool(block),
                _ => {}
            }
        }
    }

    fn hear_tool(&mut self, block: &Value) {
        let call = CallId(text(&block["id"]));
        let tool = tools::tool(block["name"].as_str().unwrap_or_default(), &block["input"]);
        if let Some(interrupt) = &mut self.interrupt {
            interrupt.in_tool = true;
        }
        self.calls.insert(call.clone(), tool.clone());
        self.emit(AgentEvent::ToolStarted { call, tool });
    }

    fn hear_results(&mut self, line: &Value) {
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            let call = CallId(text(&block["tool_use_id"]));
            let Some(tool) = self.calls.remove(&call) else { continue };
            let end = tools::end(&tool, block);
            self.emit(AgentEvent::ToolFinished { call, end });
            if end == ToolOutcome::Succeeded {
                for path in tools::changed(tool, line) {
                    self.emit(AgentEvent::FileChanged(path));
                }
            }
        }
    }

    /// The turn is over.
    fn hear_result(&mut self, line: &Value, now: Instant) {
        if self.turn == Turn::Ahead {
            self.begun();
        }
        if let Some(usage) = self.tally.whole(line) {
            self.emit(AgentEvent::Usage(usage));
        }
        for call in std::mem::take(&mut self.calls).into_keys() {
            self.emit(AgentEvent::ToolFinished { call, end: ToolOutcome::Failed });
        }
        self.asked.clear();
        let fault = self.fault.take();
        let turn = std::mem::replace(&mut self.turn, Turn::None);
        let interrupt = self.take_interrupt(line);
        self.take_withdrawn();
        match (turn, interrupt) {
            (Turn::None | Turn::Unasked, _) => {}
            (_, Some(interrupt)) if interrupt.in_tool => {
                // What a command left behind goes with the process.
                self.owed = Some(interrupt.ordered + self.patience);
                return self.launch(now);
            }
            (_, Some(_)) => self.emit(AgentEvent::TurnInterrupted),
            (_, None) => {
                let outcome = self.outcome(line, fault);
                self.emit(outcome);
            }
        }
        if self.steers.is_empty() {
            return self.next(now);
        }
        // Claude goes on with the words it kept.
        self.turn = Turn::Ahead;
        for at in 0..self.steers.len() {
            if !std::mem::replace(&mut self.steers[at].told, true) {
                self.emit(AgentEvent::Delivered(Delivery::Queued));
            }
        }
    }

    /// Our interrupt, if it is why the turn is over. One that came too late
    /// is forgotten as soon as claude has read it.
    fn take_interrupt(&mut self, line: &Value) -> Option<Interrupt> {
        let interrupt = self.interrupt?;
        let aborted = text(&line["terminal_reason"]).starts_with("aborted")
            || line["subtype"] == "error_during_execution";
        if aborted || interrupt.acknowledged {
            self.interrupt = None;
        }
        aborted.then_some(interrupt)
    }

    /// Words that were taken back wait here, before all others.
    fn take_withdrawn(&mut self) {
        let steers = std::mem::take(&mut self.steers);
        let (withdrawn, kept): (Vec<_>, Vec<_>) =
            steers.into_iter().partition(|steer| steer.withdrawn);
        self.steers = kept;
        for steer in withdrawn.into_iter().rev() {
            self.queue.push_front(AgentMessage::text(steer.text));
        }
    }

    /// Claude calls a failed turn a success with an error.
    fn outcome(&self, line: &Value, fault: Option<Fault>) -> AgentEvent {
        let words = words(line);
        match line["subtype"].as_str().unwrap_or_default() {
            // A hook of the person's stopped the message: no model was asked.
            "success" if line["is_error"] != true && line["num_turns"] == 0 => {
                AgentEvent::TurnFailed(trouble(FailureCause::Rejected { detail: words }))
            }
            "success" if line["is_error"] != true => {
                let structured = line.get("structured_output").filter(|value| !value.is_null());
                AgentEvent::TurnFinished(TurnAnswer {
                    text: words,
                    structured: structured.cloned(),
                })
            }
            // The model answered, and never as it should.
            "error_max_structured_output_retries" => {
                AgentEvent::TurnFinished(TurnAnswer { text: words, structured: None })
            }
            _ => {
                let fault = Fault {
                    status: status(&line["api_error_status"]),
                    words,
                    until: self.limited_until,
                    model: self.model.clone(),
                    ..fault.unwrap_or_default()
                };
                AgentEvent::TurnFailed(trouble(fault.cause()))
            }
        }
    }
}

/// The last words of a turn, or what went wrong in it.
fn words(line: &Value) -> String {
    match line["result"].as_str() {
        Some(words) => words.to_owned(),
        None => {
            let errors = line["errors"].as_array().into_iter().flatten();
            errors.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
        }
    }
}

/// The end of a process that had not even begun.
fn of_start(line: &Value) -> FailureCause {
    let detail = words(line);
    of_words(&detail).unwrap_or(FailureCause::CannotStart { detail })
}
