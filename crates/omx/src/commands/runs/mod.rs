//! `runs`: list, show, follow, resume, answer and integrate runs.

mod answer;
mod attach;
mod find;
mod gc;
mod integrate;
mod limit;
mod list;
mod show;

use omx_kernel::Dialect;

pub use find::{find, find_to_resume};
pub use gc::sweep_daily;
pub use list::ps;

use super::conduct::drive::RunPlacement;
use super::conduct::resume_run;
use super::with_context;
use crate::cli::Global;
use crate::cli_runs::{RunsArgs, RunsOperation};
use crate::exit::Exit;
use crate::output::Format;

/// Runs an operation on runs.
pub fn run(args: RunsArgs, global: &Global, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json || wants_json(args.operation.as_ref()));
    with_context(global, by_name, format, |context| {
        let store = context.store()?;
        match args.operation {
            None | Some(RunsOperation::List(_)) => list::list(context, &store, format),
            Some(RunsOperation::Show(args)) => {
                show::show(context, &store, args.id.as_deref(), format)
            }
            Some(RunsOperation::Attach(args)) => {
                attach::attach(context, &store, args.id.as_deref(), format)
            }
            Some(RunsOperation::Answer(args)) => answer::answer(&store, &args),
            Some(RunsOperation::Limit(args)) => limit::limit(context, &store, &args),
            Some(RunsOperation::Drive(args)) => {
                let id = find(&store, args.id.as_deref())?;
                resume_run(context, &store, &id, &[], RunPlacement::Foreground, Format::Text)
            }
            Some(RunsOperation::Resume(args)) => {
                let id = find(&store, args.id.as_deref())?;
                let placement =
                    if args.detach { RunPlacement::Background } else { RunPlacement::Foreground };
                resume_run(context, &store, &id, &args.decide, placement, format)
            }
            Some(RunsOperation::Integrate(args)) => {
                integrate::integrate(context, &store, args.id.as_deref(), format)
            }
            Some(RunsOperation::Gc(_)) => gc::gc(context, &store, format),
        }
    })
}

fn wants_json(operation: Option<&RunsOperation>) -> bool {
    match operation {
        Some(RunsOperation::List(args) | RunsOperation::Gc(args)) => args.json,
        Some(
            RunsOperation::Show(args)
            | RunsOperation::Attach(args)
            | RunsOperation::Integrate(args)
            | RunsOperation::Drive(args),
        ) => args.json,
        Some(RunsOperation::Resume(args)) => args.json,
        Some(RunsOperation::Answer(_) | RunsOperation::Limit(_)) | None => false,
    }
}
