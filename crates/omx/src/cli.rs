//! The command line as one table: help, man pages and completions come from here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use omx_kernel::Dialect;

use crate::cli_agents::{AskArgs, ListArgs};
use crate::cli_config::ConfigArgs;
use crate::cli_host::HookArgs;
use crate::cli_runs::{
    CodeReviewArgs, ConductArgs, PipelineArgs, ResumeArgs, RunsArgs, UltraqaArgs,
};
use crate::cli_setup::{DoctorArgs, LaunchArgs, SetupArgs, UninstallArgs};
use crate::cli_state::{CancelArgs, HudArgs, ModeLimitArgs, StateArgs, StatusArgs};
use crate::cli_trust::TrustArgs;
use crate::cli_values;
use crate::exit;

/// Durable workflows, teams and control for the coding agent you already use.
#[derive(Debug, Parser)]
#[command(name = "omx", version, max_term_width = 100, after_help = exit::AFTER_HELP)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags of every command.
#[derive(Debug, Clone, Default, Args)]
pub struct GlobalArgs {
    /// Use this project folder instead of searching for one
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Use the folders, variables and words of this dialect
    #[arg(long, global = true, value_name = "NAME", value_parser = cli_values::dialect())]
    pub dialect: Option<Dialect>,
    /// Set a configuration key for this command
    #[arg(long = "config", short = 'c', global = true, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read, write and list the state of modes
    State(StateArgs),
    /// Show active modes, and whether a Stop is held
    Status(StatusArgs),
    /// Print a one-line status for a prompt or a status bar
    Hud(HudArgs),
    /// Cancel active modes and stop their runs
    #[command(visible_alias = "stop")]
    Cancel(CancelArgs),
    /// Resume an unfinished run
    Resume(Box<ResumeArgs>),
    /// Change the iteration limit of a run, or of a mode inside a conversation
    Limit(ModeLimitArgs),
    /// Show and change the configuration
    Config(ConfigArgs),
    /// Trust the configuration of a project
    Trust(TrustArgs),
    /// Plan, build and review a task until the review is clean
    Autopilot(ConductArgs),
    /// Work on a task until it is done and verified
    Ralph(ConductArgs),
    /// Plan a task until architect and critic approve the plan
    Ralplan(ConductArgs),
    /// Review a change with two reviewers
    CodeReview(CodeReviewArgs),
    /// Run a check and fix what fails until it passes
    Ultraqa(UltraqaArgs),
    /// Pass a task through a sequence of roles
    Pipeline(PipelineArgs),
    /// List, follow, resume and integrate runs
    Runs(RunsArgs),
    /// List the live runs of all projects
    Ps(JsonFlag),
    /// Ask an agent one question
    Ask(AskArgs),
    /// List agents, roles, skills and modes, or show one
    List(ListArgs),
    /// Serve MCP tools over standard input and output
    Mcp(McpArgs),
    /// Answer a host's hook event, or explain what a prompt would start
    Hook(HookArgs),
    /// Install hooks, tools, roles and skills into the agents you use
    Setup(SetupArgs),
    /// Remove what setup installed
    Uninstall(UninstallArgs),
    /// Start an agent in this terminal
    Launch(LaunchArgs),
    /// Check the installation, and suggest or apply fixes
    Doctor(DoctorArgs),
    /// Show what omx does, in a throw-away folder
    Demo(DemoArgs),
    /// Run a program and terminate everything it starts
    #[command(hide = true)]
    Guard(GuardArgs),
    /// Play a scenario instead of calling a model
    #[command(hide = true)]
    RehearsalAgent(RehearsalAgentArgs),
    /// Print the version
    Version(JsonFlag),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page, or write all pages to a folder
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// Serve only these groups of tools, separated by commas
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', default_value = "state,runs")]
    pub tools: Vec<String>,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Play this scenario instead of the built-in one
    #[arg(long, hide = true, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
}

/// omx starts this itself, between it and an agent.
#[derive(Debug, Args)]
pub struct GuardArgs {
    /// Whom the program works for, to be seen by what it starts
    #[arg(long = "for", value_name = "CONTEXT")]
    pub context: Option<OsString>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// omx starts this itself, as it starts other agents.
#[derive(Debug, Args)]
pub struct RehearsalAgentArgs {
    /// The scenario, a TOML file
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub scenario: PathBuf,
    /// The folder that keeps the conversations
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct JsonFlag {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx completions bash > ~/.local/share/bash-completion/completions/omx
  omx completions zsh > ~/.zfunc/_omx")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write one page per command to this folder
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
