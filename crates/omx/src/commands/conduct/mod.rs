//! Commands that start a run of a mode.

mod agent;
pub mod drive;
mod presets;
pub mod request;
mod summary;

use std::collections::BTreeMap;

use omx_conductor::engine::StepDecision;
use omx_conductor::start;
use omx_kernel::{Dialect, Mode, Refusal, RunId, Timestamp};
use omx_ops::Context;
use omx_ops::config;
use omx_runs::workspace;
use omx_store::Store;

use self::drive::{RunPlacement, drive};
use super::runs::{find_to_resume, sweep_daily};
use super::with_context;
use crate::cli::Global;
use crate::cli_runs::{CodeReviewArgs, ConductArgs, PipelineArgs, RunFlags, UltraqaArgs};
use crate::edge;
use crate::exit::Exit;
use crate::output::Format;

/// What the command line asks for, without the flags of every run.
struct ModeRequest {
    mode: Mode,
    task: Option<String>,
    /// What the check command is to verify.
    goal: request::CheckGoal,
    stages: Vec<omx_runs::spec::PipelineStage>,
    /// The commit that a review starts from.
    base: Option<String>,
}

impl ModeRequest {
    fn plain(mode: Mode, task: Option<String>) -> Self {
        Self { mode, task, goal: request::CheckGoal::Project, stages: Vec::new(), base: None }
    }
}

/// Runs a mode that needs nothing but a task.
pub fn task(mode: Mode, args: ConductArgs, global: &Global, by_name: Dialect) -> Exit {
    run(&ModeRequest::plain(mode, args.task), &args.run, global, by_name)
}

/// Runs a review.
pub fn code_review(args: CodeReviewArgs, global: &Global, by_name: Dialect) -> Exit {
    let task = args.task.or_else(|| Some("Review the change.".to_owned()));
    let request = ModeRequest { base: args.base, ..ModeRequest::plain(Mode::CodeReview, task) };
    run(&request, &args.run, global, by_name)
}

/// Runs a quality loop.
pub fn ultraqa(args: UltraqaArgs, global: &Global, by_name: Dialect) -> Exit {
    let goal = request::CheckGoal::from_args(&args);
    let task = args.task.or_else(|| Some(goal.describe()));
    let request = ModeRequest { goal, ..ModeRequest::plain(Mode::Ultraqa, task) };
    run(&request, &args.run, global, by_name)
}

/// Runs a pipeline.
pub fn pipeline(args: PipelineArgs, global: &Global, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.run.json);
    let stages = match presets::stages(&args) {
        Ok(stages) => stages,
        Err(refusal) => return crate::output::refusal(&refusal, format),
    };
    let request = ModeRequest { stages, ..ModeRequest::plain(Mode::Pipeline, args.task) };
    run(&request, &args.run, global, by_name)
}

fn run(request: &ModeRequest, flags: &RunFlags, global: &Global, by_name: Dialect) -> Exit {
    let format = Format::from_flag(flags.json);
    with_context(global, by_name, format, |context| {
        let store = context.store()?;
        let placement = RunPlacement::from_flags(flags);
        if let Some(id) = &flags.resume {
            let id = find_to_resume(&store, request.mode, id)?;
            return resume_run(context, &store, &id, &flags.decide, placement, format);
        }
        let config = config::load(context, &store)?;
        let run_request = request::run_request(request, flags, context, &store, &config)?;
        let id = new_id(context.clock.now());
        let workspace = request::workspace(request, flags, context, &store, &id)?;
        let opened = start::begin(context, &store, &id, run_request, workspace)?;
        sweep_daily(context, &store);
        drive(context, &store, opened, placement, format)
    })
}

/// Opens a run again and drives it.
pub fn resume_run(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    decide: &[String],
    placement: RunPlacement,
    format: Format,
) -> Result<Exit, Refusal> {
    let opened = start::resume(context, store, id, &decisions(decide)?)?;
    let environment = edge::environment();
    let scratch = opened.held.folder().scratch()?;
    workspace::restore(
        &context.project_env(store, &environment),
        id,
        &opened.spec.workspace,
        scratch,
    )?;
    drive(context, store, opened, placement, format)
}

fn decisions(words: &[String]) -> Result<BTreeMap<String, StepDecision>, Refusal> {
    let decision = |word: &String| match word.rsplit_once('=') {
        Some((step, "rerun")) => Ok((step.to_owned(), StepDecision::Rerun)),
        Some((step, "skip")) => Ok((step.to_owned(), StepDecision::Skip)),
        _ => Err(Refusal::invalid_input(format!(
            "--decide {word:?}: expected STEP=rerun or STEP=skip"
        ))),
    };
    words.iter().map(decision).collect()
}

fn new_id(now: Timestamp) -> RunId {
    let mut random = [0; 10];
    random.copy_from_slice(&uuid::Uuid::new_v4().as_bytes()[..10]);
    RunId::from_parts(now, random)
}
