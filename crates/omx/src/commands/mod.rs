//! One file for each command.

mod ask;
mod cancel;
mod conduct;
mod config;
mod demo;
mod doctor;
mod guard;
pub mod hook;
mod hud;
mod launch;
mod limit;
mod list;
mod mcp;
mod pages;
mod rehearsal_agent;
mod runs;
mod setup;
mod state;
mod status;
mod trust;

pub use conduct::agent::find_agent;
pub use conduct::open_again;
use omx_kernel::{Dialect, Mode, Refusal, Value};
use omx_ops::{Context, RequestFields};

use crate::cli::{Cli, Command, GlobalArgs};
use crate::cli_host::HookCommand;
use crate::cli_runs::{RunsArgs, RunsListArgs, RunsOperation};
use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};

/// Runs a command.
pub fn run(cli: Cli, by_name: Dialect) -> Exit {
    let global = cli.global;
    // A wrong dialect in the environment does not keep pages from being printed.
    let page_dialect = || edge::dialect(&global, by_name).unwrap_or(by_name);
    match cli.command {
        None => status::overview(&global, by_name),
        Some(Command::State(args)) => state::run(args.operation, &global, by_name),
        Some(Command::Status(args)) => status::run(&args, &global, by_name),
        Some(Command::Hud(args)) => hud::run(&args, &global, by_name),
        Some(Command::Cancel(args)) => cancel::run(&args, &global, by_name),
        Some(Command::Resume(args)) => {
            let list = RunsListArgs { all: false, json: args.json };
            let operation = Some(RunsOperation::Resume(args));
            runs::run(RunsArgs { operation, list }, &global, by_name)
        }
        Some(Command::Limit(args)) => limit::run(&args, &global, by_name),
        Some(Command::Config(args)) => config::run(args.operation, &global, by_name),
        Some(Command::Trust(args)) => trust::run(&args, &global, by_name),
        Some(Command::Autopilot(args)) => conduct::task(Mode::Autopilot, args, &global, by_name),
        Some(Command::Ralph(args)) => conduct::task(Mode::Ralph, args, &global, by_name),
        Some(Command::Ralplan(args)) => conduct::task(Mode::Ralplan, args, &global, by_name),
        Some(Command::CodeReview(args)) => conduct::code_review(args, &global, by_name),
        Some(Command::Ultraqa(args)) => conduct::ultraqa(args, &global, by_name),
        Some(Command::Pipeline(args)) => conduct::pipeline(args, &global, by_name),
        Some(Command::Runs(args)) => runs::run(args, &global, by_name),
        Some(Command::Ps(flag)) => runs::ps(flag.json, &global, by_name),
        Some(Command::Ask(args)) => ask::run(&args, &global, by_name),
        Some(Command::List(args)) => list::run(args.what, &global, by_name),
        Some(Command::Mcp(args)) => mcp::run(&args, &global, by_name),
        Some(Command::Setup(args)) => setup::run(&args, &global, by_name),
        Some(Command::Uninstall(args)) => setup::uninstall(&args, &global, by_name),
        Some(Command::Launch(args)) => launch::run(&args, &global, by_name),
        Some(Command::Doctor(args)) => doctor::run(&args, &global, by_name),
        Some(Command::Demo(args)) => demo::run(&args, by_name),
        Some(Command::Guard(args)) => guard::run(&args),
        Some(Command::RehearsalAgent(args)) => rehearsal_agent::run(args),
        Some(Command::Hook(args)) => match args.what {
            Some(HookCommand::Explain(args)) => {
                hook::explain(&args.prompt.join(" "), &global, by_name)
            }
            None => match args.host {
                Some(host) => {
                    hook::run(host, args.event.as_deref(), global.dialect.unwrap_or(by_name))
                }
                None => Exit::Failed,
            },
        },
        Some(Command::Version(flag)) => {
            pages::version(Format::from_flag(flag.json), &global, by_name)
        }
        Some(Command::Completions(args)) => pages::completions(args.shell, page_dialect()),
        Some(Command::Man(args)) => pages::man(args.dir.as_deref(), page_dialect()),
    }
}

/// Runs an operation in the context of the command line and prints its refusal, if any.
fn with_context(
    global: &GlobalArgs,
    by_name: Dialect,
    format: Format,
    operation: impl FnOnce(&Context<'_>) -> Result<Exit, Refusal>,
) -> Exit {
    edge::context(global, by_name, "cli")
        .and_then(|context| operation(&context))
        .unwrap_or_else(|refusal| output::refusal(&refusal, format))
}

/// Sets the request fields that flags stand for.
fn set_flags(input: &mut RequestFields, flags: &[(&str, Option<&String>)]) -> Result<(), Refusal> {
    for (name, value) in flags {
        if let Some(value) = value {
            input.set(name, Value::string(value))?;
        }
    }
    Ok(())
}
