//! Simulated agents. What was said and done in a conversation is remembered
//! by it, whichever process speaks; a process only continues it.

use std::collections::VecDeque;

use omx_agents::agent::{AgentMessage, ApprovalDecision, ConversationId, ConversationStart};
use omx_agents::event::{
    AgentEvent, ApprovalId, ApprovalRequest, TargetLocation, ToolAction, UsageDelta,
};
use omx_agents::failure::FailureCause;
use omx_agents::results::ResultKind;
use omx_conductor::engine::StepConversation;
use omx_runs::StepKey;
use serde_json::Value;

use super::agent_faults::failure;
use super::answers::kind_of;
use super::world::{ScheduledEvent, SimWorld};

/// A conversation, as the agent's program keeps it.
pub struct SimConversation {
    pub id: String,
    pub step: StepKey,
    /// Which try of the step it belongs to.
    pub again: u32,
    pub kind: Option<ResultKind>,
    /// It has received its task.
    pub has_task: bool,
    /// The pieces of its work, and how many are done.
    pub pieces: u32,
    pub done: u32,
    /// What it found out; it says the same when asked again.
    pub answer: Option<Value>,
    /// How often it will return an unreadable answer.
    pub wrong_left: u32,
    /// The program does not have it any longer.
    pub is_lost: bool,
}

/// A process of an agent.
pub struct SimAgent {
    pub step: StepKey,
    pub role: String,
    pub phase: String,
    start: ConversationStart,
    pub conversation: Option<usize>,
    script: VecDeque<SimAction>,
    pub is_alive: bool,
    /// It was told to end.
    pub is_ending: bool,
    pub is_in_turn: bool,
    pub waits_for: Option<ApprovalId>,
    /// It crashes while it waits for an approval.
    is_dying: bool,
}

#[derive(Clone, Debug)]
pub enum SimAction {
    Begin,
    Say,
    UseTool,
    Edit,
    Spend,
    AskPermission,
    FailTurn(FailureCause),
    Die(FailureCause),
    BreakOff,
    Answer,
    End,
}

impl SimWorld {
    /// The living agent of a step.
    pub fn agent_of(&self, step: &StepKey) -> Option<usize> {
        self.agents.iter().rposition(|agent| agent.is_alive && agent.step == *step)
    }

    pub fn open(&mut self, step: StepKey, spec: &StepConversation) {
        let number = self.agents.len();
        self.agents.push(SimAgent {
            step,
            role: spec.role.clone(),
            phase: spec.phase.clone(),
            start: spec.start.clone(),
            conversation: None,
            script: VecDeque::from([SimAction::Begin]),
            is_alive: true,
            is_ending: false,
            is_in_turn: false,
            waits_for: None,
            is_dying: false,
        });
        self.soon(2_000, ScheduledEvent::Agent(number));
    }

    /// The agent receives a message that starts a turn.
    pub fn send(&mut self, number: usize, message: &AgentMessage) {
        let Some(at) = self.agents[number].conversation else {
            self.fail("nothing is said before a conversation is open", &message.text)
        };
        let has_errand = message.text.contains("## Your part");
        if has_errand && !self.conversations[at].has_task {
            self.receive_task(number, at, message);
        }
        if !self.conversations[at].has_task {
            self.fail("an agent is told what to do before it is told to go on", &message.text);
        }
        let conversation = &self.conversations[at];
        let mut script = Vec::new();
        for _ in conversation.done..conversation.pieces {
            script.extend([SimAction::UseTool, SimAction::Edit]);
        }
        script.push(SimAction::Answer);
        self.insert(&mut script, SimAction::Say, 1);
        self.insert(&mut script, SimAction::Spend, 1);
        let ask_one_in = self.scenario.ask_one_in;
        self.insert(&mut script, SimAction::AskPermission, ask_one_in);
        if let Some(fault) = self.next_fault() {
            let cut = self.random.below(script.len());
            script.truncate(cut);
            script.push(self.failing_action(fault));
        }
        let agent = &mut self.agents[number];
        agent.script = script.into();
        agent.is_in_turn = true;
        self.soon(60_000, ScheduledEvent::Agent(number));
    }

