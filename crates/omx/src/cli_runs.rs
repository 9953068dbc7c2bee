//! Arguments of the commands that start and manage runs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use omx_kernel::AgentKind;
use omx_kernel::approval::AllowLevel;

use crate::cli_values;

/// Arguments of a mode that needs a task and nothing else.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
In a git repository the run works in its own worktree and leaves your checkout
alone. When it is complete, merge its branch with omx runs integrate.

Examples:
  omx autopilot \"add a --dry-run flag to the importer\"
  omx ralph --check \"make test\" \"fix the flaky login test\"
  omx autopilot --agent claude --budget-usd 5 --budget-time 2h --detach \"…\"
  omx autopilot --resume              resume the last unfinished run
  omx autopilot --agent rehearsal --scenario demo.toml \"…\"")]
pub struct ConductArgs {
    /// The task
    pub task: Option<String>,
    #[command(flatten)]
    pub run: RunFlags,
}

/// Flags of every run.
#[derive(Debug, Clone, Args)]
pub struct RunFlags {
    #[command(flatten)]
    pub change: ChangeFlags,
    /// Resume this run, or the last unfinished run of this mode; other flags change it
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,
    /// Resolve an interrupted step: rerun or skip it, or adopt the workspace
    #[arg(long, value_name = "STEP=rerun|skip|adopt", requires = "resume")]
    pub decide: Vec<String>,
    /// Verification level
    #[arg(long, value_name = "LEVEL", value_parser = ["light", "standard", "thorough"])]
    pub verify: Option<String>,
    /// Work in this checkout instead of a worktree
    #[arg(long)]
    pub in_place: bool,
    /// With --in-place, allow uncommitted changes
    #[arg(long, requires = "in_place")]
    pub dirty: bool,
    /// Run in the background (follow it with omx runs attach)
    #[arg(long)]
    pub detach: bool,
    /// Stop when the process with this id, which started the run, exits
    #[arg(long, hide = true, value_name = "PID")]
    pub parent: Option<u32>,
    /// Print each event as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags that a run can start with, and that change one that resumes.
#[derive(Debug, Clone, Args)]
pub struct ChangeFlags {
    /// The agent [default: the configured one, else the first that is installed and logged in]
    #[arg(long, value_name = "AGENT", value_parser = cli_values::agent())]
    pub agent: Option<AgentKind>,
    /// The model for all roles
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The command that verifies the project [default: the configured or detected one]
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,
    /// What agents may do without asking [default: the configured level]
    #[arg(long, value_name = "LEVEL", value_parser = cli_values::allow())]
    pub allow: Option<AllowLevel>,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_iterations: Option<u64>,
    #[command(flatten)]
    pub budget: BudgetFlags,
    /// The scenario that the rehearsal agent plays
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
}

/// What a run may use, including what it has used.
#[derive(Debug, Clone, Args)]
pub struct BudgetFlags {
    /// Stop after this many tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub budget_tokens: Option<u64>,
    /// Stop after this many US dollars
    #[arg(long, value_name = "AMOUNT")]
    pub budget_usd: Option<String>,
    /// Stop after this much time, for example 2h
    #[arg(long, value_name = "SPAN")]
    pub budget_time: Option<String>,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Reviews uncommitted changes or, if there are none, the last commit. The exit status
is 0 if both reviewers approve, and 1 if not.

Examples:
  omx code-review
  omx code-review --base main \"the new importer\"")]
pub struct CodeReviewArgs {
    /// What to focus on
    pub task: Option<String>,
    /// Review all changes since this commit or branch
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
    /// The goal in words
    pub task: Option<String>,
    /// Until the project's tests pass
    #[arg(long, group = "goal")]
    pub tests: bool,
    /// Until the project builds
    #[arg(long, group = "goal")]
    pub build: bool,
    /// Until the linter reports nothing
    #[arg(long, group = "goal")]
    pub lint: bool,
    /// Until the type checker passes
    #[arg(long, group = "goal")]
    pub typecheck: bool,
    /// Until this command succeeds
    #[arg(long, group = "goal", value_name = "COMMAND")]
    pub command: Option<String>,
    #[command(flatten)]
    pub run: RunFlags,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Write your own stages in a TOML file:
  [[stage]]
  name = \"explore\"
  role = \"explore\"
  prompt = \"Find everything that touches the importer.\"

Examples:
  omx pipeline --preset implement \"add a --dry-run flag\"
  omx pipeline --stages release.toml \"release 1.4\"")]
