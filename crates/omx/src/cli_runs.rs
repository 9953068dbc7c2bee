//! Arguments of the commands that start and manage runs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Flags of every mode that omx carries out.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
In a git repository the run works in a worktree of its own; your checkout stays
as it is. At the end it says how to merge (omx runs integrate).

Examples:
  omx autopilot \"add a --dry-run flag to the importer\"
  omx ralph --check \"make test\" \"fix the flaky login test\"
  omx autopilot --agent claude --budget-usd 5 --budget-time 2h --detach \"…\"
  omx autopilot --resume              go on with the last run that did not finish
  omx autopilot --agent rehearsal --scenario demo.toml \"…\"")]
pub struct ConductArgs {
    /// What to do
    pub task: Option<String>,
    #[command(flatten)]
    pub run: RunFlags,
}

/// How a run is carried out.
#[derive(Debug, Clone, Args)]
pub struct RunFlags {
    /// The agent; without it, the configured one, else the first that can work
    #[arg(long, value_name = "AGENT", value_parser = ["codex", "claude", "gemini", "rehearsal"])]
    pub agent: Option<String>,
    /// The model, for every role
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Go on with a run: the one named, or the last of this mode that did not finish
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,
    /// Decide about a step that cannot simply go on
    #[arg(long, value_name = "STEP=rerun|skip", requires = "resume")]
    pub decide: Vec<String>,
    /// The most iterations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_iterations: Option<u64>,
    /// Stop after so many tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub budget_tokens: Option<u64>,
    /// Stop after so many dollars
    #[arg(long, value_name = "AMOUNT")]
    pub budget_usd: Option<String>,
    /// Stop after so long, for example 2h
    #[arg(long, value_name = "SPAN")]
    pub budget_time: Option<String>,
    /// How the project verifies itself; found by itself when it is obvious
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,
    /// How a result is verified besides
    #[arg(long, value_name = "RIGOUR", value_parser = ["light", "standard", "thorough"])]
    pub verify: Option<String>,
    /// What agents may do unasked; without it, as configured
    #[arg(long, value_name = "WHAT", value_parser = ["edits", "commands", "all"])]
    pub allow: Option<String>,
    /// Work in this checkout instead of a worktree
    #[arg(long)]
    pub in_place: bool,
    /// With --in-place: also when there are uncommitted changes
    #[arg(long, requires = "in_place")]
    pub dirty: bool,
    /// Run in the background; omx runs attach follows it
    #[arg(long)]
    pub detach: bool,
    /// Stop when the process with this id, which started the run, exits
    #[arg(long, hide = true, value_name = "PID")]
    pub parent: Option<u32>,
    /// What the rehearsal agent plays
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// Print every event as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Reviewed is what is not committed yet, or the last commit if nothing is. It ends
with 0 if both reviewers approve, with 1 if not.

Examples:
  omx code-review
  omx code-review --base main \"the new importer\"")]
pub struct CodeReviewArgs {
    /// What to look at in particular
    pub task: Option<String>,
    /// Review everything since this commit or branch
    #[arg(long, value_name = "COMMIT")]
    pub base: Option<String>,
    #[command(flatten)]
    pub run: RunFlags,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  omx ultraqa --tests
  omx ultraqa --command \"npm run lint\"")]
pub struct UltraqaArgs {
    /// What it is about, in words
    pub task: Option<String>,
    /// The project's tests must pass
    #[arg(long, group = "goal")]
    pub tests: bool,
    /// The project must build
    #[arg(long, group = "goal")]
    pub build: bool,
    /// The linter must be content
    #[arg(long, group = "goal")]
    pub lint: bool,
    /// The types must fit
    #[arg(long, group = "goal")]
    pub typecheck: bool,
    /// This command must succeed
    #[arg(long, group = "goal", value_name = "COMMAND")]
    pub command: Option<String>,
    #[command(flatten)]
    pub run: RunFlags,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Own stages stand in a TOML file:
  [[stage]]
  name = \"explore\"
  role = \"explore\"
  prompt = \"Find everything that touches the importer.\"

Examples:
  omx pipeline --preset implement \"add a --dry-run flag\"
  omx pipeline --stages release.toml \"release 1.4\"")]
pub struct PipelineArgs {
    /// What to do
    pub task: Option<String>,
    /// A line of roles that is built in
    #[arg(long, value_name = "NAME", value_parser = ["review", "implement", "debug", "research", "refactor", "security", "autopilot"], conflicts_with = "stages")]
    pub preset: Option<String>,
    /// A line of roles of your own
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub stages: Option<PathBuf>,
    #[command(flatten)]
    pub run: RunFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx runs
  omx runs show 0199
  omx runs integrate 0199
  omx runs answer 0199 yes")]
pub struct RunsArgs {
    #[command(subcommand)]
    pub operation: Option<RunsOperation>,
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum RunsOperation {
    /// List the runs of this project
    List(RunsListArgs),
    /// Show what a run did, step by step
    Show(RunArgs),
    /// Follow a run that is going on
    Attach(RunArgs),
    /// Go on with a run
    Resume(ResumeArgs),
    /// Merge what a run made into the branch you are on
    Integrate(RunArgs),
    /// Answer a question of a run
    Answer(AnswerArgs),
    /// Raise the most iterations of a run, or what it may spend
    Limit(LimitArgs),
    /// Remove runs that ended long ago
    Gc(RunsListArgs),
    /// Carry a run out
    #[command(hide = true)]
    Drive(RunArgs),
}

#[derive(Debug, Args)]
pub struct RunsListArgs {
    /// Answer with one compact line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The run: its id, or enough of its beginning; without it, the last one
    pub id: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run: its id, or enough of its beginning; without it, the last one
    pub id: Option<String>,
    /// Decide about a step that cannot simply go on
    #[arg(long, value_name = "STEP=rerun|skip")]
    pub decide: Vec<String>,
    /// Run in the background
    #[arg(long)]
    pub detach: bool,
    /// Print every event as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The run: its id, or enough of its beginning
    pub id: String,
    /// yes or no
    #[arg(value_parser = ["yes", "no"])]
    pub answer: String,
    /// Which question; without it, the oldest
    #[arg(long, value_name = "N")]
    pub question: Option<u64>,
}

#[derive(Debug, Args)]
pub struct LimitArgs {
    /// The run: its id, or enough of its beginning
    pub id: String,
    /// The most iterations from now on
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub max_iterations: Option<u64>,
    /// Stop after so many tokens, with those it has spent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub budget_tokens: Option<u64>,
    /// Stop after so many dollars, with those it has spent
    #[arg(long, value_name = "AMOUNT")]
    pub budget_usd: Option<String>,
    /// Stop after so long, with all it has worked, for example 2h
    #[arg(long, value_name = "SPAN")]
    pub budget_time: Option<String>,
}
