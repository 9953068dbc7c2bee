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
use crate::cli_state::{CancelArgs, HudArgs, StateArgs, StateInput, StateOperation, StatusArgs};
use crate::edge;

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
    if let Some(plain) = plain_state(args) {
        return Some(plain);
    }
    let command = HotCli::command().name(dialect.name).bin_name(dialect.name);
    let matches = command.try_get_matches_from(args).ok()?;
    let hot = HotCli::from_arg_matches(&matches).ok()?;
    Some(Cli { global: hot.global, command: Some(hot.command.into()) })
}

/// A state command as agents write it: the operation, then flags, each once and with its
/// value in the next word. Describing these few flags takes as long as a write.
fn plain_state(args: &[OsString]) -> Option<Cli> {
    let words: Vec<&str> = args.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let ["state", operation, flags @ ..] = words.as_slice() else { return None };
    let mut input = StateInput::default();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        let value = match *flag {
            "--json" if !input.json => {
                input.json = true;
                continue;
            }
            "--input" => &mut input.input,
            "--mode" => &mut input.mode,
            "--session-id" => &mut input.session_id,
            _ => return None,
        };
        // A value like a flag needs the rules for such values.
        let word = flags.next().filter(|word| **word == "-" || !word.starts_with('-'))?;
        if value.replace((*word).to_owned()).is_some() {
            return None;
        }
    }
    let operation = match *operation {
        "read" => StateOperation::Read(input),
        "write" => StateOperation::Write(input),
        "clear" => StateOperation::Clear(input),
        "list-active" => StateOperation::ListActive(input),
        "get-status" => StateOperation::GetStatus(input),
        _ => return None,
    };
    let command = Command::State(StateArgs { operation });
    Some(Cli { global: GlobalArgs::default(), command: Some(command) })
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
pub fn hook(args: &[OsString], by_name: Dialect) -> Option<HookCall<'_>> {
    let words: Vec<&str> = args.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let (dialect, rest) = match words.as_slice() {
        ["hook", rest @ ..] => (by_name, rest),
        ["--dialect", name, "hook", rest @ ..] => (Dialect::parse(name)?, rest),
        _ => return None,
    };
    match rest {
        ["--host", host] => Some(HookCall { dialect, host: HostKind::parse(host)?, event: None }),
        ["--host", host, event] if !event.starts_with('-') => {
            Some(HookCall { dialect, host: HostKind::parse(host)?, event: Some(event) })
        }
        _ => None,
    }
}

/// A hook as a host calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookCall<'a> {
    /// The dialect of the program's name or flag.
    pub dialect: Dialect,
    /// The host.
    pub host: HostKind,
    /// The event, if the host names it on the command line.
    pub event: Option<&'a str>,
}

/// The dialect in which usage and help are printed: of the flag, the environment or the
/// program's name. A wrong one is reported when the command runs.
pub fn help_dialect(args: &[OsString], by_name: Dialect) -> Dialect {
    let words: Vec<&str> = args.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let flag = words.windows(2).find(|pair| pair[0] == "--dialect").map(|pair| pair[1]);
    let attached = || words.iter().find_map(|word| word.strip_prefix("--dialect="));
    let flag = flag.or_else(attached).and_then(Dialect::parse);
    flag.or_else(edge::environment_dialect).unwrap_or(by_name)
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
        let found = hook(&call, Dialect::OMX);
        let wanted = HookCall { dialect: Dialect::OMX, host: HostKind::Codex, event: Some("Stop") };
        assert_eq!(found, Some(wanted));
        let call = args("omx --dialect omc hook --host codex Stop");
        assert_eq!(hook(&call, Dialect::OMX), Some(HookCall { dialect: Dialect::OMC, ..wanted }));
        for line in ["omx hook explain --host codex", "omx list --host codex", "omx hook --host"] {
            assert_eq!(hook(&args(line), Dialect::OMX), None, "{line}");
        }
    }

    #[test]
    fn a_plain_state_command_means_what_its_description_says() {
        for line in [
            "omx state read",
            "omx state list-active --json",
            "omx state get-status --session-id s1",
            "omx state write --input {} --mode ralph --session-id s1 --json",
            "omx state clear --json --input -",
            "omx state read --mode -",
        ] {
            let words = args(line);
            let described = Cli::try_parse_from(&words).unwrap();
            let plain = plain_state(&words).unwrap();
            assert_eq!(format!("{plain:?}"), format!("{described:?}"), "{line}");
        }
        for line in [
            "omx state",
            "omx state list_active",
            "omx state read --mode",
            "omx state read --mode --json",
            "omx state read --json --json",
            "omx state read --mode a --mode b",
            "omx state read --mode=ralph",
            "omx state write --input -1",
            "omx state read ralph",
            "omx --root /p state read",
            "omx status",
        ] {
            assert!(plain_state(&args(line)).is_none(), "{line}");
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
