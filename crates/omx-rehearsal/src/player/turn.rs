//! A turn: plays the steps of an entry, one after another.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use omx_kernel::Timestamp;
use omx_kernel::approval::{AllowLevel, OWN_SERVER, TargetLocation};

use super::job::{JobOutcome, PlayerJob, PlayerJobId};
use super::machine::{OpenConversation, Player, PlayerEffect};
use crate::memory::NextPlay;
use crate::scenario::{HangKind, LimitEnd, ScenarioAction, ScenarioFailure};
use crate::wire::{
    self, ApprovalAnswer, ApprovalParams, PlayerAnswer, PlayerFailure, PlayerNotification,
    PlayerToolOutcome, PlayerToolUse, UsageParams,
};
use omx_agents::approval::reach;
use omx_agents::event::UsageDelta;

/// The placeholder for the output of the last tool.
const OUTPUT: &str = "{{output}}";

/// A running turn.
#[derive(Debug)]
pub(super) struct PlayedTurn {
    entry: usize,
    step: usize,
    pub(super) state: TurnState,
    /// The last text.
    message: Option<String>,
    /// The text that is the answer, whatever is said later.
    answer: Option<String>,
    structured: Option<Value>,
    /// The output of the last tool.
    output: String,
    /// Messages to the busy agent that no entry has reacted to yet.
    pub(super) steered: VecDeque<String>,
}

/// What the turn is waiting for.
#[derive(Debug)]
pub(super) enum TurnState {
    /// Nothing: the next step is due.
    Ready,
    /// Approval to start this job.
    AwaitingApproval(PlayerJobId, PendingTool),
    /// The end of this job.
    Working(PlayerJobId, String),
    /// This moment.
    Waiting(Instant),
    /// Nothing will ever happen.
    Hanging(HangKind),
}

/// A tool call that waits for approval.
#[derive(Debug)]
pub(super) struct PendingTool {
    call: String,
    job: PlayerJob,
}

impl PlayedTurn {
    pub(super) fn new(entry: usize, step: usize) -> Self {
        Self {
            entry,
            step,
            state: TurnState::Ready,
            message: None,
            answer: None,
            structured: None,
            output: String::new(),
            steered: VecDeque::new(),
        }
    }

    fn answer(&self) -> PlayerAnswer {
        let text = match (&self.answer, &self.message, &self.structured) {
            (Some(answer), _, _) => answer.clone(),
            (None, Some(said), _) => said.clone(),
            (None, None, Some(result)) => result.to_string(),
            (None, None, None) => String::new(),
        };
        PlayerAnswer { text, structured: self.structured.clone() }
    }
}

impl Player {
    /// Plays until the turn has to wait.
    pub(super) fn advance(&mut self, now: Instant, effects: &mut Vec<PlayerEffect>) {
        while self.turn.as_ref().is_some_and(|turn| matches!(turn.state, TurnState::Ready)) {
            if let Err(error) = self.step(now, effects) {
                self.fail(PlayerFailure::Scenario { detail: error.to_string() }, effects);
            }
        }
    }

