//! The binary: arguments, environment, exit status, wording. It decides nothing.

mod children;
mod cli;
mod cli_agents;
mod cli_config;
mod cli_host;
mod cli_runs;
mod cli_setup;
mod cli_state;
mod cli_trust;
mod cli_values;
mod commands;
mod consent;
mod edge;
mod exit;
mod help;
mod hot;
mod launcher;
mod live;
mod output;
mod relay;
mod relayed_call;
mod sandbox;
mod terminal;
mod text;

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use clap::FromArgMatches;

use crate::cli::Cli;
use crate::exit::Exit;

fn main() -> ! {
    std::process::exit(run().code())
}

fn run() -> Exit {
    let args: Vec<OsString> = std::env::args_os().collect();
    let dialect = edge::dialect_of_name(args.first().cloned());
    if let Some(call) = hot::hook(&args, dialect) {
        return commands::hook::run(call.host, call.event, call.dialect);
    }
    let called_by_host = hot::is_hook(&args);
    if let Some(cli) = hot::parse(&args, dialect) {
        return commands::run(cli, dialect);
    }
    // The process exits soon: dropping the description would only cost time.
    let help_dialect = hot::help_dialect(&args, dialect);
    let mut command = ManuallyDrop::new(help::command(help_dialect));
    let parsed =
        command.try_get_matches_from_mut(args).and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => commands::run(cli, dialect),
        Err(error) => {
            // Help and version are answers; everything else is a usage error.
            let _ = error.print();
            if !error.use_stderr() {
                return Exit::Done;
            }
            if !error.render().to_string().contains("Usage: ") {
                output::note("");
                usage(ManuallyDrop::into_inner(command)).lines().for_each(output::note);
            }
            // To a host, the exit status of a usage error means "block".
            if called_by_host { Exit::Failed } else { Exit::Usage }
        }
    }
}

/// The usage of the command on the command line; some errors do not include it.
fn usage(mut command: clap::Command) -> String {
    command.build();
    for word in std::env::args_os().skip(1) {
        if let Some(inner) = command.find_subcommand(&word) {
            command = inner.clone();
        }
    }
    command.render_usage().to_string()
}
