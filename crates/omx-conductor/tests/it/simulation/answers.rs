//! What simulated agents answer, rightly and wrongly.

use std::sync::LazyLock;

use omx_agents::agent::AgentMessage;
use omx_agents::event::TurnAnswer;
use omx_agents::results::{ResultKind, ReviewKind};
use omx_kernel::Mode;
use serde_json::{Value, json};

use super::workspace::WorkspaceFact;
use super::world::SimWorld;
use crate::kit;

/// A result and what it means.
struct ScriptedResult {
    value: Value,
    is_good: bool,
    /// The run cannot continue from it.
    ends_run: bool,
}

impl SimWorld {
    /// The end of a turn.
    pub fn answers(&mut self, number: usize) -> TurnAnswer {
        let step = self.agents[number].step.clone();
        let Some(at) = self.agents[number].conversation else {
            return TurnAnswer { text: "Hello?".to_owned(), structured: None };
        };
        if self.conversations[at].wrong_left > 0 {
            self.conversations[at].wrong_left -= 1;
            *self.rules.unreadable.entry(step).or_default() += 1;
            return self.wrong();
        }
        let (role, kind) = (self.agents[number].role.clone(), self.conversations[at].kind);
        let kind = kind.expect("it was told");
        let known = self.conversations[at].answer.clone();
        let judgement = match known {
            Some(value) => self.judged(kind, value),
            None => self.judge(number, kind),
        };
        self.conversations[at].answer = Some(judgement.value.clone());
        let ScriptedResult { value, is_good, ends_run } = judgement;
        if kind == ResultKind::Verification && !is_good {
            self.rules.found(&step, value["findings"].to_string());
        }
        self.workspace.facts.push(WorkspaceFact::Answered { step, role, kind, is_good, ends_run });
        if self.random.one_in(2) {
            TurnAnswer { text: format!("Done.\n\n```json\n{value}\n```\n"), structured: None }
        } else {
            TurnAnswer { text: "Done.".to_owned(), structured: Some(value) }
        }
    }

    fn wrong(&mut self) -> TurnAnswer {
        let text =
            *self.random.choose(&["", "All done!", "```json\n{\"passed\": \"yes\"}\n```", "{"]);
        TurnAnswer { text: text.to_owned(), structured: None }
    }

    fn judge(&mut self, number: usize, kind: ResultKind) -> ScriptedResult {
        let value = match kind {
            ResultKind::Plan => kit::plan(),
            ResultKind::Work => self.work(number),
            ResultKind::Verification => self.verification(),
            ResultKind::Review(kind) => self.review(kind),
        };
        self.judged(kind, value)
    }

    /// What a result means, read from itself and from nothing else.
    fn judged(&self, kind: ResultKind, value: Value) -> ScriptedResult {
        let is_pipeline = self.scenario.spec.mode == Mode::Pipeline;
        let has_findings = value["findings"].as_array().is_some_and(|list| !list.is_empty());
        let (is_good, ends_run) = match kind {
            ResultKind::Plan => (true, false),
            ResultKind::Work => {
                let is_done = value["done"] == true;
                (is_done, !is_done && (is_pipeline || !value["blocked_reason"].is_null()))
            }
            ResultKind::Verification => {
                let passed = value["passed"] == true;
                (passed && !has_findings, is_pipeline && !passed)
            }
            // Plans are approved by the word; a change must also have no finding.
            ResultKind::Review(ReviewKind::Architect | ReviewKind::Critic) => {
                (value["verdict"] == "APPROVE", false)
            }
            ResultKind::Review(ReviewKind::Code) => {
                (value["verdict"] == "APPROVE" && !has_findings, false)
            }
            ResultKind::Review(ReviewKind::ArchitectInCodeReview) => {
                (value["verdict"] == "CLEAR" && !has_findings, false)
            }
        };
        ScriptedResult { value, is_good, ends_run }
    }

    fn work(&mut self, number: usize) -> Value {
        let pieces = self.agents[number].conversation.map_or(0, |at| self.conversations[at].pieces);
        let mut value = kit::work("did it");
        if pieces == 0 || self.scenario.reports_no_files {
            value["changed_files"] = json!([]);
        }
        if self.random.one_in(self.scenario.blocked_one_in) {
            value["done"] = json!(false);
            if self.random.one_in(2) {
                value["blocked_reason"] = json!("there is no key");
            }
        }
        value
    }

    fn verification(&mut self) -> Value {
        let mut value = kit::verification(true);
        if !self.scenario.verification.is_content() {
            let title = self.finding_words("missing");
            // Passed with findings is not passed.
            value["passed"] = json!(self.random.one_in(3));
            value["findings"] = json!([kit::finding(&title)]);
        }
        value
    }

    fn review(&mut self, kind: ReviewKind) -> Value {
        let lane = kind.lane().as_str();
        let [good, middling, bad] = kind.verdicts().map(|verdict| verdict.as_str());
        let is_of_plan = matches!(kind, ReviewKind::Architect | ReviewKind::Critic);
        let patience = if is_of_plan { &mut self.scenario.plan } else { &mut self.scenario.review };
        if patience.is_content() {
            return kit::review(lane, good, &[]);
        }
        let title = self.finding_words("finding");
        match self.random.below(4) {
            0 if !is_of_plan => kit::review(lane, good, &[&title]),
            1 => kit::review(lane, middling, &[]),
            _ => kit::review(lane, bad, &[&title]),
        }
    }
}

/// The kind of result a message wants.
pub fn kind_of(message: &AgentMessage) -> ResultKind {
    static SCHEMAS: LazyLock<Vec<(ResultKind, Value)>> =
        LazyLock::new(|| ResultKind::ALL.into_iter().map(|kind| (kind, kind.schema())).collect());
    let wanted = message.schema.as_ref().expect("a task has a schema");
    let found = SCHEMAS.iter().find(|(_, schema)| schema == wanted);
    found.expect("the schema of a result").0
}
