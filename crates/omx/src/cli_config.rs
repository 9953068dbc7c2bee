//! Arguments of `config`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Later layers take precedence: defaults, user file, project files, environment, flags.

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
    /// List all values in effect
    List(ConfigListArgs),
    /// Print one value
    Get(ConfigGetArgs),
    /// Set a key in the user file, or in the project's
    Set(ConfigSetArgs),
    /// List the configuration files
    Path(ConfigListArgs),
    /// Print the JSON schema of the configuration
    Schema,
}

#[derive(Debug, Args)]
pub struct ConfigListArgs {
    /// Show where each value comes from
    #[arg(long)]
    pub show_origin: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ConfigGetArgs {
    /// The key, for example `team.maxAgents`
    pub key: String,
    /// Show where the value comes from
    #[arg(long)]
    pub show_origin: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ConfigSetArgs {
    /// The key, for example `team.maxAgents`
    pub key: String,
    /// The value
    pub value: String,
    /// Write to the project file instead of the user file
    #[arg(long)]
    pub project: bool,
}
