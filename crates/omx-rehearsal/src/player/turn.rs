//! A turn: the steps of an entry, one after another.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use omx_kernel::Timestamp;
use omx_kernel::approval::{AllowLevel, OWN_SERVER, TargetLocation};

use super::job::{Done, Job, JobId};
use super::machine::{Effect, Player, Stage};
use crate::memory::Taken;
use crate::scenario::{HangKind, LimitEnd, ScenarioAction, ScenarioFailure};
use crate::wire::{self, Answer, End, Failed, Spent, Told, Verdict, Wish, Work};
use omx_agents::approval::reach;
use omx_agents::event::Usage;

/// Stands for what the last tool said.
const OUTPUT: &str = "{{output}}";

/// A turn that runs.
#[derive(Debug)]
pub(super) struct Turn {
    entry: usize,
    step: usize,
    pub(super) doing: Doing,
    /// The last words, and those that are the answer in any case.
    said: Option<String>,
    answer: Option<String>,
    structured: Option<Value>,
    /// What the last tool said.
    output: String,
    /// Words said meanwhile that no entry has answered yet.
    pub(super) steered: VecDeque<String>,
}

/// What the turn waits for.
#[derive(Debug)]
pub(super) enum Doing {
    /// Nothing: the next step is due.
    Nothing,
    /// Leave to begin this job.
    Asking(JobId, Tool),
    /// The end of this job.
    Working(JobId, String),
    /// This moment.
    Waiting(Instant),
    /// Nothing will ever come.
    Hanging(HangKind),
}

/// A tool call that is under way.
#[derive(Debug)]
pub(super) struct Tool {
    call: String,
    job: Job,
}

impl Turn {
    pub(super) fn new(entry: usize, step: usize) -> Self {
        Self {
            entry,
            step,
            doing: Doing::Nothing,
            said: None,
            answer: None,
            structured: None,
            output: String::new(),
            steered: VecDeque::new(),
        }
    }

    fn answer(&self) -> Answer {
        let text = match (&self.answer, &self.said, &self.structured) {
            (Some(answer), _, _) => answer.clone(),
            (None, Some(said), _) => said.clone(),
            (None, None, Some(result)) => result.to_string(),
            (None, None, None) => String::new(),
        };
        Answer { text, structured: self.structured.clone() }
    }
}

impl Player {
    /// Plays on until something must be waited for.
    pub(super) fn advance(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        while self.turn.as_ref().is_some_and(|turn| matches!(turn.doing, Doing::Nothing)) {
            if let Err(error) = self.step(now, effects) {
                self.fail(Failed::Scenario { detail: error.to_string() }, effects);
            }
        }
    }

    fn step(&mut self, now: Instant, effects: &mut Vec<Effect>) -> io::Result<()> {
        let (Some(stage), Some(turn)) = (&mut self.stage, &mut self.turn) else { return Ok(()) };
        let entry = stage.memory.scenario().entries.get(turn.entry);
        let step = entry.and_then(|entry| entry.steps.get(turn.step)).cloned();
        let Some(step) = step else { return self.entry_over(effects) };
        // Kept before it is done: a killed agent must not do it twice if it
        // was over, and not leave it out if it was not.
        stage.memory.reach(turn.step)?;
        match step.action {
            ScenarioAction::Say(text) => {
                let text = text.replace(OUTPUT, &turn.output);
                turn.said = Some(text.clone());
                stage.memory.say(&text)?;
                self.tell(&Told::Said { text }, effects);
                self.next_step();
            }
            ScenarioAction::Answer(text) => {
                let text = text.replace(OUTPUT, &turn.output);
                turn.answer = Some(text.clone());
                stage.memory.say(&text)?;
                self.tell(&Told::Said { text }, effects);
                self.next_step();
            }
            ScenarioAction::Result(result) => {
                turn.structured = Some(result);
                self.next_step();
            }
            ScenarioAction::ReportUsage(usage) => {
                self.tell(&Told::Spent(spent(usage)), effects);
                self.next_step();
            }
            ScenarioAction::Delay(time) => turn.doing = Doing::Waiting(now + time),
            ScenarioAction::Fail(failure) => self.failed(failure, effects)?,
            ScenarioAction::Write { path, content } => {
                self.edit(Job::Write { path, content }, now, effects)
            }
            ScenarioAction::Patch { path, find, replace } => {
                self.edit(Job::Patch { path, find, replace }, now, effects);
            }
            ScenarioAction::Run { command } => {
                let wish = Wish::Command { command: command.clone() };
                let work = Work::Command(command.clone());
                self.use_tool(work, wish, Job::Run { command }, now, effects);
            }
            ScenarioAction::Mcp { server, tool, args, timeout } => {
                let found = stage.servers.iter().find(|found| found.name == server).cloned();
                let wish = Wish::Tool { server: server.clone(), tool: tool.clone() };
                let work = Work::Mcp { server: server.clone(), tool: tool.clone() };
                let job = match found {
                    Some(server) => Job::Mcp { server, tool, args, timeout },
                    None => Job::Refuse(format!("there is no MCP server {server:?}")),
                };
                self.use_tool(work, wish, job, now, effects);
            }
        }
        Ok(())
    }

