//! One question to one agent: `omx ask`.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use omx_agents::agent::{AgentCommand, AgentMessage, ApprovalDecision, ConversationSpec};
use omx_agents::event::{AgentEvent, ApprovalRequest};
use omx_agents::failure::Failure;
use omx_agents::results::{self, ResultKind};
use omx_agents::{
    Agent, AgentEnv, AgentInstallation, AgentLimits, Conversation, ConversationId, Driver,
    conversation,
};
use omx_kernel::approval::{Permission, READS_ONLY, permission_with_access};
use omx_runs::Usage;
use serde_json::Value;

use crate::engine::journal_usage;

/// A question to an agent.
#[derive(Debug)]
pub struct AskRequest {
    /// The conversation to ask in.
    pub opening: ConversationSpec,
    /// The question.
    pub message: AgentMessage,
    /// The kind of result that the answer must be; any text if absent.
    pub wants: Option<ResultKind>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AskReply {
    /// The conversation, so that it can be resumed.
    pub conversation: Option<ConversationId>,
    /// The agent's final text.
    pub text: String,
    /// The result, if one was requested.
    pub result: Option<Value>,
    /// Tokens and money used.
    pub usage: Usage,
    /// Approval requests that were denied.
    pub refused: Vec<ApprovalRequest>,
}

/// Why a question was not answered.
#[derive(Clone, Debug, PartialEq)]
pub enum AskError {
    /// The agent failed.
    Failed(Failure),
    /// The person interrupted it. The conversation can be resumed.
    Interrupted(Option<ConversationId>),
    /// The answer was not a result of the requested kind, even after a second request.
    WrongResult(String),
}

/// A question in progress. Dropping it ends the agent.
#[derive(Debug)]
pub struct AskSession {
    sender: Sender<AskEvent>,
    receiver: Receiver<AskEvent>,
}

/// Stops a question in progress, from any thread.
#[derive(Clone, Debug)]
pub struct AskHandle(Sender<AskEvent>);

impl AskHandle {
    /// The first call interrupts the agent, the second ends it.
    pub fn stop(&self) {
        let _ = self.0.send(AskEvent::Stop);
    }
}

enum AskEvent {
    Event(AgentEvent),
    Stop,
}

impl std::fmt::Debug for AskEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AskEvent")
    }
}

impl Default for AskSession {
    fn default() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }
}

impl AskSession {
    /// Returns a handle that stops the question.
    pub fn handle(&self) -> AskHandle {
        AskHandle(self.sender.clone())
    }

    /// Asks, waits for the answer, and passes every event of the agent to `show`.
    pub fn ask(
        self,
        question: &AskRequest,
        driver: &dyn Driver,
        installation: &AgentInstallation,
        agent_env: &AgentEnv,
        limits: AgentLimits,
        mut show: impl FnMut(&AgentEvent),
    ) -> Result<AskReply, AskError> {
        let sender = self.sender.clone();
        let report = move |event| {
            let _ = sender.send(AskEvent::Event(event));
        };
        let opening = &question.opening;
        let agent = conversation::open(driver, installation, opening, agent_env, limits, report)
            .map_err(AskError::Failed)?;
        let mut state = AskState::new(question);
        // Every wait inside the conversation has a deadline, so this loop ends.
        for event in &self.receiver {
            match event {
                AskEvent::Stop => state.stop(&agent),
                AskEvent::Event(event) => {
                    show(&event);
                    if let Some(end) = state.handle(&agent, event) {
                        return end;
                    }
                }
            }
        }
        Err(AskError::Interrupted(state.conversation))
    }
}

struct AskState<'a> {
    question: &'a AskRequest,
    conversation: Option<ConversationId>,
    usage: Usage,
    refused: Vec<ApprovalRequest>,
    /// Whether the question was sent.
    is_sent: bool,
    corrected: bool,
    stopped: bool,
    /// What to return once the agent has exited.
    end: Option<Result<AskReply, AskError>>,
}

impl<'a> AskState<'a> {
    fn new(question: &'a AskRequest) -> Self {
        Self {
            question,
            conversation: None,
            usage: Usage::default(),
            refused: Vec::new(),
            is_sent: false,
            corrected: false,
            stopped: false,
            end: None,
        }
    }

    /// Interrupts the turn first, so that the agent's own record of it is complete.
    /// Without a conversation there is nothing to interrupt.
    fn stop(&mut self, agent: &Conversation) {
        if self.conversation.is_some() && !std::mem::replace(&mut self.stopped, true) {
            agent.interrupt();
        } else {
            agent.end();
        }
    }

