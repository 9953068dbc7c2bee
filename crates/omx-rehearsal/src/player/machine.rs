//! The state machine that plays a scenario: requests and results of jobs in,
//! lines and jobs out. It saves its own state; everything else is an effect.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use omx_kernel::approval::AllowLevel;

use super::job::{JobOutcome, PlayerJob, PlayerJobId};
use super::run::PlayerConfig;
use super::turn::{PlayedTurn, TurnState};
use crate::memory::{ConversationMemory, NextPlay};
use crate::scenario;
use crate::wire::{
    self, ApprovalAnswer, PlayerFailure, PlayerNotification, RefusalKind, ServerSpec,
};
use omx_agents::agent::{ConversationId, MessageLabels};
use omx_agents::rpc::{Rpc, RpcIncoming};

/// How long a person may take to answer an approval request: a year.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// An input of the machine.
#[derive(Debug)]
pub(super) enum PlayerEvent {
    /// A line from the driver.
    Line(Value),
    /// A job ended.
    JobFinished(PlayerJobId, JobOutcome),
    /// The driver closed the input.
    InputClosed,
    /// The time of `wake` has come.
    Tick,
}

/// An output of the machine, carried out by the shell.
#[derive(Debug)]
pub(super) enum PlayerEffect {
    /// Write this line.
    Write(Value),
    /// Start a job.
    Start(PlayerJobId, PlayerJob),
    /// Stop the current job and everything it started.
    StopJob,
    /// Kill this process.
    Crash,
    /// Exit normally.
    Exit,
}

/// An open conversation.
#[derive(Debug)]
pub(super) struct OpenConversation {
    pub(super) memory: ConversationMemory,
    pub(super) folder: PathBuf,
    pub(super) allow: AllowLevel,
    pub(super) model: Option<String>,
    pub(super) servers: Vec<ServerSpec>,
}

/// Plays one conversation.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) config: PlayerConfig,
    pub(super) rpc: Rpc<PlayerJobId>,
    pub(super) last_job: u64,
    pub(super) conversation: Option<OpenConversation>,
    pub(super) turn: Option<PlayedTurn>,
}

type Refusal = (RefusalKind, String);

impl Player {
    pub(super) fn new(config: PlayerConfig) -> Self {
        let rpc = Rpc::version_2(APPROVAL_TIMEOUT);
        Self { config, rpc, last_job: 0, conversation: None, turn: None }
    }

    /// Handles an event.
    pub(super) fn handle(&mut self, event: PlayerEvent, now: Instant) -> Vec<PlayerEffect> {
        let mut effects = Vec::new();
        let state = self.turn.as_ref().map(|turn| &turn.state);
        if matches!(state, Some(TurnState::Hanging(scenario::HangKind::Deaf))) {
            return effects;
        }
        match event {
            PlayerEvent::Line(line) => self.handle_line(line, now, &mut effects),
            PlayerEvent::JobFinished(job, outcome) => {
                self.finish_job(job, outcome, now, &mut effects)
            }
            PlayerEvent::InputClosed => effects.extend([PlayerEffect::StopJob, PlayerEffect::Exit]),
            PlayerEvent::Tick => self.handle_tick(now, &mut effects),
        }
        effects
    }

    /// The agent's folder.
    pub(super) fn folder(&self) -> PathBuf {
        self.conversation.as_ref().map(|open| open.folder.clone()).unwrap_or_default()
    }

    /// When the machine needs a tick.
    pub(super) fn wake(&self) -> Option<Instant> {
        match self.turn.as_ref()?.state {
            TurnState::Waiting(until) => Some(until),
            _ => None,
        }
    }

    fn handle_line(&mut self, line: Value, now: Instant, effects: &mut Vec<PlayerEffect>) {
        match self.rpc.parse_incoming(line) {
            RpcIncoming::Request { id, method, params } => {
                self.handle_request(&id, &method, params, now, effects);
            }
            RpcIncoming::Response(job, answer) => {
                let answer = match answer.map(serde_json::from_value) {
                    Ok(Ok(answer)) => answer,
                    // Anything but a clear permission denies.
                    Ok(Err(error)) => ApprovalAnswer::Deny { reason: error.to_string() },
                    Err(error) => ApprovalAnswer::Deny { reason: error.message },
                };
                self.handle_approval(job, answer, now, effects);
            }
            RpcIncoming::Notification { .. } | RpcIncoming::Unknown(_) => {}
        }
    }

    fn handle_request(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
        now: Instant,
        effects: &mut Vec<PlayerEffect>,
    ) {
        let answer = match method {
            wire::OPEN => read_params(params).and_then(|open| self.open(open)),
            wire::STEER => read_params(params).and_then(|steer| self.steer(steer)),
            wire::TURN => match read_params(params) {
                Ok(turn) if self.conversation.is_some() && self.turn.is_none() => {
                    effects.push(PlayerEffect::Write(self.rpc.response(id, json!({}))));
                    return self.start_turn(turn, now, effects);
                }
                Ok(_) => Err((RefusalKind::Invalid, "no turn can start now".to_owned())),
                Err(refusal) => Err(refusal),
            },
            wire::INTERRUPT => {
                effects.push(PlayerEffect::Write(self.rpc.response(id, json!({}))));
                return self.interrupt(effects);
            }
            other => Err((RefusalKind::Invalid, format!("unknown method {other:?}"))),
        };
        effects.push(PlayerEffect::Write(match answer {
            Ok(result) => self.rpc.response(id, result),
            Err((refused, why)) => self.rpc.reject(id, refused.code(), &why),
        }));
    }

