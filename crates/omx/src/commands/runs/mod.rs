//! `runs`: list, show, follow, resume, answer, integrate and discard runs.

mod adopt;
mod answer;
mod attach;
mod discard;
mod gc;
mod integrate;
mod limit;
mod list;
mod show;

use omx_conductor::start::ResumedBy;
use omx_kernel::Dialect;
use omx_ops::{RunSelector, find_run, find_unfinished, record_change};
use omx_runs::listing::ListRange;

pub use limit::limit_line;
pub use list::ps;

use super::conduct::drive::RunPlacement;
use super::conduct::request::{run_change, settings};
use super::conduct::{resume_detached, resume_run};
use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_runs::{RunArgs, RunsArgs, RunsListArgs, RunsOperation};
use crate::consent::ask_for_trust;
use crate::exit::Exit;
use crate::output::Format;

/// Runs an operation on runs.
pub fn run(args: RunsArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.list.json || wants_json(args.operation.as_ref()));
    with_context(global, by_name, format, |context| {
        let store = context.store()?;
        match args.operation {
            None => list::list(context, range(&args.list), format),
            Some(RunsOperation::List(args)) => list::list(context, range(&args), format),
            Some(RunsOperation::Show(args)) => show::show(context, &selector(args), format),
            Some(RunsOperation::Attach(args)) => {
                attach::attach(context, &store, args.id.as_deref(), format)
            }
            Some(RunsOperation::Answer(args)) => answer::answer(context, args, format),
            Some(RunsOperation::Limit(args)) => limit::limit(context, args, format),
            Some(RunsOperation::Drive(args)) => {
                let id = find_run(&store, Some(&args.id))?;
                let placement = RunPlacement::Foreground;
                let by = ResumedBy::Driver;
                resume_run(context, &store, &id, by, &args.decide, placement, Format::Text)
            }
            Some(RunsOperation::Resume(args)) => {
                let mut context = context.clone();
                context.config.flags.extend(settings(None, &args.change));
                let context = &context;
                ask_for_trust(context, &store)?;
                let id = find_unfinished(context, &store, args.id.as_deref())?;
                let change = run_change(&args.change)?;
                if args.detach {
                    return resume_detached(context, &id, &args.decide, change, format);
                }
                record_change(context, &store, &id, &change)?;
                let placement = RunPlacement::Foreground;
                resume_run(context, &store, &id, ResumedBy::Person, &args.decide, placement, format)
            }
            Some(RunsOperation::Integrate(args)) => integrate::integrate(context, args, format),
            Some(RunsOperation::Discard(args)) => discard::discard(context, args, format),
            Some(RunsOperation::Adopt(args)) => adopt::adopt(context, args, format),
            Some(RunsOperation::Gc(_)) => gc::gc(context, format),
        }
    })
}

fn range(args: &RunsListArgs) -> ListRange {
    if args.all { ListRange::All } else { ListRange::Recent }
}

fn selector(args: RunArgs) -> RunSelector {
    RunSelector { project: None, id: args.id }
}

fn wants_json(operation: Option<&RunsOperation>) -> bool {
    match operation {
        Some(RunsOperation::List(args)) => args.json,
        Some(RunsOperation::Gc(args)) => args.json,
        Some(RunsOperation::Show(args) | RunsOperation::Attach(args)) => args.json,
        Some(RunsOperation::Integrate(args)) => args.json,
        Some(RunsOperation::Resume(args)) => args.json,
        Some(RunsOperation::Answer(args)) => args.json,
        Some(RunsOperation::Limit(args)) => args.json,
        Some(RunsOperation::Discard(args)) => args.json,
        Some(RunsOperation::Adopt(args)) => args.json,
        Some(RunsOperation::Drive(_)) | None => false,
    }
}
