//! What an agent tells, and what follows.

use omx_agents::AgentKind;
use omx_agents::agent::{AgentCommand, AgentMessage, ApprovalDecision, MessageLabels};
use omx_agents::event::{AgentEvent, ApprovalId, ApprovalRequest, TurnAnswer};
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::results;
use omx_kernel::Timestamp;
use omx_kernel::approval::{Permission, permission_for};

use super::{Active, After, Doing, Effect, Engine, Known, Wait};
use crate::show;
use crate::story::{StepKey, Work};
use omx_runs::Record;
use omx_runs::progress::Progress;

impl Engine {
    pub(super) fn agent(
        &mut self,
        key: &StepKey,
        event: AgentEvent,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        let is_news = active.doing == Doing::Talking && !active.talk.has_heard;
        if is_news && shows_work(&event) {
            active.talk.has_heard = true;
            // What is spent is recorded anyway, and says the same.
            if !matches!(event, AgentEvent::Usage(_)) {
                out.push(Effect::Record(Record::Delivered { step: key.clone() }));
            }
        }
        match event {
            AgentEvent::Started { conversation, model } => {
                if active.talk.conversation.as_ref() != Some(&conversation) {
                    out.push(Effect::Record(Record::Conversation {
                        step: key.clone(),
                        agent: self.asked.agent.clone(),
                        id: conversation.to_string(),
                    }));
                    active.talk = Known { conversation: Some(conversation), has_heard: false };
                }
                if let Some(model) = model {
                    out.push(Effect::Show(Progress::Model { step: key.clone(), model }));
                }
                begin_talking(key, active, out);
            }
            // It names the conversation when it has heard; there is no other way.
            AgentEvent::Listening => begin_talking(key, active, out),
            AgentEvent::TurnFinished(answer) => self.answered(key, &answer, out, now),
            AgentEvent::TurnFailed(trouble) => self.trouble(key, trouble, out, now),
            AgentEvent::Ended(why) => self.ended(key, why, out, now),
            AgentEvent::ApprovalNeeded { approval, ask } => {
                self.asked_for_leave(key, approval, ask, out)
            }
            AgentEvent::Usage(usage) => {
                let usage = show::usage(usage);
                self.spent.add(usage);
                out.push(Effect::Record(Record::Usage { step: key.clone(), usage }));
                out.push(Effect::Show(Progress::Usage(self.spent)));
                self.mind_the_budget(out, now);
            }
            AgentEvent::Retrying(trouble) => {
                out.push(Effect::Show(show::trouble(key, &trouble)));
            }
            AgentEvent::Text(text) => {
                out.push(Effect::Show(Progress::Said { step: key.clone(), text }))
            }
            AgentEvent::ToolStarted { tool, .. } => {
                out.push(Effect::Show(show::tool(key, &tool)));
            }
            // Nobody here orders that; the turn is over all the same.
            AgentEvent::TurnInterrupted => {
                let cause = FailureCause::CutOff { detail: "the turn was interrupted".to_owned() };
                self.trouble(key, self.trouble_with(cause), out, now);
            }
            AgentEvent::Delivered(_)
            | AgentEvent::ToolFinished { .. }
            | AgentEvent::FileChanged(_) => {}
        }
    }

    /// The agent wants leave: the policy's, or the person's. One that is being
    /// ended gets none.
    fn asked_for_leave(
        &mut self,
        key: &StepKey,
        approval: ApprovalId,
        ask: ApprovalRequest,
        out: &mut Vec<Effect>,
    ) {
        let Some(active) = self.active.get_mut(key).filter(|it| it.doing == Doing::Talking) else {
            return;
        };
        match permission_for(self.allow, &ask) {
            Permission::Granted => {
                out.push(Effect::Order(
                    key.clone(),
                    AgentCommand::Answer(approval, ApprovalDecision::Allow),
                ));
            }
            Permission::NeedsPerson => {
                active.asked_for.insert(approval.clone());
                out.push(Effect::Show(show::needs_you(key, &ask)));
                out.push(Effect::NeedsPerson(key.clone(), approval, ask));
            }
        }
    }

    /// The person answered; it may be too late, or be known already.
    pub(super) fn person_answered(
        &mut self,
        key: &StepKey,
        approval: ApprovalId,
        decision: ApprovalDecision,
        out: &mut Vec<Effect>,
    ) {
        if let Some(active) = self.active.get_mut(key)
            && active.doing == Doing::Talking
            && active.asked_for.remove(&approval)
        {
            out.push(Effect::Order(key.clone(), AgentCommand::Answer(approval, decision)));
        }
    }