    fn interrupt(&mut self, effects: &mut Vec<PlayerEffect>) {
        // A turn that has just ended needs no second end.
        if self.turn.take().is_some() {
            effects.push(PlayerEffect::StopJob);
            self.notify(&PlayerNotification::TurnInterrupted {}, effects);
        }
    }

    fn open(&mut self, open: wire::OpenParams) -> Result<Value, Refusal> {
        if self.conversation.is_some() {
            return Err((RefusalKind::Invalid, "a conversation is already open".to_owned()));
        }
        let failed = |why: &dyn ToString| (RefusalKind::Scenario, why.to_string());
        let scenario = scenario::load(&self.config.scenario).map_err(|error| failed(&error))?;
        let folder = &self.config.folder;
        let memory = match open.conversation {
            None => ConversationMemory::create(scenario, folder, open.role),
            Some(text) => {
                let unknown = || (RefusalKind::UnknownConversation, text.clone());
                let id = ConversationId::new(&text).ok_or_else(unknown)?;
                let resumed = ConversationMemory::resume(scenario, folder, id);
                resumed.transpose().ok_or_else(unknown)?
            }
        };
        let memory = memory.map_err(|error| failed(&error))?;
        let reply = json!({"conversation": memory.id().as_str(), "model": open.model});
        let allow = AllowLevel::parse(&open.allow)
            .ok_or_else(|| (RefusalKind::Invalid, format!("unknown policy {:?}", open.allow)))?;
        let (folder, model, servers) = (open.folder, open.model, open.servers);
        self.conversation = Some(OpenConversation { memory, folder, allow, model, servers });
        Ok(reply)
    }

    fn steer(&mut self, steer: wire::SteerParams) -> Result<Value, Refusal> {
        let (Some(conversation), Some(turn)) = (&mut self.conversation, &mut self.turn) else {
            return Err((RefusalKind::NoTurn, "no turn is running".to_owned()));
        };
        let recorded = conversation.memory.record_message(&steer.text);
        recorded.map_err(|error| (RefusalKind::Scenario, error.to_string()))?;
        turn.steered.push_back(steer.text);
        Ok(json!({}))
    }

    fn start_turn(
        &mut self,
        turn: wire::TurnParams,
        now: Instant,
        effects: &mut Vec<PlayerEffect>,
    ) {
        let Some(conversation) = &mut self.conversation else { return };
        let call = describe_call(&turn);
        let labels = MessageLabels { role: turn.role, phase: turn.phase, step: turn.step };
        match conversation.memory.start_turn(labels, &turn.text) {
            Ok(NextPlay::Entry { entry, step }) => {
                self.turn = Some(PlayedTurn::new(entry, step));
                self.advance(now, effects);
            }
            Ok(NextPlay::RepeatAnswer(answer)) => {
                self.notify(&PlayerNotification::Said { text: answer.text.clone() }, effects);
                self.notify(&PlayerNotification::TurnFinished(answer), effects);
            }
            Ok(NextPlay::NoMatch) => {
                let file = conversation.memory.scenario().file.display();
                let detail = format!("{file}: no entry matches this call: {call}");
                self.fail(PlayerFailure::Scenario { detail }, effects);
            }
            Err(error) => self.fail(PlayerFailure::Scenario { detail: error.to_string() }, effects),
        }
    }

    /// Ends the turn with a failure.
    pub(super) fn fail(&mut self, failure: PlayerFailure, effects: &mut Vec<PlayerEffect>) {
        self.turn = None;
        self.notify(&PlayerNotification::TurnFailed(failure), effects);
    }

    pub(super) fn notify(&self, notification: &impl Serialize, effects: &mut Vec<PlayerEffect>) {
        let message = serde_json::to_value(notification).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or_default();
        effects.push(PlayerEffect::Write(self.rpc.notification(method, message["params"].clone())));
    }
}

fn read_params<Params: DeserializeOwned>(params: Value) -> Result<Params, Refusal> {
    serde_json::from_value(params).map_err(|error| (RefusalKind::Invalid, error.to_string()))
}

/// How much of a prompt a message quotes.
const MAX_QUOTED: usize = 200;

/// Describes a call, for messages.
fn describe_call(turn: &wire::TurnParams) -> String {
    let named = |what: &str, name: &Option<String>| match name {
        Some(name) => format!("{what} {name:?}, "),
        None => String::new(),
    };
    let mut text: String = turn.text.chars().take(MAX_QUOTED).collect();
    if text.len() < turn.text.len() {
        text.push('…');
    }
    format!("{}{}prompt {text:?}", named("role", &turn.role), named("phase", &turn.phase))
}
