//! Arguments of `trust`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = "\
A project's configuration may tighten what you set. What executes, loosens or redirects
something counts only after you trust the file, and again after the file has changed.

Examples:
  omx trust
  omx trust ~/src/other-project
  omx trust --list
  omx trust --revoke")]
pub struct TrustArgs {
    /// The project's folder, or a configuration file in it [default: this project]
    #[arg(value_hint = ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// List the files that you trust
    #[arg(long, conflicts_with_all = ["path", "revoke", "yes"])]
    pub list: bool,
    /// No longer trust the project's files
    #[arg(long, conflicts_with = "yes")]
    pub revoke: bool,
    /// Trust without asking
    #[arg(long)]
    pub yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
