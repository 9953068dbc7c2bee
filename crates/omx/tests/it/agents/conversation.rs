//! A conversation in a test: commands out, events in, a deadline on everything.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use omx_agents::agent::{ApprovalDecision, McpServerSpec};
use omx_agents::event::{ApprovalRequest, TurnAnswer};
use omx_agents::failure::Failure;
use omx_agents::{
    Agent, AgentEvent, AgentLimits, AgentMessage, Conversation, ConversationId, ConversationSpec,
    ConversationStart, conversation,
};
use omx_kernel::approval::{AllowLevel, Permission, permission_for};
use omx_rehearsal::driver;

use super::stage::{DriverStage, OMX};

/// Nothing in a test takes longer.
pub const DEADLINE: Duration = Duration::from_secs(40);

pub struct TestConversation {
    pub agent: Conversation,
    pub events: Receiver<AgentEvent>,
    pub seen: Vec<AgentEvent>,
    pub allow: AllowLevel,
    pub id: ConversationId,
}

/// How a turn ended.
#[derive(Debug, PartialEq)]
pub enum TestTurnEnd {
    Finished(TurnAnswer),
    Interrupted,
    Failed(Failure),
}

impl TestTurnEnd {
    #[track_caller]
    pub fn text(self) -> String {
        match self {
            Self::Finished(answer) => answer.text,
            other => panic!("the turn did not finish: {other:?}"),
        }
    }

    #[track_caller]
    pub fn failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            other => panic!("the turn did not fail: {other:?}"),
        }
    }
}

/// The conversation that most tests need.
pub fn conversation_spec(
    stage: &impl DriverStage,
    start: ConversationStart,
    allow: AllowLevel,
) -> ConversationSpec {
    ConversationSpec {
        start,
        folder: stage.root(),
        role: None,
        model: None,
        allow,
        max_micro_usd: None,
        schema: None,
        servers: vec![McpServerSpec {
            name: "omx".to_owned(),
            program: OMX.into(),
            args: vec!["mcp".to_owned()],
            env: Default::default(),
        }],
        sandbox: omx_agents::sandbox::AgentSandbox::default(),
    }
}

impl TestConversation {
    /// Opens a new conversation in which commands are allowed.
    #[track_caller]
    pub fn new<S: DriverStage>(stage: &S) -> Self {
        Self::open::<S>(
            stage,
            conversation_spec(stage, ConversationStart::New, AllowLevel::Commands),
        )
    }

    /// Resumes a conversation.
    #[track_caller]
    pub fn resume<S: DriverStage>(stage: &S, id: &ConversationId) -> Self {
        let chat = Self::open::<S>(
            stage,
            conversation_spec(stage, ConversationStart::Resume(id.clone()), AllowLevel::Commands),
        );
        assert_eq!(&chat.id, id, "another conversation");
        chat
    }

    /// Opens a conversation and waits until it is open.
    #[track_caller]
    pub fn open<S: DriverStage>(stage: &S, spec: ConversationSpec) -> Self {
        let (agent, events) = start::<S>(stage, &spec, AgentLimits::default());
        let mut chat = Self {
            agent,
            events,
            seen: Vec::new(),
            allow: spec.allow,
            id: ConversationId::random(),
        };
        let started = chat.until("the conversation is open", |event| {
            matches!(event, AgentEvent::Started { .. } | AgentEvent::Ended(_))
        });
        match started {
            AgentEvent::Started { conversation, .. } => chat.id = conversation,
            other => panic!("not started: {other:?}"),
        }
        chat
    }

    /// Waits for the next matching event; earlier ones are kept in `seen`. The
    /// policy answers approval requests unless the test waits for them.
    #[track_caller]
    pub fn until(&mut self, what: &str, fits: impl Fn(&AgentEvent) -> bool) -> AgentEvent {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => {
                    self.seen.push(event.clone());
                    if fits(&event) {
                        return event;
                    }
                    self.answer_by_policy(&event);
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("not in time: {what}; seen {:#?}", self.seen)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("over before {what}: {:#?}", self.seen)
                }
            }
        }
    }

    /// Collects the events so far without waiting.
    pub fn answer_what_waits(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.answer_by_policy(&event);
            self.seen.push(event);
        }
    }

    fn answer_by_policy(&self, event: &AgentEvent) {
        if let AgentEvent::ApprovalNeeded { approval, ask } = event {
            let decision = match permission_for(self.allow, ask) {
                Permission::Granted => ApprovalDecision::Allow,
                Permission::NeedsPerson | Permission::Refused => {
                    ApprovalDecision::Deny("only the person can say".to_owned())
                }
            };
            self.agent.answer(approval.clone(), decision);
        }
    }

    /// Sends a message and waits for the end of the turn.
    #[track_caller]
    pub fn turn(&mut self, words: &str) -> TestTurnEnd {
        self.agent.send(AgentMessage::text(words));
        self.turn_end()
    }

    /// Waits for the end of the current turn.
    #[track_caller]
    pub fn turn_end(&mut self) -> TestTurnEnd {
        let ends = |event: &AgentEvent| {
            matches!(
                event,
                AgentEvent::TurnFinished(_)
                    | AgentEvent::TurnInterrupted
                    | AgentEvent::TurnFailed(_)
            )
        };
        match self.until("the end of the turn", ends) {
            AgentEvent::TurnFinished(answer) => TestTurnEnd::Finished(answer),
            AgentEvent::TurnFailed(failure) => TestTurnEnd::Failed(failure),
            _ => TestTurnEnd::Interrupted,
        }
    }

    /// Waits for an approval and answers it.
    #[track_caller]
    pub fn approval(&mut self, decision: ApprovalDecision) -> ApprovalRequest {
        let needed = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalNeeded { .. });
        let AgentEvent::ApprovalNeeded { approval, ask } = self.until("an approval", needed) else {
            unreachable!()
        };
        self.agent.answer(approval, decision);
        ask
    }

    /// Ends the conversation and returns the failure that ended it, if any.
    #[track_caller]
    pub fn end(mut self) -> Option<Failure> {
        self.agent.end();
        self.over()
    }

    /// Waits until it is over.
    #[track_caller]
    pub fn over(&mut self) -> Option<Failure> {
        let over = self.until("the end", |event| matches!(event, AgentEvent::Ended(_)));
        let AgentEvent::Ended(why) = over else { unreachable!() };
        assert!(self.events.recv_timeout(DEADLINE).is_err(), "something after the end");
        why
    }
}

/// Starts a conversation without waiting for anything.
#[track_caller]
pub fn start<S: DriverStage>(
    stage: &S,
    spec: &ConversationSpec,
    limits: AgentLimits,
) -> (Conversation, Receiver<AgentEvent>) {
    let agent_env = stage.agent_env();
    let driver = driver(S::KIND);
    let installation = driver.find(&agent_env).unwrap();
    let (sender, events) = channel();
    let on_event = move |event| {
        let _ = sender.send(event);
    };
    let agent = conversation::open(driver, &installation, spec, &agent_env, limits, on_event);
    (agent.unwrap(), events)
}
