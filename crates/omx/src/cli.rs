//! The command line as one table: help, man page and completions come from here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};

use crate::cli_host::HookArgs;
use crate::cli_runs::{CodeReviewArgs, ConductArgs, PipelineArgs, RunsArgs, UltraqaArgs};
use crate::cli_setup::{LaunchArgs, SetupArgs, UninstallArgs};
use crate::exit;

/// Durable workflows, teams and control for the coding agent you already use.
#[derive(Debug, Parser)]
#[command(name = "omx", version, max_term_width = 100, after_help = exit::AFTER_HELP)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags of every command.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// The project's folder, instead of searching for it
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Names to use: omx or omc
    #[arg(long, global = true, value_name = "NAME", value_parser = ["omx", "omc"])]
    pub dialect: Option<String>,
    /// Set a configuration key for this call
    #[arg(long = "config", short = 'c', global = true, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read, write and list the state of modes
    State(StateArgs),
    /// Show what is active, and whether a stop would be held
    Status(StatusArgs),
    /// Print one line that says what runs, for a prompt or a status bar
    Hud(HudArgs),
    /// Cancel what is active
    Cancel(CancelArgs),
    /// Show and change the configuration
    Config(ConfigArgs),
    /// Plan, build and review a task until the review is clean
    Autopilot(ConductArgs),
    /// Work on a task until it is done and verified
    Ralph(ConductArgs),
    /// Plan a task until architect and critic agree
    Ralplan(ConductArgs),
    /// Let two reviewers look at a change
    CodeReview(CodeReviewArgs),
    /// Run a check, mend what fails, and again
    Ultraqa(UltraqaArgs),
    /// Hand a task through a line of roles
    Pipeline(PipelineArgs),
    /// List, follow, resume and integrate runs
    Runs(RunsArgs),
    /// List what runs in all projects
    Ps(JsonFlag),
    /// Ask an agent one thing
    Ask(AskArgs),
    /// List agents, roles, skills and modes, or show one
    List(ListArgs),
    /// Serve the MCP tools over standard input and output
    Mcp(McpArgs),
    /// Answer a host's event, or explain what a prompt would start
    Hook(HookArgs),
    /// Make omx known to the agents you use
    Setup(SetupArgs),
    /// Take omx out of the agents' files again
    Uninstall(UninstallArgs),
    /// Start an agent in this terminal
    Launch(LaunchArgs),
    /// Check that everything works, and say what to do where it does not
    Doctor(DoctorArgs),
    /// Show what omx does, in a throw-away folder
    Demo(DemoArgs),
    /// Run a program and end everything it started
    #[command(hide = true)]
    Guard(GuardArgs),
    /// Play a scenario instead of asking a model
    #[command(hide = true)]
    RehearsalAgent(RehearsalAgentArgs),
    /// Print the version
    Version(JsonFlag),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them into a folder
    Man(ManArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx state write --input '{\"mode\":\"ralph\",\"active\":true,\"current_phase\":\"executing\"}' --json
  omx state read --mode ralph --json
  omx state clear --input '{\"mode\":\"ralph\",\"all_sessions\":true}'
  omx state list-active")]
pub struct StateArgs {
    #[command(subcommand)]
    pub operation: StateOperation,
}

#[derive(Debug, Subcommand)]
pub enum StateOperation {
    /// Print one mode's document
    Read(StateInput),
    /// Merge fields into one mode's document
    Write(StateInput),
    /// Remove one mode's document
    Clear(StateInput),
    /// List the active modes of a session, or of all
    ListActive(StateInput),
    /// Print every document with its state
    GetStatus(StateInput),
}

/// How a request is given.
#[derive(Debug, Args)]
pub struct StateInput {
    /// The request as a JSON object; `-` reads it from standard input
    #[arg(long, value_name = "JSON", conflicts_with = "input_file", allow_hyphen_values = true)]
    pub input: Option<String>,
    /// The request from a file
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub input_file: Option<PathBuf>,
    /// The mode
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// The agent session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session_id: Option<String>,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Only this agent session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session_id: Option<String>,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx hud
  tmux set -g status-right '#(cd #{pane_current_path} && omx hud --preset minimal)'")]
pub struct HudArgs {
    /// How much it says; without it, as configured (hud.preset)
    #[arg(long, value_name = "PRESET", value_parser = ["minimal", "focused", "full"])]
    pub preset: Option<String>,
    /// Only this agent session; without it, the caller's own, or all
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session_id: Option<String>,
    /// Answer with one compact line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without a session id: the only session in which something is active, or, if
nothing is active in any session, the modes outside sessions.

Examples:
  omx cancel                          what runs here
  omx cancel --mode ralph             one mode and what is linked to it
  omx cancel --every-session          in all sessions; nothing is deleted
  omx cancel --force                  everything, and clear all state files")]
pub struct CancelArgs {
    /// Only this agent session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session_id: Option<String>,
    /// Only this mode and what is linked to it
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Cancel every session and clear all state files
    #[arg(long, visible_alias = "all")]
    pub force: bool,
    /// Cancel in every session; delete nothing
    #[arg(long)]
    pub every_session: bool,
    /// Stop what is left running of a session that a hook cancelled
    #[arg(long, hide = true, requires = "session_id")]
    pub finish: bool,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Later layers win: defaults, the user's file, the project's files, environment, flags.

Examples:
  omx config list --show-origin
  omx config get keywords
  omx config set agent codex
  omx config set limits.max_iterations.ralph 20 --project")]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub operation: ConfigOperation,
}

#[derive(Debug, Subcommand)]
pub enum ConfigOperation {
    /// Print every value in force
    List(ConfigListArgs),
    /// Print one value
    Get(ConfigGetArgs),
    /// Set a key in the user's file, or in the project's
    Set(ConfigSetArgs),
    /// Print where configuration is looked for
    Path(ConfigListArgs),
    /// Print the JSON schema of the configuration
    Schema,
}

#[derive(Debug, Args)]
pub struct ConfigListArgs {
    /// Say where it comes from
    #[arg(long)]
    pub show_origin: bool,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ConfigGetArgs {
    /// The key, for example `team.maxAgents`
    pub key: String,
    /// Say where the value comes from
    #[arg(long)]
    pub show_origin: bool,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ConfigSetArgs {
    /// The key, for example `team.maxAgents`
    pub key: String,
    /// The value
    pub value: String,
    /// In the project's file instead of the user's
    #[arg(long)]
    pub project: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The answer goes to standard output and is kept under .omx/artifacts/. With a
role the agent answers with that role's result, as JSON.

Examples:
  omx ask codex \"why does the build take so long?\"
  omx ask claude --role critic \"is docs/plan.md good enough to build from?\"
  git diff | omx ask gemini -
  omx ask codex --resume 0199… \"and on Windows?\"
  omx ask rehearsal --scenario demo.toml \"anything\"")]
pub struct AskArgs {
    /// Which agent
    #[arg(value_name = "AGENT", value_parser = ["codex", "claude", "gemini", "rehearsal"])]
    pub agent: String,
    /// What to ask; `-` reads it from standard input
    pub prompt: String,
    /// Answer in this role (see: omx list roles)
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// The model; without it, the role's tier as configured, else the agent's own
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// What the agent may do unasked; without it, as configured
    #[arg(long, value_name = "WHAT", value_parser = ["edits", "commands", "all"])]
    pub allow: Option<String>,
    /// Go on with this conversation
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// What the rehearsal agent plays
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// Print every event as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx list agents
  omx list skills
  omx list show ralph
  omx list show critic > critic.md     begin a role of your own")]
pub struct ListArgs {
    #[command(subcommand)]
    pub what: ListCommand,
}

#[derive(Debug, Subcommand)]
pub enum ListCommand {
    /// The agents omx can drive: installed, version, logged in
    Agents(JsonFlag),
    /// The roles an agent can take
    Roles(JsonFlag),
    /// The skills an agent can follow
    Skills(JsonFlag),
    /// The modes and their phases
    Modes(JsonFlag),
    /// Print one role or skill as it is stored
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Its name; role:NAME or skill:NAME where there are both
    pub name: String,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// Serve only these groups of tools, separated by commas
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', default_value = "state")]
    pub tools: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Looks at agents, git and tmux, the configuration, the project's store and its
documents, what omx setup wrote, the hooks and the MCP server (both are called),
and at what ended runs left behind. Exit code 1 when something does not work;
warnings do not count.

Examples:
  omx doctor
  omx doctor --fix                     put right what can be without risk
  omx doctor --json | jq '.findings[] | select(.level == \"failed\")'")]
pub struct DoctorArgs {
    /// Put right what can be put right without risk
    #[arg(long)]
    pub fix: bool,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Play something else, to see the demo notice
    #[arg(long, hide = true, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
}

/// Started by omx itself, between it and an agent.
#[derive(Debug, Args)]
pub struct GuardArgs {
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// Started by omx itself, as it starts other agents.
#[derive(Debug, Args)]
pub struct RehearsalAgentArgs {
    /// The scenario, a TOML or JSON file
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub scenario: PathBuf,
    /// Where conversations are kept
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct JsonFlag {
    /// Answer with one compact line
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
    /// Write one page for each command into this folder
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