    /// A conversation receives its task.
    fn receive_task(&mut self, number: usize, at: usize, message: &AgentMessage) {
        let kind = kind_of(message);
        let (step, again) = {
            let conversation = &self.conversations[at];
            (conversation.step.clone(), conversation.again)
        };
        let others = self.conversations.iter().enumerate();
        let mut others = others.filter(|(other, conversation)| {
            *other != at && conversation.step == step && conversation.again == again
        });
        if let Some((_, other)) = others.find(|(_, other)| other.has_task && !other.is_lost) {
            let how = format!("{step} was given to {} already", other.id);
            self.fail("a step is given to one conversation only", how);
        }
        let is_idle = match self.agents[number].phase.as_str() {
            "fixing" => self.scenario.fixes_nothing,
            "diagnose" => true,
            _ => false,
        };
        let pieces =
            if kind == ResultKind::Work && !is_idle { 1 + self.random.below(3) } else { 0 };
        let wrong = self.random.one_in(self.scenario.wrong_one_in);
        let wrong_left = if wrong { 1 + self.random.below(2) as u32 } else { 0 };
        let conversation = &mut self.conversations[at];
        conversation.has_task = true;
        conversation.kind = Some(kind);
        conversation.pieces = pieces as u32;
        conversation.wrong_left = wrong_left;
    }

    /// Puts an act somewhere before the last, once in so many times.
    fn insert(&mut self, script: &mut Vec<SimAction>, act: SimAction, one_in: usize) {
        if self.random.one_in(one_in) {
            script.insert(self.random.below(script.len()), act);
        }
    }

    pub fn answer_approval(
        &mut self,
        number: usize,
        approval: &ApprovalId,
        decision: &ApprovalDecision,
    ) {
        if self.agents[number].waits_for.as_ref() != Some(approval) {
            self.fail("an approval is answered once", format!("{approval:?} {decision:?}"));
        }
        self.agents[number].waits_for = None;
        self.soon(5_000, ScheduledEvent::Agent(number));
    }

    /// The agent is ended. A message may already be on its way.
    pub fn end(&mut self, number: usize) {
        let late = match self.random.below(8) {
            0 if self.agents[number].is_in_turn => Some(SimAction::Answer),
            1 if self.agents[number].is_in_turn => Some(SimAction::AskPermission),
            2 if self.agents[number].conversation.is_some() => Some(SimAction::Spend),
            3 if self.agents[number].conversation.is_none() => Some(SimAction::Begin),
            _ => None,
        };
        self.agents[number].script = late.into_iter().chain([SimAction::End]).collect();
        self.agents[number].waits_for = None;
        self.agents[number].is_dying = false;
        self.agents[number].is_ending = true;
        self.soon(5_000, ScheduledEvent::Agent(number));
    }

    /// The agent does the next thing.
    pub fn agent_acts(&mut self, number: usize) -> Option<AgentEvent> {
        let agent = &mut self.agents[number];
        if agent.is_dying {
            agent.waits_for = None;
        }
        if !agent.is_alive || agent.waits_for.is_some() {
            return None;
        }
        let act = agent.script.pop_front()?;
        let ends_soon = matches!(agent.script.front(), Some(SimAction::End));
        let event = self.perform(number, act);
        let agent = &mut self.agents[number];
        if ends_soon {
            agent.waits_for = None;
        }
        if agent.is_alive && agent.waits_for.is_none() && !agent.script.is_empty() {
            self.soon(60_000, ScheduledEvent::Agent(number));
        }
        event
    }

