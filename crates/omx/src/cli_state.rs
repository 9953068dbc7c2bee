//! Arguments of the commands that read, show and cancel the state of modes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

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
    /// Print a mode's document
    Read(StateInput),
    /// Merge fields into a mode's document
    Write(StateInput),
    /// Remove the document of a mode, or of every mode
    Clear(StateInput),
    /// List the active modes of one session, or of all
    #[command(alias = "list_active")]
    ListActive(StateInput),
    /// Print every document with its status
    #[command(alias = "get_status")]
    GetStatus(StateInput),
}

/// The request, from flags, a file or standard input.
#[derive(Debug, Default, Args)]
pub struct StateInput {
    /// The request as a JSON object; `-` reads it from standard input
    #[arg(long, value_name = "JSON", conflicts_with = "input_file", allow_hyphen_values = true)]
    pub input: Option<String>,
    /// Read the request from a file
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub input_file: Option<PathBuf>,
    /// The mode
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// The agent session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session_id: Option<String>,
    /// Print compact JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx limit 20                   the only one that is active
  omx limit 0199 20              a run or a session, by the start of its id
  omx limit --mode ralph 80")]
pub struct ModeLimitArgs {
    /// The run or session, by its id or a unique prefix of it, and the new limit
    #[arg(num_args = 1..=2, required = true, value_name = "[RUN|SESSION] N")]
    pub what: Vec<String>,
    /// The mode, if several are active there
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Show only this agent session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session_id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx hud
  tmux set -g status-right '#(cd #{pane_current_path} && omx hud --preset minimal)'")]
pub struct HudArgs {
    /// Level of detail [default: the configured hud.preset]
    #[arg(long, value_name = "PRESET", value_parser = ["minimal", "focused", "full"])]
    pub preset: Option<String>,
    /// Show only this agent session [default: the caller's own session, else all]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session_id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without a session id, omx cancels the only session that has active modes or, if no
session has any, the modes outside sessions.

Examples:
  omx cancel                          cancel what is active here
  omx cancel ralph                    cancel one mode and the modes linked to it
  omx cancel 01a1f3                   cancel one run or session by the start of its id
  omx cancel all                      cancel all sessions; delete nothing
  omx cancel --force                  cancel everything and clear all state files")]
pub struct CancelArgs {
    /// A mode, the id of a run or session or the start of one, or `all`
    #[arg(value_name = "WHAT")]
    pub what: Option<String>,
    /// Cancel only this agent session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub session_id: Option<String>,
    /// Cancel only this mode and the modes linked to it
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Cancel every session and clear all state files
    #[arg(long, visible_alias = "all", overrides_with = "force")]
    pub force: bool,
    /// Cancel every session; delete nothing
    #[arg(long)]
    pub every_session: bool,
    /// Stop the processes of what a hook cancelled
    #[arg(long, hide = true)]
    pub finish: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
