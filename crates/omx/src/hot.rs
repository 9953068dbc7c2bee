//! A short way in for commands that agents and prompts call all the time.
//!
//! Describing every command of the program takes longer than reading a
//! document. These few are parsed from a description of themselves alone; if
//! that does not fit (help, a mistake), the whole description is asked, so
//! that every word printed comes from one place.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use omx_host::HostKind;
use omx_kernel::Dialect;

use crate::cli::{CancelArgs, Cli, Command, Global, HudArgs, StateArgs, StatusArgs};

#[derive(Debug, Parser)]
#[command(version)]
struct HotCli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Hot,
}

#[derive(Debug, Subcommand)]
enum Hot {
    State(StateArgs),
    Status(StatusArgs),
    Hud(HudArgs),
    Cancel(CancelArgs),
}

impl From<Hot> for Command {
    fn from(hot: Hot) -> Self {
        match hot {
            Hot::State(args) => Self::State(args),
            Hot::Status(args) => Self::Status(args),
            Hot::Hud(args) => Self::Hud(args),
            Hot::Cancel(args) => Self::Cancel(args),
        }
    }
}

/// The command line, if it is one of these and right.
pub fn parse(args: &[OsString], dialect: Dialect) -> Option<Cli> {
    let name = args.get(1)?.to_str()?;
    if !matches!(name, "state" | "status" | "hud" | "cancel") {
        return None;
    }
    let command = HotCli::command().name(dialect.name).bin_name(dialect.name);
    let matches = command.try_get_matches_from(args).ok()?;
    let hot = HotCli::from_arg_matches(&matches).ok()?;
    Some(Cli { global: hot.global, command: Some(hot.command.into()) })
}

/// Whether a host calls, rightly or not; a person asks to explain.
pub fn is_hook(args: &[OsString]) -> bool {
    let word = |at: usize| args.get(at).and_then(|word| word.to_str());
    word(1) == Some("hook") && word(2) != Some("explain")
}

/// The host and event of a hook as hosts call it, if the line is just that: not
/// even a description is needed.
pub fn hook(args: &[OsString]) -> Option<(HostKind, Option<&str>)> {
    let [_, _, rest @ ..] = args else { return None };
    if !is_hook(args) {
        return None;
    }
    let words: Vec<&str> = rest.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    match words.as_slice() {
        ["--host", host] => Some((HostKind::parse(host)?, None)),
        ["--host", host, event] if !event.starts_with('-') => {
            Some((HostKind::parse(host)?, Some(event)))
        }
        _ => None,
    }
}