    fn next_step(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.step += 1;
            turn.doing = Doing::Nothing;
        }
    }

    /// All steps are done: on with words that were said meanwhile, or the end.
    fn entry_over(&mut self, effects: &mut Vec<Effect>) -> io::Result<()> {
        let (Some(stage), Some(turn)) = (&mut self.stage, &mut self.turn) else { return Ok(()) };
        let answer = turn.answer();
        while let Some(words) = turn.steered.pop_front() {
            if let Taken::Entry { entry, step } = stage.memory.take_for_words(&words)? {
                (turn.entry, turn.step) = (entry, step);
                return Ok(());
            }
        }
        stage.memory.answer(&answer)?;
        stage.memory.finish()?;
        self.turn = None;
        self.tell(&Told::TurnFinished(answer), effects);
        Ok(())
    }

    fn failed(&mut self, failure: ScenarioFailure, effects: &mut Vec<Effect>) -> io::Result<()> {
        let (Some(stage), Some(turn)) = (&mut self.stage, &mut self.turn) else { return Ok(()) };
        // A failure is played by happening, whatever becomes of the agent.
        stage.memory.finish()?;
        let failed = match failure {
            ScenarioFailure::RateLimit { end, detail } => {
                Failed::RateLimit { until: limit_end(end, (self.setup.now)()), detail }
            }
            ScenarioFailure::Auth { detail } => Failed::Auth { detail },
            ScenarioFailure::Network { detail } => Failed::Network { detail },
            ScenarioFailure::Service { status, detail } => Failed::Service { status, detail },
            ScenarioFailure::Cut { detail } => Failed::Cut { detail },
            ScenarioFailure::UnknownModel { detail } => {
                Failed::UnknownModel { model: stage.model.clone(), detail }
            }
            ScenarioFailure::Crash => {
                effects.push(Effect::Die);
                turn.doing = Doing::Hanging(HangKind::Deaf);
                return Ok(());
            }
            ScenarioFailure::Hang(ears) => {
                turn.doing = Doing::Hanging(ears);
                return Ok(());
            }
        };
        self.fail(failed, effects);
        Ok(())
    }

    fn edit(&mut self, job: Job, now: Instant, effects: &mut Vec<Effect>) {
        let (Job::Write { path, .. } | Job::Patch { path, .. }) = &job else { return };
        let wish = Wish::Edit { path: path.to_string_lossy().into_owned() };
        self.use_tool(Work::Edit(path.clone()), wish, job, now, effects);
    }

    /// Begins a tool call: at once if it needs no leave.
    fn use_tool(
        &mut self,
        tool: Work,
        wish: Wish,
        job: Job,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let (Some(stage), Some(turn)) = (&self.stage, &self.turn) else { return };
        let call = format!("{}.{}.{}", stage.memory.turn(), turn.entry + 1, turn.step + 1);
        self.tell(&Told::ToolStarted { call: call.clone(), tool }, effects);
        self.last_job += 1;
        let id = JobId(self.last_job);
        let doing = if needs_leave(stage, &wish) {
            let wish = serde_json::to_value(wish).unwrap_or_default();
            effects.push(Effect::Write(self.rpc.request(id, wire::APPROVE, wish, now)));
            Doing::Asking(id, Tool { call, job })
        } else {
            effects.push(Effect::Begin(id, job));
            Doing::Working(id, call)
        };
        if let Some(turn) = &mut self.turn {
            turn.doing = doing;
        }
    }

    /// The owner has decided.
    pub(super) fn answered(
        &mut self,
        asked: JobId,
        verdict: Verdict,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        let doing = std::mem::replace(&mut turn.doing, Doing::Nothing);
        let Doing::Asking(id, tool) = doing else {
            turn.doing = doing;
            return;
        };
        if id != asked {
            turn.doing = Doing::Asking(id, tool);
            return;
        }
        turn.doing = Doing::Working(id, tool.call);
        match verdict {
            Verdict::Allow => effects.push(Effect::Begin(id, tool.job)),
            Verdict::Deny { reason } => self.job_done(id, Done::failed(reason), now, effects),
        }
    }

    /// A tool is done: told, and on with the next step.
    pub(super) fn job_done(
        &mut self,
        job: JobId,
        done: Done,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        let Doing::Working(id, call) = &turn.doing else { return };
        if *id != job {
            return;
        }
        let call = call.clone();
        turn.output = done.output;
        self.tell(&Told::ToolFinished { call, end: done.end }, effects);
        if let (Some(path), End::Succeeded) = (done.changed, done.end) {
            self.tell(&Told::FileChanged { path }, effects);
        }
        self.next_step();
        self.advance(now, effects);
    }

    pub(super) fn time_passed(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let doing = self.turn.as_ref().map(|turn| &turn.doing);
        if matches!(doing, Some(Doing::Waiting(until)) if *until <= now) {
            self.next_step();
            self.advance(now, effects);
        }
    }
}

/// The agent asks for everything except edits in its folder and omx's own tools.
fn needs_leave(stage: &Stage, wish: &Wish) -> bool {
    match wish {
        _ if stage.allow == AllowLevel::All => false,
        Wish::Edit { path } => reach(&stage.folder, Path::new(path)) == TargetLocation::Outside,
        Wish::Command { .. } => true,
        Wish::Tool { server, .. } => server != OWN_SERVER,
    }
}

fn spent(usage: Usage) -> Spent {
    Spent {
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