    fn perform(&mut self, number: usize, act: SimAction) -> Option<AgentEvent> {
        Some(match act {
            SimAction::Begin => self.begins(number),
            SimAction::Say => AgentEvent::Text("I am at it.".to_owned()),
            SimAction::UseTool => {
                let call = omx_agents::event::CallId("1".to_owned());
                AgentEvent::ToolStarted { call, tool: ToolAction::Command("ls".to_owned()) }
            }
            SimAction::Edit => {
                self.edits(number);
                AgentEvent::FileChanged("a.rs".into())
            }
            SimAction::Spend => AgentEvent::Usage(UsageDelta {
                input_tokens: self.random.below(2_000) as u64,
                cached_tokens: 0,
                output_tokens: self.random.below(500) as u64,
                micro_usd: self.random.one_in(2).then(|| self.random.below(900) as u64),
            }),
            SimAction::AskPermission => {
                let ask = self.random_approval_request();
                let approval = ApprovalId(format!("a{}", self.random.number()));
                self.agents[number].waits_for = Some(approval.clone());
                if self.random.one_in(6) {
                    let (code, stderr) = (Some(1), String::new());
                    let death = SimAction::Die(FailureCause::Crashed { code, stderr });
                    self.agents[number].script = VecDeque::from([death]);
                    self.agents[number].is_dying = true;
                    self.soon(60_000, ScheduledEvent::Agent(number));
                }
                AgentEvent::ApprovalNeeded { approval, ask }
            }
            SimAction::FailTurn(cause) => {
                self.agents[number].is_in_turn = false;
                self.meets(number, &cause);
                AgentEvent::TurnFailed(failure(cause))
            }
            SimAction::Die(cause) => {
                self.agents[number].is_alive = false;
                self.meets(number, &cause);
                AgentEvent::Ended(Some(failure(cause)))
            }
            SimAction::BreakOff => {
                self.agents[number].is_in_turn = false;
                self.meets(number, &FailureCause::CutOff { detail: String::new() });
                AgentEvent::TurnInterrupted
            }
            SimAction::Answer => {
                self.agents[number].is_in_turn = false;
                AgentEvent::TurnFinished(self.answers(number))
            }
            SimAction::End => {
                self.agents[number].is_alive = false;
                AgentEvent::Ended(None)
            }
        })
    }

    /// The program starts, and finds or begins its conversation.
    fn begins(&mut self, number: usize) -> AgentEvent {
        if self.random.one_in(3)
            && let Some(fault) = self.next_fault()
        {
            let cause = match self.failing_action(fault) {
                SimAction::Die(cause) | SimAction::FailTurn(cause) => cause,
                _ => FailureCause::Crashed { code: None, stderr: String::new() },
            };
            self.agents[number].is_alive = false;
            self.meets(number, &cause);
            return AgentEvent::Ended(Some(failure(cause)));
        }
        let at = match self.agents[number].start.clone() {
            ConversationStart::New => Some(self.new_conversation(number)),
            ConversationStart::Resume(id) => self.find(&id),
        };
        let Some(at) = at else {
            self.agents[number].is_alive = false;
            let cause = FailureCause::UnknownConversation { detail: String::new() };
            self.meets(number, &cause);
            return AgentEvent::Ended(Some(failure(cause)));
        };
        self.agents[number].conversation = Some(at);
        let conversation = ConversationId::new(&self.conversations[at].id).unwrap();
        AgentEvent::Started { conversation, model: None }
    }

    fn new_conversation(&mut self, number: usize) -> usize {
        let step = self.agents[number].step.clone();
        let again = self.journal.tries(&step);
        self.conversations.push(SimConversation {
            id: format!("conversation-{}", self.conversations.len()),
            step,
            again,
            kind: None,
            has_task: false,
            pieces: 0,
            done: 0,
            answer: None,
            wrong_left: 0,
            is_lost: false,
        });
        self.conversations.len() - 1
    }

    /// A conversation that is still there.
    fn find(&mut self, id: &ConversationId) -> Option<usize> {
        let at = self.conversations.iter().position(|known| known.id == id.as_str())?;
        // One in which nothing was said was perhaps never kept.
        let one_in = if self.conversations[at].has_task { self.scenario.lose_one_in } else { 2 };
        if self.random.one_in(one_in) {
            self.conversations[at].is_lost = true;
        }
        (!self.conversations[at].is_lost).then_some(at)
    }

    fn edits(&mut self, number: usize) {
        let Some(at) = self.agents[number].conversation else { return };
        let conversation = &mut self.conversations[at];
        let piece = conversation.done;
        conversation.done += 1;
        let done =
            self.workspace.edit(&conversation.step, conversation.again, piece, &conversation.id);
        if let Err(how) = done {
            self.fail("no work is done twice", how);
        }
    }

    fn random_approval_request(&mut self) -> ApprovalRequest {
        let reach = *self.random.choose(&[TargetLocation::Inside, TargetLocation::Outside]);
        match self.random.below(4) {
            0 => ApprovalRequest::Edit { paths: vec!["a.rs".to_owned()], location: reach },
            1 => ApprovalRequest::Command { command: "make".to_owned(), location: reach },
            2 => {
                let server = (*self.random.choose(&["omx", "other"])).to_owned();
                ApprovalRequest::Tool { server, tool: "t".to_owned() }
            }
            _ => ApprovalRequest::Other { what: "to go out".to_owned() },
        }
    }
}
