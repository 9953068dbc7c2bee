//! What must hold at every moment of every run, whatever the world does.

use omx_agents::AgentEvent;
use omx_agents::agent::{AgentCommand, AgentMessage, ApprovalDecision, ConversationStart};
use omx_agents::event::ApprovalRequest;
use omx_agents::results::ResultKind;
use omx_conductor::drive::{ControlEvent, WorldEvent};
use omx_conductor::engine::{Job, StepConversation};
use omx_kernel::{Mode, Timestamp};
use omx_runs::{Record, StepKey};

use super::world::SimWorld;

/// How long a run may take to act on a cancel.
const CANCEL_MS: i64 = 1_000;

impl SimWorld {
    /// What the loop is about to hear from outside.
    pub fn check_control(&mut self, event: &ControlEvent) {
        match event {
            ControlEvent::Stop => self.rules.is_stopping = true,
            ControlEvent::Answered(number, ApprovalDecision::Allow) => {
                if let Some(step) = self.questions.get(number) {
                    self.rules.allowed_by_person.insert(step.clone());
                }
            }
            ControlEvent::LimitsRequested(..) => {
                self.rules.was_over_budget = self.is_over_budget();
            }
            ControlEvent::Answered(..)
            | ControlEvent::DocumentsCancelled
            | ControlEvent::DiskFull(_) => {}
        }
    }

    /// What the loop is about to hear from agents and jobs.
    pub fn check_event(&mut self, event: &WorldEvent) {
        if let WorldEvent::Agent(_, AgentEvent::ApprovalNeeded { approval, ask }) = event {
            self.rules.asks.insert(approval.0.clone(), ask.clone());
        }
    }

    pub fn check_append(&mut self, record: &Record) {
        if self.rules.has_journal_failed {
            self.fail("nothing is written to a journal that failed", format!("{record:?}"));
        }
        if self.rules.is_opening {
            self.check_change(record);
        } else {
            self.check_record(record);
        }
    }

    pub fn check_command(&mut self, step: &StepKey, command: &AgentCommand) {
        match command {
            AgentCommand::Send(message) => self.check_send(step, message),
            AgentCommand::Answer(approval, decision) => {
                self.nothing_begins_late("an approval is answered");
                let by_person = self.rules.allowed_by_person.remove(step);
                let ask = self.rules.asks.get(&approval.0);
                if *decision == ApprovalDecision::Allow && !by_person && !self.is_in_policy(ask) {
                    self.fail("only the policy or the person says yes", format!("{ask:?}"));
                }
            }
            AgentCommand::End => {}
            other => self.fail("no other command is sent", format!("{other:?}")),
        }
    }

    pub fn check_job(&mut self, step: &StepKey, job: &Job) {
        if self.jobs.contains_key(step) {
            self.fail("a step has one job at a time", step);
        }
        match job {
            Job::Check { .. } => self.something_begins(step),
            Job::KeepPlan { plan } => {
                self.something_begins(step);
                if plan.get("plan_markdown").is_none() {
                    self.fail("what is kept is a plan", plan);
                }
            }
            Job::Inspect { .. } => {
                self.something_begins(step);
                if self.agent_of(step).is_some() {
                    self.fail("a step is looked at when its agent has ended", step);
                }
                self.wait_is_over(step);
            }
            Job::Commit { .. } => {
                self.is_begun(step);
                if self.agent_of(step).is_some() {
                    self.fail("work is committed when its agent has ended", step);
                }
            }
        }
    }