    /// Sends the question, once.
    fn send_once(&mut self, agent: &Conversation) {
        if !std::mem::replace(&mut self.is_sent, true) {
            agent.send(self.question.message.clone());
        }
    }

    fn handle(
        &mut self,
        agent: &Conversation,
        event: AgentEvent,
    ) -> Option<Result<AskReply, AskError>> {
        match event {
            AgentEvent::Started { conversation, .. } => {
                self.conversation = Some(conversation);
                self.send_once(agent);
            }
            AgentEvent::Listening => self.send_once(agent),
            AgentEvent::ApprovalNeeded { approval, ask } => {
                let opening = &self.question.opening;
                let access = opening.sandbox.access;
                let decision = match permission_with_access(opening.allow, access, &ask) {
                    Permission::Granted => ApprovalDecision::Allow,
                    Permission::Refused => {
                        self.refused.push(ask);
                        ApprovalDecision::Deny(READS_ONLY.to_owned())
                    }
                    Permission::NeedsPerson => {
                        self.refused.push(ask);
                        ApprovalDecision::Deny("the person has not permitted this".to_owned())
                    }
                };
                agent.answer(approval, decision);
            }
            AgentEvent::Usage(usage) => self.usage.add(journal_usage(usage)),
            AgentEvent::TurnFinished(answer) => match self.read(&answer) {
                Ok(result) => {
                    self.end = Some(Ok(AskReply {
                        conversation: self.conversation.clone(),
                        text: answer.text,
                        result,
                        usage: self.usage,
                        refused: std::mem::take(&mut self.refused),
                    }));
                    agent.end();
                }
                Err(problem) if !self.corrected => {
                    self.corrected = true;
                    let text = problem.retry_prompt();
                    agent.command(AgentCommand::Send(AgentMessage {
                        text,
                        ..self.question.message.clone()
                    }));
                }
                Err(problem) => {
                    self.end = Some(Err(AskError::WrongResult(problem.to_string())));
                    agent.end();
                }
            },
            AgentEvent::TurnFailed(trouble) => {
                self.end.get_or_insert(Err(AskError::Failed(trouble)));
                agent.end();
            }
            AgentEvent::TurnInterrupted => {
                self.end.get_or_insert(Err(AskError::Interrupted(self.conversation.clone())));
                agent.end();
            }
            AgentEvent::Ended(why) => {
                let interrupted = Err(AskError::Interrupted(self.conversation.clone()));
                let otherwise = why.map_or(interrupted, |failure| Err(AskError::Failed(failure)));
                return Some(self.end.take().unwrap_or(otherwise));
            }
            AgentEvent::Delivered(_)
            | AgentEvent::Text(_)
            | AgentEvent::ToolStarted { .. }
            | AgentEvent::ToolFinished { .. }
            | AgentEvent::FileChanged(_)
            | AgentEvent::Retrying(_) => {}
        }
        None
    }

    fn read(
        &self,
        answer: &omx_agents::event::TurnAnswer,
    ) -> Result<Option<Value>, results::ResultProblem> {
        let Some(kind) = self.question.wants else { return Ok(None) };
        let result = results::parse(kind, answer)?;
        Ok(Some(serde_json::to_value(&result).unwrap_or_default()))
    }
}

/// A question and its answer as a Markdown file for people.
#[derive(Debug)]
pub struct AskArtifact<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The role's name.
    pub role: Option<&'a str>,
    /// When the question was asked.
    pub asked_at: &'a str,
    /// The person's question.
    pub prompt: &'a str,
    /// The answer.
    pub reply: &'a AskReply,
    /// The folder in which the agent worked.
    pub folder: &'a PathBuf,
}

impl AskArtifact<'_> {
    /// Renders the file.
    pub fn markdown(&self) -> String {
        let reply = self.reply;
        let conversation = reply.conversation.as_ref().map_or("", ConversationId::as_str);
        let role = self.role.unwrap_or("none");
        let answer = match &reply.result {
            Some(result) => format!(
                "```json\n{}\n```",
                serde_json::to_string_pretty(result).unwrap_or_default()
            ),
            None => reply.text.trim().to_owned(),
        };
        format!(
            "---\nagent: {}\nrole: {role}\nasked_at: {}\nconversation: {conversation}\n\
             input_tokens: {}\noutput_tokens: {}\n---\n\n# AskRequest\n\n{}\n\n# Answer\n\n{answer}\n",
            self.agent,
            self.asked_at,
            reply.usage.input,
            reply.usage.output,
            self.prompt.trim(),
        )
    }
}
