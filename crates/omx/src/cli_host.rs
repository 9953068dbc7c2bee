//! Arguments of `hook`, which hosts call.

use clap::{Args, Subcommand};
use omx_kernel::HostKind;

use crate::cli_values;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
A host calls this for each event, with the event as JSON on standard input. omx
answers with one line of JSON. If anything goes wrong, the answer is {} and the
exit status is 0, within a second.

Examples:
  omx hook explain '$ralph make the tests pass'
  omx hook explain 'why did ralph start by itself yesterday?'
  echo '{\"hook_event_name\":\"Stop\",\"session_id\":\"s1\"}' | omx hook --host claude"
)]
pub struct HookArgs {
    /// The host that calls
    #[arg(long, value_name = "HOST", value_parser = cli_values::host(), required = true)]
    pub host: Option<HostKind>,
    /// The event, for payloads that do not name it
    #[arg(value_name = "EVENT")]
    pub event: Option<String>,
    #[command(subcommand)]
    pub what: Option<HookCommand>,
}

#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Explain what a prompt would start, and why not the rest
    Explain(ExplainArgs),
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The prompt
    #[arg(required = true, allow_hyphen_values = true, trailing_var_arg = true)]
    pub prompt: Vec<String>,
}