    /// What holds whenever the loop has nothing to do.
    pub fn check_idle(&self, until: Option<Timestamp>) {
        if let Some(event) = self.arrived.first() {
            self.fail("control events overtake all others", format!("{event:?}"));
        }
        if until.is_some_and(|until| until <= self.now) {
            self.fail("the engine never wants to be woken in the past", format!("{until:?}"));
        }
        for (number, step) in &self.questions {
            if self.agent_of(step).is_none() {
                self.fail("nobody is asked for an agent that has ended", number);
            }
        }
        let overdue = |at: Timestamp| self.now.millis_since(at) > CANCEL_MS;
        if self.rules.cancelled_at.is_some_and(overdue) && !self.rules.knows_cancel {
            self.fail("a cancel takes effect at once", "the loop has not noticed it");
        }
        self.limits_are_in_force();
        self.documents_report_waiting();
        for (mode, ..) in self.documents.counters() {
            if let Some((iteration, most)) = self.documents.iteration(mode)
                && iteration > most
            {
                self.fail("a limit is a limit", format!("{iteration} of {most}"));
            }
        }
    }

    /// What holds after the process has released the run.
    pub fn check_let_go(&self) {
        if let Some(agent) = self.agents.iter().find(|agent| agent.is_alive) {
            self.fail("agents end before the run is let go of", &agent.step);
        }
        if let Some((step, _)) = self.jobs.first_key_value() {
            self.fail("jobs end before the run is let go of", step);
        }
        if let Some((number, _)) = self.questions.first_key_value() {
            self.fail("questions are closed before the run is let go of", number);
        }
    }

    /// The table of permissions, as the documentation gives it.
    fn is_in_policy(&self, ask: Option<&ApprovalRequest>) -> bool {
        use omx_agents::event::TargetLocation::Inside;
        match (self.scenario.spec.allow.as_str(), ask) {
            (_, None) => false,
            ("all", _) | (_, Some(ApprovalRequest::Edit { location: Inside, .. })) => true,
            ("commands", Some(ApprovalRequest::Command { location: Inside, .. })) => true,
            (_, Some(ApprovalRequest::Tool { server, .. })) => {
                server == omx_kernel::approval::OWN_SERVER
            }
            _ => false,
        }
    }

    pub fn nothing_begins_late(&self, what: &str) {
        if self.rules.is_stopping {
            self.fail("nothing begins in a run that is being stopped", what);
        }
    }

    fn is_begun(&self, step: &StepKey) {
        if self.journal.finished.contains(step) {
            self.fail("nothing of a finished step runs again", step);
        }
        if !self.journal.begun.contains(step) {
            self.fail("the journal says that a step begins before it does", step);
        }
    }

    fn something_begins(&self, step: &StepKey) {
        self.nothing_begins_late(step.as_str());
        self.is_begun(step);
        if self.is_over_budget() {
            self.fail("nothing begins when the budget is used up", step);
        }
        if self.rules.is_stuck() {
            self.fail("a run without progress pauses", step);
        }
    }

    pub fn check_open(&mut self, step: &StepKey, spec: &StepConversation) {
        self.something_begins(step);
        if self.rules.was_over_budget {
            self.seen.insert("continued at a limit".to_owned());
        }
        if self.agent_of(step).is_some() {
            self.fail("a step has one agent at a time", step);
        }
        let known = self.journal.conversations.get(step);
        match (&spec.start, known) {
            (ConversationStart::New, Some(known)) => {
                self.fail("a known conversation goes on", format!("{step}, {known}"));
            }
            (ConversationStart::Resume(id), known)
                if known.map(String::as_str) != Some(id.as_str()) =>
            {
                self.fail("the conversation that goes on is the step's own", step);
            }
            _ => {}
        }
        if spec.start != ConversationStart::New {
            self.seen.insert("resumed conversation".to_owned());
        }
        self.wait_is_over(step);
    }

    /// A step goes on: what it waited for is over.
    fn wait_is_over(&mut self, step: &StepKey) {
        self.rules.paused.remove(step);
        if let Some((until, counters)) = self.rules.waiting.remove(step) {
            self.seen.insert("waited for a limit".to_owned());
            if self.now < until {
                self.fail("a limit is waited for", step);
            }
            if counters != self.documents.counters() {
                self.fail("a limit counts as nothing", step);
            }
        }
    }