    fn step(&mut self, now: Instant, effects: &mut Vec<PlayerEffect>) -> io::Result<()> {
        let (Some(conversation), Some(turn)) = (&mut self.conversation, &mut self.turn) else {
            return Ok(());
        };
        let entry = conversation.memory.scenario().entries.get(turn.entry);
        let step = entry.and_then(|entry| entry.steps.get(turn.step)).cloned();
        let Some(step) = step else { return self.finish_entry(effects) };
        // Recorded first, so that an agent that is killed neither repeats a
        // finished step nor skips an unfinished one.
        conversation.memory.record_step(turn.step)?;
        match step.action {
            ScenarioAction::Say(text) => {
                let text = text.replace(OUTPUT, &turn.output);
                turn.message = Some(text.clone());
                conversation.memory.record_text(&text)?;
                self.notify(&PlayerNotification::Said { text }, effects);
                self.next_step();
            }
            ScenarioAction::Answer(text) => {
                let text = text.replace(OUTPUT, &turn.output);
                turn.answer = Some(text.clone());
                conversation.memory.record_text(&text)?;
                self.notify(&PlayerNotification::Said { text }, effects);
                self.next_step();
            }
            ScenarioAction::Result(result) => {
                turn.structured = Some(result);
                self.next_step();
            }
            ScenarioAction::ReportUsage(usage) => {
                self.notify(&PlayerNotification::Usage(usage_params(usage)), effects);
                self.next_step();
            }
            ScenarioAction::Delay(time) => turn.state = TurnState::Waiting(now + time),
            ScenarioAction::Fail(failure) => self.play_failure(failure, effects)?,
            ScenarioAction::Write { path, content } => {
                self.edit(PlayerJob::Write { path, content }, now, effects)
            }
            ScenarioAction::Patch { path, find, replace } => {
                self.edit(PlayerJob::Patch { path, find, replace }, now, effects);
            }
            ScenarioAction::Run { command } => {
                let params = ApprovalParams::Command { command: command.clone() };
                let tool_use = PlayerToolUse::Command(command.clone());
                self.use_tool(tool_use, params, PlayerJob::Run { command }, now, effects);
            }
            ScenarioAction::Mcp { server, tool, args, timeout } => {
                let found = conversation.servers.iter().find(|found| found.name == server).cloned();
                let params = ApprovalParams::Tool { server: server.clone(), tool: tool.clone() };
                let tool_use = PlayerToolUse::Mcp { server: server.clone(), tool: tool.clone() };
                let job = match found {
                    Some(server) => PlayerJob::Mcp { server, tool, args, timeout },
                    None => PlayerJob::Refuse(format!("no MCP server {server:?}")),
                };
                self.use_tool(tool_use, params, job, now, effects);
            }
        }
        Ok(())
    }

