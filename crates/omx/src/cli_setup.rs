//! The part of the command line that is about the hosts' own files.

use std::ffi::OsString;

use clap::Args;

const HOSTS: [&str; 4] = ["codex", "claude", "gemini", "all"];

/// How it is done and told, by both commands.
#[derive(Debug, Args)]
pub struct SetupFlags {
    /// Print what would be changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Writes hooks, the MCP server, agents, skills, a block of guidance and, where you
have none, a status line. What is yours stays as it is, byte for byte; what was
written where is remembered, and omx uninstall takes it out again.

Examples:
  omx setup                            for the agents that are installed
  omx setup --dry-run                  show what would be written, as a diff
  omx setup --host claude              for one of them
  omx setup --scope project            for this project only")]
pub struct SetupArgs {
    /// For which agent; without it, those that are installed
    #[arg(long, value_name = "HOST", value_parser = HOSTS)]
    pub host: Option<String>,
    /// For everything you do, or for this project
    #[arg(long, value_name = "SCOPE", value_parser = ["user", "project"], default_value = "user")]
    pub scope: String,
    #[command(flatten)]
    pub flags: SetupFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Your files get their original bytes back. A part of omx's that you have changed
since stays, and is named.

Examples:
  omx uninstall                        from all agents
  omx uninstall --dry-run              show what would be taken out, as a diff
  omx uninstall --host codex           from one of them
  omx uninstall --scope project        what was set up for this project")]
pub struct UninstallArgs {
    /// From which agent; without it, from all that were set up
    #[arg(long, value_name = "HOST", value_parser = HOSTS)]
    pub host: Option<String>,
    /// What was set up for everything, or for this project
    #[arg(long, value_name = "SCOPE", value_parser = ["user", "project"], default_value = "user")]
    pub scope: String,
    #[command(flatten)]
    pub flags: SetupFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx launch                           the configured agent, or the first installed
  omx launch claude
  omx launch codex -- --model gpt-5.5")]
pub struct LaunchArgs {
    /// Which agent
    #[arg(value_name = "HOST", value_parser = ["codex", "claude", "gemini"])]
    pub host: Option<String>,
    /// Arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
}