    fn trouble_with(&self, cause: FailureCause) -> Failure {
        let agent = AgentKind::parse(&self.asked.agent).unwrap_or(AgentKind::Rehearsal);
        Failure::new(agent, cause)
    }

    /// The agent's turn is over. Its result counts if it is one.
    fn answered(
        &mut self,
        key: &StepKey,
        answer: &TurnAnswer,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        let Work::Errand(errand) = &active.step.work else { return };
        if active.doing != Doing::Talking {
            return;
        }
        match results::parse(errand.wants, answer) {
            Ok(result) => {
                let result = serde_json::to_value(&result).unwrap_or_default();
                active.doing = Doing::Ending(After::Settle(result));
                out.push(Effect::Order(key.clone(), AgentCommand::End));
            }
            Err(problem) if !active.corrected => {
                active.corrected = true;
                let words = problem.retry_prompt();
                out.push(Effect::Show(Progress::Note(format!(
                    "{key}: {problem}; asked once more"
                ))));
                out.push(say(key, active, words));
            }
            Err(problem) => {
                let words =
                    format!("{key} gave no usable result, also when asked again: {problem}");
                self.step_failed(key, &words, out, now);
            }
        }
    }

    /// The agent and all it started are gone.
    fn ended(
        &mut self,
        key: &StepKey,
        why: Option<Failure>,
        out: &mut Vec<Effect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get(key) else { return };
        match active.doing.clone() {
            Doing::Ending(After::Settle(result)) => self.settle(key, result, out),
            Doing::Ending(After::Rest(wait)) => self.rest(key, wait),
            Doing::Ending(After::Reopen) => self.reopen(key, out),
            Doing::Ending(After::Forget) => {
                self.active.remove(key);
                self.close_if_idle(out, now);
            }
            Doing::Opening(_) | Doing::Talking => {
                let gone = FailureCause::Crashed { code: None, stderr: String::new() };
                let trouble = why.unwrap_or_else(|| self.trouble_with(gone));
                self.trouble(key, trouble, out, now);
                // It is gone already; nothing more will be told of it.
                self.ended(key, None, out, now);
            }
            Doing::Resting(_) | Doing::Checking | Doing::Keeping | Doing::Settling(_) => {}
        }
    }

    fn rest(&mut self, key: &StepKey, wait: Wait) {
        if let Some(active) = self.active.get_mut(key) {
            active.doing = Doing::Resting(wait);
        }
    }

    /// Opens the step's conversation again.
    pub(super) fn reopen(&mut self, key: &StepKey, out: &mut Vec<Effect>) {
        let Some(active) = self.active.get(key).cloned() else { return };
        let Work::Errand(errand) = &active.step.work else { return };
        let (talk, words) = self.talk(&active.step, errand, &active.talk);
        if let Some(active) = self.active.get_mut(key) {
            active.doing = Doing::Opening(words);
            active.asked_for.clear();
        }
        self.tell_waiting(out);
        out.push(Effect::Open(key.clone(), talk));
    }
}

/// Whether only an agent that has heard its errand does this.
fn shows_work(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Text(_)
        | AgentEvent::ToolStarted { .. }
        | AgentEvent::ToolFinished { .. }
        | AgentEvent::FileChanged(_)
        | AgentEvent::ApprovalNeeded { .. }
        | AgentEvent::Usage(_)
        | AgentEvent::TurnFinished(_) => true,
        AgentEvent::Started { .. }
        | AgentEvent::Listening
        | AgentEvent::Delivered(_)
        | AgentEvent::Retrying(_)
        | AgentEvent::TurnInterrupted
        | AgentEvent::TurnFailed(_)
        | AgentEvent::Ended(_) => false,
    }
}

/// Says what the conversation was opened for.
fn begin_talking(key: &StepKey, active: &mut Active, out: &mut Vec<Effect>) {
    if let Doing::Opening(words) = active.doing.clone() {
        active.doing = Doing::Talking;
        out.push(say(key, active, words));
    }
}

/// Says something to an agent that shall answer with its errand's result.
fn say(key: &StepKey, active: &Active, words: String) -> Effect {
    let (schema, role) = match &active.step.work {
        Work::Errand(errand) => (Some(errand.wants.schema()), Some(errand.role.clone())),
        Work::Check | Work::KeepPlan(_) => (None, None),
    };
    let (phase, step) = (Some(active.step.phase.clone()), Some(key.to_string()));
    let labels = MessageLabels { role, phase, step };
    Effect::Order(key.clone(), AgentCommand::Send(AgentMessage { text: words, schema, labels }))
}
