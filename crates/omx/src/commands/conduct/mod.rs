//! Commands that start a run.

pub mod agent;
mod announce;
pub mod drive;
pub mod request;
mod stopping;
mod summary;
mod workspace;

use std::collections::BTreeMap;

use omx_conductor::drive::EndedRun;
use omx_conductor::engine::{RunOutcome, StepDecision};
use omx_conductor::sandbox::SandboxSetup;
use omx_conductor::start::{self, OpenedRun, ResumedBy};
use omx_kernel::approval::AllowLevel;
use omx_kernel::{Dialect, GuardedAct, Mode, Refusal, RunId};
use omx_ops::config;
use omx_ops::{
    Context, RunChange, RunRequest, RunResumeRequest, RunSelector, find_complete, find_resumable,
    open_run, preset_stages, read_stages, record_change, require_own, run_resume, run_start,
};
use omx_store::Store;

use self::announce::announce_detached;
use self::drive::{RunPlacement, drive, permit_run};
use self::stopping::StopRequests;
pub(in crate::commands) use self::summary::{describe_absent, how_to_resume};
use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_runs::{CodeReviewArgs, ConductArgs, PipelineArgs, RunFlags, UltraqaArgs};
use crate::consent::ask_for_trust;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::sandbox::{self, UnconfinedConsent};

/// Runs a mode that needs only a task.
pub fn task(mode: Mode, args: ConductArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let request = RunRequest { task: args.task, ..RunRequest::new(mode) };
    run(request, &args.run, global, by_name)
}

/// Runs a review.
pub fn code_review(args: CodeReviewArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let default = || default_task(&args.run, "Review the change.".to_owned());
    let task = args.task.or_else(default);
    let request = RunRequest { task, base: args.base, ..RunRequest::new(Mode::CodeReview) };
    run(request, &args.run, global, by_name)
}

/// Runs a quality loop.
pub fn ultraqa(args: UltraqaArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let goal = request::goal(&args);
    let task = args.task.or_else(|| default_task(&args.run, goal.describe()));
    let request = RunRequest { task, goal, ..RunRequest::new(Mode::Ultraqa) };
    run(request, &args.run, global, by_name)
}

/// Runs a pipeline.
pub fn pipeline(args: PipelineArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let stages = match (&args.stages, &args.preset) {
        (Some(file), _) => read_stages(file),
        // A resumed run has its stages.
        (None, None) if args.run.resume.is_some() => Ok(Vec::new()),
        (None, preset) => preset_stages(preset.as_deref()),
    };
    match stages {
        Ok(stages) => {
            let task = args.task;
            let request = RunRequest { task, stages, ..RunRequest::new(Mode::Pipeline) };
            run(request, &args.run, global, by_name)
        }
        Err(refusal) => output::refusal(&refusal, Format::from_flag(args.run.json)),
    }
}

/// The task of a mode that needs none. A resumed run has one.
fn default_task(flags: &RunFlags, task: String) -> Option<String> {
    flags.resume.is_none().then_some(task)
}

fn run(request: RunRequest, flags: &RunFlags, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(flags.json);
    with_context(global, by_name, format, |context| {
        let mut context = context.clone();
        context.config.flags.extend(request::settings(Some(request.mode), &flags.change));
        let context = &context;
        let store = context.store()?;
        let placement = RunPlacement::from_flags(flags);
        ask_for_trust(context, &store)?;
        if let Some(id) = &flags.resume {
            let change = request::change(&request, flags)?;
            let id = find_resumable(context, &store, request.mode, id)?;
            if flags.detach {
                return resume_detached(context, &id, &flags.decide, change, format);
            }
            record_change(context, &store, &id, &change)?;
            let by = ResumedBy::Person;
            return resume_run(context, &store, &id, by, &flags.decide, placement, format);
        }
        let request = request::with_flags(request, flags)?;
        // Before anything is made: a refusal leaves nothing behind.
        let (setup, consent) = permit_unconfined(context, &store, flags)?;
        if flags.detach {
            let report = run_start(context, request)?;
            return announce_detached(context, &report, &setup, format);
        }
        // From here on a cancel can find the run, and its signal must not be deadly.
        let requests = StopRequests::listen(placement)?;
        let mut run = open_run(context, request)?;
        sandbox::record(consent, run.held.folder().path());
        let warnings = std::mem::take(&mut run.warnings);
        let opened = start::open(context, &store, run)?;
        drive(context, &store, opened, warnings, &requests, format)
    })
}

/// Resumes a run in another process.
pub fn resume_detached(
    context: &Context<'_>,
    id: &RunId,
    decide: &[String],
    change: RunChange,
    format: Format,
) -> Result<Exit, Refusal> {
    let run = RunSelector { project: None, id: Some(id.as_str().to_owned()) };
    let decisions = decide.to_vec();
    let request = RunResumeRequest { run, decisions, change, ..Default::default() };
    let report = run_resume(context, &request)?;
    let setup = sandbox::setup(context, &config::load_trusted(context, &context.store()?)?);
    announce_detached(context, &report, &setup, format)
}

/// Asks the person if this system cannot confine what a new run starts.
fn permit_unconfined(
    context: &Context<'_>,
    store: &Store,
    flags: &RunFlags,
) -> Result<(SandboxSetup, UnconfinedConsent), Refusal> {
    let config = config::load_trusted(context, store)?;
    let configured = config.get("allow").and_then(|setting| setting.value.as_str());
    let allow = flags.change.allow.or_else(|| AllowLevel::parse(configured?));
    let setup = sandbox::setup(context, &config);
    let confined = setup.check_confined_by(allow.unwrap_or(AllowLevel::Commands));
    let consent = sandbox::permit(context, &setup, confined, None)?;
    Ok((setup, consent))
}

/// Resumes a run and drives it.
pub fn resume_run(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    by: ResumedBy,
    decide: &[String],
    placement: RunPlacement,
    format: Format,
) -> Result<Exit, Refusal> {
    if let Some(seen) = find_complete(context, store, id)? {
        let outcome = RunOutcome::Complete(seen.why.raw().to_owned());
        let ended = EndedRun { outcome, usage: seen.usage };
        return summary::print(context, store, &seen.spec, id, &ended, &[], format);
    }
    let requests = StopRequests::listen(placement)?;
    let opened = open_again(context, store, id, by, decide)?;
    drive(context, store, opened, Vec::new(), &requests, format)
}

/// Opens a run again. Refuses what cannot be resumed.
pub fn open_again(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    by: ResumedBy,
    decide: &[String],
) -> Result<OpenedRun, Refusal> {
    context.check_act(GuardedAct::OfPerson("resume a run"))?;
    if let Some(folder) = store.run(id)? {
        require_own(context, &folder)?;
    }
    let opened = start::resume(context, store, id, by, &decisions(decide)?)?;
    let setup = sandbox::setup(context, &config::load_trusted(context, store)?);
    permit_run(context, &setup, &opened)?;
    Ok(opened)
}

fn decisions(words: &[String]) -> Result<BTreeMap<String, StepDecision>, Refusal> {
    let decision = |word: &String| match word.rsplit_once('=') {
        Some((step, "rerun")) => Ok((step.to_owned(), StepDecision::Rerun)),
        Some((step, "skip")) => Ok((step.to_owned(), StepDecision::Skip)),
        Some((step, "adopt")) => Ok((step.to_owned(), StepDecision::Adopt)),
        _ => Err(Refusal::invalid_input(format!(
            "decision {word:?}: expected STEP=rerun, STEP=skip or STEP=adopt"
        ))),
    };
    words.iter().map(decision).collect()
}
