//! The machine that plays: requests and ends of jobs in, lines and jobs out.
//! It keeps its memory on disk itself; everything else it does is an effect.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use omx_kernel::approval::AllowLevel;

use super::job::{Done, Job, JobId};
use super::run::Setup;
use super::turn::{Doing, Turn};
use crate::memory::{Memory, Taken};
use crate::scenario;
use crate::wire::{self, Failed, Refused, Server, Told, Verdict};
use omx_agents::agent::{ConversationId, MessageLabels};
use omx_agents::rpc::{Rpc, RpcIncoming};

/// How long a person may think about an approval.
const PATIENCE: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// What the machine is told.
#[derive(Debug)]
pub(super) enum Input {
    /// A line of the driver.
    Line(Value),
    /// A job is over.
    Done(JobId, Done),
    /// The driver has closed the line.
    Closed,
    /// A moment asked for has come.
    Tick,
}

/// What the machine wants done.
#[derive(Debug)]
pub(super) enum Effect {
    /// Write this line.
    Write(Value),
    /// Begin a job.
    Begin(JobId, Job),
    /// End the job that runs and all it started.
    Stop,
    /// Die as if killed.
    Die,
    /// End well.
    Leave,
}

/// An open conversation.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) memory: Memory,
    pub(super) folder: PathBuf,
    pub(super) allow: AllowLevel,
    pub(super) model: Option<String>,
    pub(super) servers: Vec<Server>,
}

/// The machine.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) setup: Setup,
    pub(super) rpc: Rpc<JobId>,
    pub(super) last_job: u64,
    pub(super) stage: Option<Stage>,
    pub(super) turn: Option<Turn>,
}

type Refusal = (Refused, String);

impl Player {
    pub(super) fn new(setup: Setup) -> Self {
        let rpc = Rpc::version_2(PATIENCE);
        Self { setup, rpc, last_job: 0, stage: None, turn: None }
    }

    /// What follows from an input.
    pub(super) fn handle(&mut self, input: Input, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        let doing = self.turn.as_ref().map(|turn| &turn.doing);
        if matches!(doing, Some(Doing::Hanging(scenario::HangKind::Deaf))) {
            return effects;
        }
        match input {
            Input::Line(line) => self.line(line, now, &mut effects),
            Input::Done(job, done) => self.job_done(job, done, now, &mut effects),
            Input::Closed => effects.extend([Effect::Stop, Effect::Leave]),
            Input::Tick => self.time_passed(now, &mut effects),
        }
        effects
    }

    /// The agent's folder.
    pub(super) fn folder(&self) -> PathBuf {
        self.stage.as_ref().map(|stage| stage.folder.clone()).unwrap_or_default()
    }

    /// When it wants a tick.
    pub(super) fn wake(&self) -> Option<Instant> {
        match self.turn.as_ref()?.doing {
            Doing::Waiting(until) => Some(until),
            _ => None,
        }
    }

    fn line(&mut self, line: Value, now: Instant, effects: &mut Vec<Effect>) {
        match self.rpc.parse_incoming(line) {
            RpcIncoming::Request { id, method, params } => {
                self.request(&id, &method, params, now, effects);
            }
            RpcIncoming::Response(job, answer) => {
                let verdict = match answer.map(serde_json::from_value) {
                    Ok(Ok(verdict)) => verdict,
                    // Whoever cannot say yes has said no.
                    Ok(Err(error)) => Verdict::Deny { reason: error.to_string() },
                    Err(error) => Verdict::Deny { reason: error.message },
                };
                self.answered(job, verdict, now, effects);
            }
            RpcIncoming::Notification { .. } | RpcIncoming::Unknown(_) => {}
        }
    }

    fn request(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let answer = match method {
            wire::OPEN => read(params).and_then(|open| self.open(open)),
            wire::STEER => read(params).and_then(|steer| self.steer(steer)),
            wire::TURN => match read(params) {
                Ok(turn) if self.stage.is_some() && self.turn.is_none() => {
                    effects.push(Effect::Write(self.rpc.response(id, json!({}))));
                    return self.begin_turn(turn, now, effects);
                }
                Ok(_) => Err((Refused::Wrong, "no turn can begin now".to_owned())),
                Err(refusal) => Err(refusal),
            },
            wire::INTERRUPT => {
                effects.push(Effect::Write(self.rpc.response(id, json!({}))));
                return self.interrupt(effects);
            }
            other => Err((Refused::Wrong, format!("unknown method {other:?}"))),
        };
        effects.push(Effect::Write(match answer {
            Ok(result) => self.rpc.response(id, result),
            Err((refused, why)) => self.rpc.reject(id, refused.code(), &why),
        }));
    }

    fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        // A turn that is just over needs no other end.
        if self.turn.take().is_some() {
            effects.push(Effect::Stop);
            self.tell(&Told::TurnInterrupted {}, effects);
        }
    }

    fn open(&mut self, open: wire::Open) -> Result<Value, Refusal> {
        if self.stage.is_some() {
            return Err((Refused::Wrong, "a conversation is open already".to_owned()));
        }
        let broken = |why: &dyn ToString| (Refused::Scenario, why.to_string());
        let scenario = scenario::load(&self.setup.scenario).map_err(|fault| broken(&fault))?;
        let folder = &self.setup.folder;
        let memory = match open.conversation {
            None => Memory::begin(scenario, folder, open.role),
            Some(text) => {
                let unknown = || (Refused::UnknownConversation, text.clone());
                let id = ConversationId::new(&text).ok_or_else(unknown)?;
                let resumed = Memory::resume(scenario, folder, id);
                resumed.transpose().ok_or_else(unknown)?
            }
        };
        let memory = memory.map_err(|error| broken(&error))?;
        let opened = json!({"conversation": memory.id().as_str(), "model": open.model});
        let allow = AllowLevel::parse(&open.allow)
            .ok_or_else(|| (Refused::Wrong, format!("unknown policy {:?}", open.allow)))?;
        let (folder, model, servers) = (open.folder, open.model, open.servers);
        self.stage = Some(Stage { memory, folder, allow, model, servers });
        Ok(opened)
    }

    fn steer(&mut self, steer: wire::Steer) -> Result<Value, Refusal> {
        let (Some(stage), Some(turn)) = (&mut self.stage, &mut self.turn) else {
            return Err((Refused::NoTurn, "no turn runs".to_owned()));
        };
        let heard = stage.memory.hear(&steer.text);
        heard.map_err(|error| (Refused::Scenario, error.to_string()))?;
        turn.steered.push_back(steer.text);
        Ok(json!({}))
    }

    fn begin_turn(&mut self, turn: wire::Turn, now: Instant, effects: &mut Vec<Effect>) {
        let Some(stage) = &mut self.stage else { return };
        let said = about(&turn);
        let labels = MessageLabels { role: turn.role, phase: turn.phase, step: turn.step };
        match stage.memory.take(labels, &turn.text) {
            Ok(Taken::Entry { entry, step }) => {
                self.turn = Some(Turn::new(entry, step));
                self.advance(now, effects);
            }
            Ok(Taken::Again(answer)) => {
                self.tell(&Told::Said { text: answer.text.clone() }, effects);
                self.tell(&Told::TurnFinished(answer), effects);
            }
            Ok(Taken::Nothing) => {
                let file = stage.memory.scenario().file.display();
                let detail = format!("{file}: no entry fits this call: {said}");
                self.fail(Failed::Scenario { detail }, effects);
            }
            Err(error) => self.fail(Failed::Scenario { detail: error.to_string() }, effects),
        }
    }

    /// The turn is over, and not well.
    pub(super) fn fail(&mut self, failed: Failed, effects: &mut Vec<Effect>) {
        self.turn = None;
        self.tell(&Told::TurnFailed(failed), effects);
    }

    pub(super) fn tell(&self, told: &impl Serialize, effects: &mut Vec<Effect>) {
        let told = serde_json::to_value(told).unwrap_or_default();
        let method = told["method"].as_str().unwrap_or_default();
        effects.push(Effect::Write(self.rpc.notification(method, told["params"].clone())));
    }
}

fn read<Params: DeserializeOwned>(params: Value) -> Result<Params, Refusal> {
    serde_json::from_value(params).map_err(|error| (Refused::Wrong, error.to_string()))
}

/// How much of a prompt is shown when nothing fits it.
const SHOWN: usize = 200;

/// A call in words.
fn about(turn: &wire::Turn) -> String {
    let named = |what: &str, name: &Option<String>| match name {
        Some(name) => format!("{what} {name:?}, "),
        None => String::new(),
    };
    let mut text: String = turn.text.chars().take(SHOWN).collect();
    if text.len() < turn.text.len() {
        text.push('…');
    }
    format!("{}{}prompt {text:?}", named("role", &turn.role), named("phase", &turn.phase))
}
