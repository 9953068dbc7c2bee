//! Arguments of the commands that install omx into hosts, check it and start hosts.

use std::ffi::OsString;

use clap::Args;
use omx_kernel::HostKind;

use crate::cli_values::{self, HostSelection};

/// Flags of setup and uninstall.
#[derive(Debug, Args)]
pub struct SetupFlags {
    /// Show the changes as a diff; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Setup installs hooks, the MCP server, roles, skills, a block of guidance and, if
you have none, a status line. It keeps your own settings byte for byte, and records
what it writes so that omx uninstall can remove it.

Examples:
  omx setup                            set up all installed agents
  omx setup --dry-run                  show the changes as a diff
  omx setup --host claude              set up one agent
  omx setup --scope project            set up this project only")]
pub struct SetupArgs {
    /// The agent to set up [default: all installed ones]
    #[arg(long, value_name = "HOST", value_parser = cli_values::hosts())]
    pub host: Option<HostSelection>,
    /// Set up all your projects, or this one
    #[arg(long, value_name = "SCOPE", value_parser = ["user", "project"], default_value = "user")]
    pub scope: String,
    #[command(flatten)]
    pub flags: SetupFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Uninstall restores the original bytes of your files. It keeps parts that you have
changed since, and names them.

Examples:
  omx uninstall                        remove omx from all agents
  omx uninstall --dry-run              show the changes as a diff
  omx uninstall --host codex           remove omx from one agent
  omx uninstall --scope project        remove what was set up for this project")]
pub struct UninstallArgs {
    /// The agent to remove omx from [default: all that were set up]
    #[arg(long, value_name = "HOST", value_parser = cli_values::hosts())]
    pub host: Option<HostSelection>,
    /// Remove the setup of all your projects, or of this one
    #[arg(long, value_name = "SCOPE", value_parser = ["user", "project"], default_value = "user")]
    pub scope: String,
    #[command(flatten)]
    pub flags: SetupFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx launch                           the configured agent, else the first installed
  omx launch claude
  omx launch codex -- --model gpt-5.5")]
pub struct LaunchArgs {
    /// The agent
    #[arg(value_name = "HOST", value_parser = cli_values::host())]
    pub host: Option<HostKind>,
    /// Arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Checks agents, git and tmux, the configuration, the project's state and documents,
what setup installed, the hooks and the MCP server (both are called), and leftovers
of ended runs. The exit status is 1 if a check fails; warnings do not count.

Examples:
  omx doctor
  omx doctor --fix                     apply the fixes that carry no risk
  omx doctor --json | jq '.findings[] | select(.level == \"failed\")'")]
pub struct DoctorArgs {
    /// Apply the fixes that carry no risk
    #[arg(long)]
    pub fix: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