pub struct PipelineArgs {
    /// The task
    pub task: Option<String>,
    /// Use a built-in pipeline
    #[arg(long, value_name = "NAME", value_parser = cli_values::pipeline(), conflicts_with = "stages")]
    pub preset: Option<String>,
    /// Use the stages of this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub stages: Option<PathBuf>,
    #[command(flatten)]
    pub run: RunFlags,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omx runs
  omx runs --all
  omx runs show 0199
  omx runs integrate 0199
  omx runs answer 0199 yes")]
pub struct RunsArgs {
    #[command(subcommand)]
    pub operation: Option<RunsOperation>,
    #[command(flatten)]
    pub list: RunsListArgs,
}

#[derive(Debug, Subcommand)]
pub enum RunsOperation {
    /// List the runs of this project
    List(RunsListArgs),
    /// Show a run's report, step by step
    Show(RunArgs),
    /// Follow a live run
    Attach(RunArgs),
    /// Resume a run
    Resume(Box<ResumeArgs>),
    /// Merge a run's branch into the current branch
    Integrate(IntegrateArgs),
    /// Answer a run's question
    Answer(AnswerArgs),
    /// Change a run's iteration limit or budget
    Limit(LimitArgs),
    /// Remove a run with its worktree and branch
    Discard(DiscardArgs),
    /// Make a run yours that came from somewhere else
    Adopt(AdoptArgs),
    /// Remove old runs and merged worktrees
    Gc(RunsGcArgs),
    /// Drive a run
    #[command(hide = true)]
    Drive(DriveArgs),
}

#[derive(Debug, Args)]
pub struct RunsListArgs {
    /// List every run, not only the newest and the live ones
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunsGcArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The run's id or a unique prefix of it [default: the last run]
    pub id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct IntegrateArgs {
    /// The run's id or a unique prefix of it [default: the last run]
    pub id: Option<String>,
    /// Also if its last check failed
    #[arg(long)]
    pub anyway: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    mut_arg("agent", |arg| arg.help("Continue with this agent")),
    mut_arg("model", |arg| arg.help("Continue with this model for all roles")),
    mut_arg("check", |arg| arg.help("Continue with this check")),
    mut_arg("allow", |arg| arg.help("What agents may do without asking")),
    mut_arg("max_iterations", |arg| arg.help("The new iteration limit")),
    after_help = "\
What you change holds for the rest of the run. A budget includes what the run has used.

Examples:
  omx resume                                   the last unfinished run
  omx resume 0199 --model gpt-5.5 --budget-usd 10
  omx resume 0199 --decide c1.build.work=rerun"
)]
pub struct ResumeArgs {
    /// The run's id or a unique prefix of it, or a mode [default: the last unfinished run]
    pub id: Option<String>,
    /// Resolve an interrupted step: rerun or skip it, or adopt the workspace
    #[arg(long, value_name = "STEP=rerun|skip|adopt")]
    pub decide: Vec<String>,
    #[command(flatten)]
    pub change: ChangeFlags,
    /// Run in the background
    #[arg(long)]
    pub detach: bool,
    /// Print each event as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DriveArgs {
    /// The run's id
    pub id: String,
    /// Decisions about interrupted steps
    #[arg(long)]
    pub decide: Vec<String>,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The run's id or a unique prefix of it
    pub id: String,
    /// The answer
    #[arg(value_parser = ["yes", "no"])]
    pub answer: String,
    /// The question's number [default: the oldest]
    #[arg(long, value_name = "N")]
    pub question: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DiscardArgs {
    /// The run's id or a unique prefix of it
    pub id: String,
    /// Also if that loses uncommitted or unmerged work
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// The run's id or a unique prefix of it
    pub id: String,
    /// Adopt without asking
    #[arg(long)]
    pub yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A budget includes what the run has used.

Examples:
  omx runs limit 0199 20
  omx runs limit 0199 --budget-usd 10")]
pub struct LimitArgs {
    /// The run's id or a unique prefix of it
    pub id: String,
    /// The new iteration limit
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub max_iterations: Option<u64>,
    #[command(flatten)]
    pub budget: BudgetFlags,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Command;
    use omx_kernel::Dialect;

    use crate::help::command;

    /// What a program says in another way or does not need to say: it always reads
    /// JSON and never waits for a run.
    const NOT_FOR_TOOLS: [&str; 4] = ["json", "detach", "help", "parent"];

    /// The tool that does what a command does with a run, and where arguments differ,
    /// what they are called there.
    type Twin = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

    const RUNS_TWINS: [Twin; 9] = [
        ("list", "run_list", &[]),
        ("show", "run_show", &[]),
        ("attach", "run_attach", &[]),
        ("resume", "run_resume", &[]),
        ("integrate", "run_integrate", &[]),
        ("answer", "run_answer", &[]),
        ("limit", "run_limit", &[]),
        ("discard", "run_discard", &[]),
        ("gc", "run_gc", &[]),
    ];

    const GOALS: &[(&str, &str)] =
        &[("tests", "goal"), ("build", "goal"), ("lint", "goal"), ("typecheck", "goal")];

    const MODE_TWINS: [Twin; 6] = [
        ("autopilot", "run_start", &[]),
        ("ralph", "run_start", &[]),
        ("ralplan", "run_start", &[]),
        ("code-review", "run_start", &[]),
        ("ultraqa", "run_start", GOALS),
        ("pipeline", "run_start", &[]),
    ];

    /// The arguments of a tool; none if it does not exist.
    fn tool_arguments(name: &str) -> Option<BTreeSet<String>> {
        let tool = omx_mcp::TOOLS.iter().find(|tool| tool.name == name)?;
        let schema = (tool.schema)();
        let properties = schema.get("properties")?.as_object()?.iter();
        Some(properties.map(|(name, _)| name.clone()).collect())
    }

    #[track_caller]
    fn assert_twin(command: &Command, twins: &[Twin], elsewhere: &[&str]) {
        let name = command.get_name();
        let twin = twins.iter().find(|(command, ..)| *command == name);
        let (_, tool, renamed) = twin.unwrap_or_else(|| panic!("no MCP tool does {name}"));
        let known = tool_arguments(tool).unwrap_or_else(|| panic!("no tool {tool}"));
        let ids = command.get_arguments().map(|argument| argument.get_id().as_str());
        for id in ids.filter(|id| !NOT_FOR_TOOLS.contains(id) && !elsewhere.contains(id)) {
            let there = renamed.iter().find(|(here, _)| *here == id).map_or(id, |(_, there)| there);
            assert!(known.contains(there), "{name}: {tool} has no argument {there}");
        }
    }

    #[test]
    fn house_every_command_about_runs_has_an_mcp_tool_with_its_arguments() {
        let whole = command(Dialect::OMX);
        let runs = whole.find_subcommand("runs").unwrap();
        // Adopting a run is up to the person, so no tool does it.
        let is_for_tools = |inner: &&Command| !inner.is_hide_set() && inner.get_name() != "adopt";
        let visible = runs.get_subcommands().filter(is_for_tools);
        let visible: Vec<&Command> = visible.collect();
        assert_eq!(visible.len(), RUNS_TWINS.len());
        for inner in visible {
            assert_twin(inner, &RUNS_TWINS, &[]);
        }
        // What concerns runs elsewhere on the command line.
        assert!(tool_arguments("run_list_live").is_some(), "ps");
        assert!(tool_arguments("run_cancel").is_some(), "cancel --session-id");
    }

    #[test]
    fn house_every_mode_that_omx_drives_can_be_started_and_resumed_over_mcp() {
        let whole = command(Dialect::OMX);
        for mode in omx_ops::DRIVEN_MODES {
            let mode = whole.find_subcommand(mode.name()).unwrap();
            assert_twin(mode, &MODE_TWINS, &["resume", "decide"]);
        }
        let resume = tool_arguments("run_resume").unwrap();
        assert!(["id", "mode", "decide"].iter().all(|name| resume.contains(*name)), "{resume:?}");
    }
}