    fn check_send(&mut self, step: &StepKey, message: &AgentMessage) {
        self.something_begins(step);
        if message.schema.is_none() {
            self.fail("an agent knows the schema of its answer", step);
        }
        let Some(number) = self.agent_of(step) else { return };
        let agent = &self.agents[number];
        let own = agent.conversation.map(|at| self.conversations[at].id.as_str());
        if own.is_none() || self.journal.conversations.get(step).map(String::as_str) != own {
            self.fail("a conversation is recorded before a word is said in it", step);
        }
        if agent.is_in_turn {
            self.fail("one call at a time", step);
        }
        if self.rules.waiting.contains_key(step) {
            self.fail("nothing is said while a limit holds", step);
        }
    }

    fn check_record(&mut self, record: &Record) {
        match record {
            Record::StepStarted { step, .. } => {
                if self.journal.begun.contains(step) || self.journal.finished.contains(step) {
                    self.fail("a step begins once", step);
                }
                self.rules.begun.insert(step.clone());
                self.is_within_limit();
            }
            Record::StepDiscarded { step, .. } => {
                let known = self.journal.conversations.get(step);
                let known = known.and_then(|id| self.conversations.iter().find(|c| c.id == *id));
                if !known.is_some_and(|conversation| conversation.is_lost) {
                    self.fail("a step is given up only if its conversation is lost", step);
                }
                let has_begun = known.is_some_and(|conversation| conversation.done > 0);
                if has_begun && self.journal.tree.is_some() && !self.scenario.has_no_tree {
                    self.fail("what may be done is not begun again by itself", step);
                }
                if known.is_some_and(|conversation| conversation.kind == Some(ResultKind::Work)) {
                    self.seen.insert("lost with its work untouched".to_owned());
                }
                self.seen.insert("begun again".to_owned());
            }
            Record::StepFinished { step, .. } => self.check_finished(step),
            _ => {}
        }
    }

    fn check_finished(&mut self, step: &StepKey) {
        self.is_begun(step);
        if self.agent_of(step).is_some() {
            self.fail("a step is finished when its agent has ended", step);
        }
        let name = step.as_str();
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with("keep") {
            return;
        }
        if !self.rules.committed.contains(step) {
            self.fail("a step is finished when its work was committed", step);
        }
        let is_check = last.starts_with("check") || last.starts_with("recheck");
        let is_done = if is_check {
            self.rules.checked.contains(step)
        } else {
            self.workspace.last_answer(step).is_some()
        };
        if !is_done {
            self.fail("a step is finished when it was done", step);
        }
    }

    /// A step's result counts from now on: whoever takes the run up knows it.
    pub fn is_kept(&mut self, step: &StepKey) {
        let last = step.as_str().rsplit('.').next().unwrap_or_default();
        let is_ralph = matches!(self.scenario.spec.mode, Mode::Ralph | Mode::Autopilot);
        if is_ralph && last.starts_with("fix") {
            let tree = (!self.scenario.has_no_tree).then(|| self.workspace.tree());
            let failure = self.rules.failure(step).to_owned();
            self.rules.fixes.push((step.clone(), format!("{tree:?} {failure}")));
        }
    }

    /// A step's result no longer counts.
    pub fn is_discarded(&mut self, step: &StepKey) {
        self.rules.fixes.retain(|(key, _)| key != step);
        self.rules.failures.remove(step);
    }

    /// The run's document waits while a step of it does, and then no longer.
    fn documents_report_waiting(&self) {
        let rules = &self.rules;
        if rules.is_write_pending {
            return;
        }
        let says_so = self.documents.waits(self.scenario.spec.mode);
        let limited = rules.waiting.first_key_value();
        if says_so && rules.paused.is_empty() && limited.is_none() {
            self.fail("a document waits for something", "nothing is waited for");
        }
        if let (Some((step, _)), true, false) = (limited, self.goes_on(), says_so) {
            self.fail("a document tells that its run waits", step);
        }
    }

    /// Whether nothing ends the run.
    pub fn goes_on(&self) -> bool {
        !self.rules.is_stopping
            && !self.documents.are_cancelled
            && !self.is_over_budget()
            && !self.may_fail()
            && !self.may_block()
    }
}
