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

use crate::cli::{Cli, Command, GlobalArgs};
use crate::cli_state::{CancelArgs, HudArgs, StateArgs, StatusArgs};

#[derive(Debug, Parser)]
#[command(version)]
struct HotCli {
    #[command(flatten)]
    global: GlobalArgs,
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

/// The flags every command takes, each with a value. They may precede the command.
const GLOBAL_FLAGS: [&str; 4] = ["--root", "--dialect", "--config", "-c"];

/// The arguments from the command's name on, without the global flags before it.
fn from_command(args: &[OsString]) -> &[OsString] {
    let mut rest = args.get(1..).unwrap_or_default();
    while let Some(flag) = rest.first().and_then(|word| word.to_str()) {
        let is_attached = |known: &&str| match known.strip_prefix("--") {
            Some(_) => flag.strip_prefix(*known).is_some_and(|value| value.starts_with('=')),
            None => flag.starts_with(*known),
        };
        let used = match flag {
            flag if GLOBAL_FLAGS.contains(&flag) => 2,
            _ if GLOBAL_FLAGS.iter().any(is_attached) => 1,
            _ => break,
        };
        rest = rest.get(used..).unwrap_or_default();
    }
    rest
}

/// Whether a host makes this call, with correct arguments or not. `hook explain` is
/// for people.
pub fn is_hook(args: &[OsString]) -> bool {
    let mut words = from_command(args).iter().map(|word| word.to_str());
    words.next() == Some(Some("hook")) && words.next() != Some(Some("explain"))
}

/// The host and event of a hook as hosts call it, if the line is just that: not
/// even a description is needed.
pub fn hook(args: &[OsString]) -> Option<(HostKind, Option<&str>)> {
    let [_, name, rest @ ..] = args else { return None };
    if name != "hook" {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn hosts_1_1_only_the_command_hook_is_a_hook() {
        for line in [
            "omx hook",
            "omx hook --host nope",
            "omx hook --host claude Stop",
            "omx --root /p hook --host nope",
            "omx --root=/p -c agent=codex -cagent=codex --config agent=codex hook",
            "omx --dialect omc hook --no-such-flag",
        ] {
            assert!(is_hook(&args(line)), "{line}");
        }
        for line in [
            "omx",
            "omx list show hook",
            "omx ask claude hook",
            "omx --root hook list",
            "omx --root",
            "omx hook explain ralph",
            "omx --root /p hook explain ralph",
            "omx --version hook",
            "omx config get hook",
        ] {
            assert!(!is_hook(&args(line)), "{line}");
        }
    }

    #[test]
    fn hosts_1_1_the_short_path_takes_exactly_what_hosts_call() {
        let call = args("omx hook --host codex Stop");
        assert_eq!(hook(&call), Some((HostKind::Codex, Some("Stop"))));
        for line in ["omx hook explain --host codex", "omx list --host codex", "omx hook --host"] {
            assert_eq!(hook(&args(line)), None, "{line}");
        }
    }

    #[test]
    fn global_flags_are_those_of_the_command_line() {
        let command = HotCli::command();
        let globals = command.get_arguments().filter(|arg| arg.is_global_set());
        let mut names: Vec<String> = globals
            .flat_map(|arg| {
                let long = arg.get_long().map(|name| format!("--{name}"));
                long.into_iter().chain(arg.get_short().map(|name| format!("-{name}")))
            })
            .collect();
        let mut known = GLOBAL_FLAGS.map(str::to_owned).to_vec();
        names.sort();
        known.sort();
        assert_eq!(names, known);
    }
}