    fn next_step(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.step += 1;
            turn.state = TurnState::Ready;
        }
    }

    /// Ends the entry: continues with one that reacts to a message received
    /// meanwhile, or ends the turn.
    fn finish_entry(&mut self, effects: &mut Vec<PlayerEffect>) -> io::Result<()> {
        let (Some(conversation), Some(turn)) = (&mut self.conversation, &mut self.turn) else {
            return Ok(());
        };
        let answer = turn.answer();
        while let Some(message) = turn.steered.pop_front() {
            if let NextPlay::Entry { entry, step } = conversation.memory.steer(&message)? {
                (turn.entry, turn.step) = (entry, step);
                return Ok(());
            }
        }
        conversation.memory.record_answer(&answer)?;
        conversation.memory.finish_entry()?;
        self.turn = None;
        self.notify(&PlayerNotification::TurnFinished(answer), effects);
        Ok(())
    }

    fn play_failure(
        &mut self,
        failure: ScenarioFailure,
        effects: &mut Vec<PlayerEffect>,
    ) -> io::Result<()> {
        let (Some(conversation), Some(turn)) = (&mut self.conversation, &mut self.turn) else {
            return Ok(());
        };
        // A failure counts as played as soon as it happens, even a crash.
        conversation.memory.finish_entry()?;
        let failure = match failure {
            ScenarioFailure::RateLimit { end, detail } => {
                PlayerFailure::RateLimit { until: limit_end(end, (self.config.now)()), detail }
            }
            ScenarioFailure::Auth { detail } => PlayerFailure::Auth { detail },
            ScenarioFailure::Network { detail } => PlayerFailure::Network { detail },
            ScenarioFailure::Service { status, detail } => {
                PlayerFailure::Service { status, detail }
            }
            ScenarioFailure::Cut { detail } => PlayerFailure::Cut { detail },
            ScenarioFailure::UnknownModel { detail } => {
                PlayerFailure::UnknownModel { model: conversation.model.clone(), detail }
            }
            ScenarioFailure::Crash => {
                effects.push(PlayerEffect::Crash);
                turn.state = TurnState::Hanging(HangKind::Deaf);
                return Ok(());
            }
            ScenarioFailure::Hang(kind) => {
                turn.state = TurnState::Hanging(kind);
                return Ok(());
            }
        };
        self.fail(failure, effects);
        Ok(())
    }

    fn edit(&mut self, job: PlayerJob, now: Instant, effects: &mut Vec<PlayerEffect>) {
        let (PlayerJob::Write { path, .. } | PlayerJob::Patch { path, .. }) = &job else { return };
        let params = ApprovalParams::Edit { path: path.to_string_lossy().into_owned() };
        self.use_tool(PlayerToolUse::Edit(path.clone()), params, job, now, effects);
    }

    /// Starts a tool call, or requests approval for it.
    fn use_tool(
        &mut self,
        tool: PlayerToolUse,
        params: ApprovalParams,
        job: PlayerJob,
        now: Instant,
        effects: &mut Vec<PlayerEffect>,
    ) {
        let (Some(conversation), Some(turn)) = (&self.conversation, &self.turn) else { return };
        let call =
            format!("{}.{}.{}", conversation.memory.turn_number(), turn.entry + 1, turn.step + 1);
        self.notify(&PlayerNotification::ToolStarted { call: call.clone(), tool }, effects);
        self.last_job += 1;
        let id = PlayerJobId(self.last_job);
        let state = if needs_approval(conversation, &params) {
            let params = serde_json::to_value(params).unwrap_or_default();
            effects.push(PlayerEffect::Write(self.rpc.request(id, wire::APPROVE, params, now)));
            TurnState::AwaitingApproval(id, PendingTool { call, job })
        } else {
            effects.push(PlayerEffect::Start(id, job));
            TurnState::Working(id, call)
        };
        if let Some(turn) = &mut self.turn {
            turn.state = state;
        }
    }

    /// Handles the answer to an approval request.
    pub(super) fn handle_approval(
        &mut self,
        job: PlayerJobId,
        answer: ApprovalAnswer,
        now: Instant,
        effects: &mut Vec<PlayerEffect>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        let state = std::mem::replace(&mut turn.state, TurnState::Ready);
        let TurnState::AwaitingApproval(id, tool) = state else {
            turn.state = state;
            return;
        };
        if id != job {
            turn.state = TurnState::AwaitingApproval(id, tool);
            return;
        }
        turn.state = TurnState::Working(id, tool.call);
        match answer {
            ApprovalAnswer::Allow => effects.push(PlayerEffect::Start(id, tool.job)),
            ApprovalAnswer::Deny { reason } => {
                self.finish_job(id, JobOutcome::failed(reason), now, effects)
            }
        }
    }

    /// Reports the end of a tool call and continues with the next step.
    pub(super) fn finish_job(
        &mut self,
        job: PlayerJobId,
        outcome: JobOutcome,
        now: Instant,
        effects: &mut Vec<PlayerEffect>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        let TurnState::Working(id, call) = &turn.state else { return };
        if *id != job {
            return;
        }
        let call = call.clone();
        turn.output = outcome.output;
        self.notify(&PlayerNotification::ToolFinished { call, end: outcome.end }, effects);
        if let (Some(path), PlayerToolOutcome::Succeeded) = (outcome.changed, outcome.end) {
            self.notify(&PlayerNotification::FileChanged { path }, effects);
        }
        self.next_step();
        self.advance(now, effects);
    }

    pub(super) fn handle_tick(&mut self, now: Instant, effects: &mut Vec<PlayerEffect>) {
        let state = self.turn.as_ref().map(|turn| &turn.state);
        if matches!(state, Some(TurnState::Waiting(until)) if *until <= now) {
            self.next_step();
            self.advance(now, effects);
        }
    }
}

/// Everything needs approval except edits in the agent's folder and omx's own tools.
fn needs_approval(conversation: &OpenConversation, params: &ApprovalParams) -> bool {
    match params {
        _ if conversation.allow == AllowLevel::All => false,
        ApprovalParams::Edit { path } => {
            reach(&conversation.folder, Path::new(path)) == TargetLocation::Outside
        }
        ApprovalParams::Command { .. } => true,
        ApprovalParams::Tool { server, .. } => server != OWN_SERVER,
    }
}

fn usage_params(usage: UsageDelta) -> UsageParams {
    UsageParams {
        input: usage.input_tokens,
        cached: usage.cached_tokens,
        output: usage.output_tokens,
        micro_usd: usage.micro_usd,
    }
}

fn limit_end(end: LimitEnd, now: Timestamp) -> Option<i64> {
    match end {
        LimitEnd::Unknown => None,
        LimitEnd::At(moment) => Some(moment.millis()),
        LimitEnd::After(time) => {
            let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
            Some(now.millis().saturating_add(millis))
        }
    }
}
