//! One question to one agent: `omx ask`.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use omx_agents::agent::{AgentCommand, AgentMessage, ApprovalDecision, ConversationSpec};
use omx_agents::event::{AgentEvent, ApprovalRequest};
use omx_agents::failure::Failure;
use omx_agents::results::{self, ResultKind};
use omx_agents::{
    Agent, AgentEnv, AgentLimits, Conversation, ConversationId, Driver, Installation, conversation,
};
use omx_kernel::approval::{Permission, permission_for};
use serde_json::Value;

use omx_runs::Usage;

/// A question, and what its answer shall be.
#[derive(Debug)]
pub struct Question {
    /// The conversation to ask it in.
    pub opening: ConversationSpec,
    /// The words.
    pub message: AgentMessage,
    /// What the answer must be; without it, any text will do.
    pub wants: Option<ResultKind>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// To go on with.
    pub conversation: Option<ConversationId>,
    /// The agent's last words.
    pub text: String,
    /// The result that was asked for.
    pub result: Option<Value>,
    /// What it took.
    pub spent: Usage,
    /// What the agent wanted to do and was not allowed.
    pub refused: Vec<ApprovalRequest>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum NoReply {
    /// Trouble with the agent.
    Trouble(Failure),
    /// The person stopped it. The conversation can be gone on with.
    Interrupted(Option<ConversationId>),
    /// The answer was not what it had to be, also when asked again.
    WrongResult(String),
}

/// A question that is being asked. Dropping it ends the agent.
#[derive(Debug)]
pub struct Asking {
    sender: Sender<Heard>,
    heard: Receiver<Heard>,
}

/// Stops a question that is being asked, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Heard>);

impl Stopper {
    /// Once: the agent is interrupted. Twice: it is ended.
    pub fn stop(&self) {
        let _ = self.0.send(Heard::Stop);
    }
}

enum Heard {
    Event(AgentEvent),
    Stop,
}

impl std::fmt::Debug for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Heard")
    }
}

impl Default for Asking {
    fn default() -> Self {
        let (sender, heard) = channel();
        Self { sender, heard }
    }
}

impl Asking {
    /// What stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }

    /// Asks and waits for the answer. Everything the agent tells is shown.
    pub fn ask(
        self,
        question: &Question,
        driver: &dyn Driver,
        installation: &Installation,
        surroundings: &AgentEnv,
        limits: AgentLimits,
        mut show: impl FnMut(&AgentEvent),
    ) -> Result<Reply, NoReply> {
        let sender = self.sender.clone();
        let tell = move |event| {
            let _ = sender.send(Heard::Event(event));
        };
        let opening = &question.opening;
        let agent = conversation::open(driver, installation, opening, surroundings, limits, tell)
            .map_err(NoReply::Trouble)?;
        let mut state = State::new(question);
        // Every wait inside the conversation has a deadline, so this one ends.
        for heard in &self.heard {
            match heard {
                Heard::Stop => state.stop(&agent),
                Heard::Event(event) => {
                    show(&event);
                    if let Some(end) = state.hear(&agent, event) {
                        return end;
                    }
                }
            }
        }
        Err(NoReply::Interrupted(state.conversation))
    }
}

struct State<'a> {
    question: &'a Question,
    conversation: Option<ConversationId>,
    spent: Usage,
    refused: Vec<ApprovalRequest>,
    /// The question was put.
    asked: bool,
    corrected: bool,
    stopped: bool,
    /// What will be told when the agent is gone.
    end: Option<Result<Reply, NoReply>>,
}

impl<'a> State<'a> {
    fn new(question: &'a Question) -> Self {
        Self {
            question,
            conversation: None,
            spent: Usage::default(),
            refused: Vec::new(),
            asked: false,
            corrected: false,
            stopped: false,
            end: None,
        }
    }

    /// Interrupts the turn, so that the agent's own record of it is whole;
    /// without one there is nothing to interrupt.
    fn stop(&mut self, agent: &Conversation) {
        if self.conversation.is_some() && !std::mem::replace(&mut self.stopped, true) {
            agent.interrupt();
        } else {
            agent.end();
        }
    }

    /// Puts the question, once.
    fn put(&mut self, agent: &Conversation) {
        if !std::mem::replace(&mut self.asked, true) {
            agent.send(self.question.message.clone());
        }
    }

    fn hear(&mut self, agent: &Conversation, event: AgentEvent) -> Option<Result<Reply, NoReply>> {
        match event {
            AgentEvent::Started { conversation, .. } => {
                self.conversation = Some(conversation);
                self.put(agent);
            }
            AgentEvent::Listening => self.put(agent),
            AgentEvent::ApprovalNeeded { approval, ask } => {
                let decision = match permission_for(self.question.opening.allow, &ask) {
                    Permission::Granted => ApprovalDecision::Allow,
                    Permission::NeedsPerson => {
                        self.refused.push(ask);
                        ApprovalDecision::Deny("the person has not allowed this".to_owned())
                    }
                };
                agent.answer(approval, decision);
            }
            AgentEvent::Usage(usage) => self.spent.add(crate::show::usage(usage)),
            AgentEvent::TurnFinished(answer) => match self.read(&answer) {
                Ok(result) => {
                    self.end = Some(Ok(Reply {
                        conversation: self.conversation.clone(),
                        text: answer.text,
                        result,
                        spent: self.spent,
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
                    self.end = Some(Err(NoReply::WrongResult(problem.to_string())));
                    agent.end();
                }
            },
            AgentEvent::TurnFailed(trouble) => {
                self.end.get_or_insert(Err(NoReply::Trouble(trouble)));
                agent.end();
            }
            AgentEvent::TurnInterrupted => {
                self.end.get_or_insert(Err(NoReply::Interrupted(self.conversation.clone())));
                agent.end();
            }
            AgentEvent::Ended(why) => {
                let interrupted = Err(NoReply::Interrupted(self.conversation.clone()));
                let otherwise = why.map_or(interrupted, |trouble| Err(NoReply::Trouble(trouble)));
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

/// What is kept of a question and its answer, for people.
#[derive(Debug)]
pub struct Artifact<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The role's name.
    pub role: Option<&'a str>,
    /// When it was asked.
    pub asked_at: &'a str,
    /// The person's words.
    pub prompt: &'a str,
    /// The answer.
    pub reply: &'a Reply,
    /// The folder it was asked in.
    pub folder: &'a PathBuf,
}

impl Artifact<'_> {
    /// As Markdown.
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
             input_tokens: {}\noutput_tokens: {}\n---\n\n# Question\n\n{}\n\n# Answer\n\n{answer}\n",
            self.agent,
            self.asked_at,
            reply.spent.input,
            reply.spent.output,
            self.prompt.trim(),
        )
    }
}
