//! A conversation in a test: orders out, events in, a deadline on everything.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use omx_agents::agent::{Decision, McpServer};
use omx_agents::event::{Answer, Ask};
use omx_agents::trouble::Trouble;
use omx_agents::{
    Agent, Conversation, ConversationId, Event, Limits, Message, Opening, Start, conversation,
};
use omx_kernel::approval::{Allow, Leave, leave};
use omx_rehearsal::driver;

use super::stage::{OMX, Stage};

/// Nothing in a test takes longer.
pub const DEADLINE: Duration = Duration::from_secs(40);

pub struct Talk {
    pub agent: Conversation,
    pub events: Receiver<Event>,
    pub seen: Vec<Event>,
    pub allow: Allow,
    pub id: ConversationId,
}

/// How a turn ended.
#[derive(Debug, PartialEq)]
pub enum Turned {
    Finished(Answer),
    Interrupted,
    Failed(Trouble),
}

impl Turned {
    #[track_caller]
    pub fn text(self) -> String {
        match self {
            Self::Finished(answer) => answer.text,
            other => panic!("the turn did not finish: {other:?}"),
        }
    }

    #[track_caller]
    pub fn trouble(self) -> Trouble {
        match self {
            Self::Failed(trouble) => trouble,
            other => panic!("the turn did not fail: {other:?}"),
        }
    }
}

/// A conversation as most tests want it.
pub fn opening(stage: &impl Stage, start: Start, allow: Allow) -> Opening {
    Opening {
        start,
        folder: stage.root(),
        role: None,
        model: None,
        allow,
        schema: None,
        servers: vec![McpServer {
            name: "omx".to_owned(),
            program: OMX.into(),
            args: vec!["mcp".to_owned()],
        }],
    }
}

impl Talk {
    /// Opens a new conversation in which commands are allowed.
    #[track_caller]
    pub fn new<S: Stage>(stage: &S) -> Self {
        Self::open::<S>(stage, opening(stage, Start::New, Allow::Commands))
    }

    /// Goes on with a conversation.
    #[track_caller]
    pub fn resume<S: Stage>(stage: &S, id: &ConversationId) -> Self {
        let talk =
            Self::open::<S>(stage, opening(stage, Start::Resume(id.clone()), Allow::Commands));
        assert_eq!(&talk.id, id, "another conversation");
        talk
    }

    /// Opens a conversation and waits until it is open.
    #[track_caller]
    pub fn open<S: Stage>(stage: &S, opening: Opening) -> Self {
        let (agent, events) = start::<S>(stage, &opening, Limits::default());
        let mut talk = Self {
            agent,
            events,
            seen: Vec::new(),
            allow: opening.allow,
            id: ConversationId::random(),
        };
        let started = talk.until("the conversation is open", |event| {
            matches!(event, Event::Started { .. } | Event::Ended(_))
        });
        match started {
            Event::Started { conversation, .. } => talk.id = conversation,
            other => panic!("not started: {other:?}"),
        }
        talk
    }

    /// The next event that fits; all before it are kept in `seen`. Approvals
    /// are answered by the policy unless they are waited for.
    #[track_caller]
    pub fn until(&mut self, what: &str, fits: impl Fn(&Event) -> bool) -> Event {
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

    /// Takes what has happened so far without waiting.
    pub fn answer_what_waits(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.answer_by_policy(&event);
            self.seen.push(event);
        }
    }

    fn answer_by_policy(&self, event: &Event) {
        if let Event::ApprovalNeeded { approval, ask } = event {
            let decision = match leave(self.allow, ask) {
                Leave::Granted => Decision::Allow,
                Leave::NeedsPerson => Decision::Deny("only the person can say".to_owned()),
            };
            self.agent.answer(approval.clone(), decision);
        }
    }

    /// Says something and waits for the end of the turn.
    #[track_caller]
    pub fn turn(&mut self, words: &str) -> Turned {
        self.agent.send(Message::text(words));
        self.turn_end()
    }

    /// Waits for the end of the turn that runs.
    #[track_caller]
    pub fn turn_end(&mut self) -> Turned {
        let ends = |event: &Event| {
            matches!(event, Event::TurnFinished(_) | Event::TurnInterrupted | Event::TurnFailed(_))
        };
        match self.until("the end of the turn", ends) {
            Event::TurnFinished(answer) => Turned::Finished(answer),
            Event::TurnFailed(trouble) => Turned::Failed(trouble),
            _ => Turned::Interrupted,
        }
    }

    /// Waits for an approval and answers it.
    #[track_caller]
    pub fn approval(&mut self, decision: Decision) -> Ask {
        let needed = |event: &Event| matches!(event, Event::ApprovalNeeded { .. });
        let Event::ApprovalNeeded { approval, ask } = self.until("an approval", needed) else {
            unreachable!()
        };
        self.agent.answer(approval, decision);
        ask
    }

    /// Ends the conversation; tells why it was over.
    #[track_caller]
    pub fn end(mut self) -> Option<Trouble> {
        self.agent.end();
        self.over()
    }

    /// Waits until it is over.
    #[track_caller]
    pub fn over(&mut self) -> Option<Trouble> {
        let over = self.until("the end", |event| matches!(event, Event::Ended(_)));
        let Event::Ended(why) = over else { unreachable!() };
        assert!(self.events.recv_timeout(DEADLINE).is_err(), "something after the end");
        why
    }
}

/// Starts a conversation without waiting for anything.
#[track_caller]
pub fn start<S: Stage>(
    stage: &S,
    opening: &Opening,
    limits: Limits,
) -> (Conversation, Receiver<Event>) {
    let surroundings = stage.surroundings();
    let driver = driver(S::KIND);
    let installation = driver.find(&surroundings).unwrap();
    let (sender, events) = channel();
    let tell = move |event| {
        let _ = sender.send(event);
    };
    let agent = conversation::open(driver, &installation, opening, &surroundings, limits, tell);
    (agent.unwrap(), events)
}
