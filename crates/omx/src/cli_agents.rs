//! Arguments of the commands that ask an agent and list what agents can use.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use omx_kernel::AgentKind;
use omx_kernel::approval::AllowLevel;

use crate::cli::JsonFlag;
use crate::cli_values;

#[derive(Debug, Args)]
#[command(after_help = "\
omx prints the answer and keeps it as an artifact of the project. With a role, the
agent answers with that role's structured result, as JSON.

Examples:
  omx ask codex \"why does the build take so long?\"
  omx ask claude --role critic \"is docs/plan.md good enough to build from?\"
  git diff | omx ask gemini -
  omx ask codex --resume 0199… \"and on Windows?\"
  omx ask rehearsal --scenario demo.toml \"anything\"")]
pub struct AskArgs {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = cli_values::agent())]
    pub agent: AgentKind,
    /// The question; `-` reads it from standard input
    pub prompt: String,
    /// Ask in this role (see: omx list roles)
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// The model [default: the one configured for the role's tier, else the agent's own]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// What the agent may do without asking [default: the configured level]
    #[arg(long, value_name = "LEVEL", value_parser = cli_values::allow())]
    pub allow: Option<AllowLevel>,
    /// Resume this conversation
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// The scenario that the rehearsal agent plays
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// Print each event as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx list agents
  omx list skills
  omx list show ralph
  omx list show critic > critic.md     start a role of your own")]
pub struct ListArgs {
    #[command(subcommand)]
    pub what: ListCommand,
}

#[derive(Debug, Subcommand)]
pub enum ListCommand {
    /// List the agents that omx can drive, with version and login
    Agents(JsonFlag),
    /// List the roles that an agent can take
    Roles(JsonFlag),
    /// List the skills that an agent can follow
    Skills(JsonFlag),
    /// List the modes and their phases
    Modes(JsonFlag),
    /// Print a role or skill as it is stored
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The name; role:NAME or skill:NAME if both exist
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
