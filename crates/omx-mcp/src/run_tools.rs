//! The tools about runs that omx drives. Each returns the object that the same
//! command prints with `--json`.

use omx_kernel::approval::AllowLevel;
use omx_kernel::{AgentKind, Value};
use omx_ops::CallProgress;

use crate::schema::{self, ExtraArguments};
use crate::tools::{McpTool, ToolAnnotations, ToolGroup, ToolScheduling};

/// A tool that starts an agent.
const STARTS: ToolAnnotations = ToolAnnotations { open_world: true, ..ToolAnnotations::WRITES };

fn id() -> (String, Value) {
    schema::text("id", "The run: its id or a unique prefix of it")
}

fn driven_mode(description: &str) -> (String, Value) {
    let names: Vec<&str> = omx_ops::DRIVEN_MODES.iter().map(|mode| mode.name()).collect();
    schema::one_of("mode", description, &names)
}

fn agent(description: &str) -> (String, Value) {
    let agents: Vec<&str> = AgentKind::ALL.iter().map(|kind| kind.as_str()).collect();
    schema::one_of("agent", description, &agents)
}

fn allow() -> (String, Value) {
    let levels: Vec<&str> = AllowLevel::ALL.iter().map(|level| level.as_str()).collect();
    schema::one_of("allow", "What agents may do without asking", &levels)
}

fn budget() -> [(String, Value); 3] {
    [
        schema::limit("budget_tokens", "Stop after this many tokens"),
        schema::text("budget_usd", "Stop after this many US dollars, for example 2.50"),
        schema::text("budget_time", "Stop after this much time, for example 2h"),
    ]
}

/// `run_start`
pub(crate) const START: McpTool = McpTool {
    name: "run_start",
    group: ToolGroup::Runs,
    description: "Start a run in the background: omx drives the mode with an agent, in a git worktree of its own. Returns its id at once; follow it with run_status.",
    annotations: STARTS,
    pace: ToolScheduling::Waits,
    schema: || {
        let mut fields = vec![
            driven_mode("The mode"),
            schema::text("task", "What to do"),
            agent("The agent; the configured one if missing"),
            schema::text("model", "The model for all roles"),
            allow(),
            schema::text("check", "The command that verifies the project"),
            schema::one_of(
                "goal",
                "ultraqa: what must pass",
                &["tests", "build", "lint", "typecheck"],
            ),
            schema::text("command", "ultraqa: the command that must succeed"),
            schema::one_of("verify", "Verification level", &["light", "standard", "thorough"]),
            schema::limit("max_iterations", "Maximum number of iterations"),
            schema::flag("in_place", "Work in the checkout instead of a worktree"),
            schema::flag("dirty", "With in_place, allow uncommitted changes"),
            schema::text("base", "code-review: review all changes since this commit"),
            schema::text("preset", "pipeline: a built-in list of roles"),
            schema::text("stages", "pipeline: a TOML file with stages"),
            schema::text("scenario", "The scenario that the rehearsal agent plays"),
            schema::working_directory(),
        ];
        fields.extend(budget());
        schema::object(fields, &["mode"], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_start(context, fields.try_into()?)?.value()),
};

/// `run_status`
pub(crate) const STATUS: McpTool = McpTool {
    name: "run_status",
    group: ToolGroup::Runs,
    description: "Show the state of a run: what it does, what it waits for, its open questions. The latest run without an id.",
    annotations: ToolAnnotations::READS,
    pace: ToolScheduling::Quick,
    schema: || {
        let fields = vec![id(), schema::working_directory()];
        schema::object(fields, &[], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_status(context, &fields.try_into()?)?.value()),
};

/// `run_list`
pub(crate) const LIST: McpTool = McpTool {
    name: "run_list",
    group: ToolGroup::Runs,
    description: "List the newest and the live runs of the project, oldest first.",
    annotations: ToolAnnotations::READS,
    pace: ToolScheduling::Quick,
    schema: || {
        let all = schema::flag("all", "List every run.");
        let fields = vec![all, schema::working_directory()];
        schema::object(fields, &[], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_list(context, &fields.try_into()?)?.value()),
};

/// `run_list_live`
pub(crate) const LIST_LIVE: McpTool = McpTool {
    name: "run_list_live",
    group: ToolGroup::Runs,
    description: "List the live runs of all projects of this person.",
    annotations: ToolAnnotations::READS,
    pace: ToolScheduling::Quick,
    schema: || schema::object(Vec::new(), &[], ExtraArguments::Refused),
    run: |context, fields| {
        fields.only(&[])?;
        Ok(omx_ops::run_list_live(context)?.value())
    },
};

/// `run_show`
pub(crate) const SHOW: McpTool = McpTool {
    name: "run_show",
    group: ToolGroup::Runs,
    description: "Show a run with its journal. The latest run without an id.",
    annotations: ToolAnnotations::READS,
    pace: ToolScheduling::Quick,
    schema: || {
        let fields = vec![id(), schema::working_directory()];
        schema::object(fields, &[], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_show(context, &fields.try_into()?)?.value()),
};

/// `run_attach`
pub(crate) const ATTACH: McpTool = McpTool {
    name: "run_attach",
    group: ToolGroup::Runs,
    description: "Follow a run until it ends, with progress notifications, then show its state. The latest run without an id.",
    annotations: ToolAnnotations::READS,
    pace: ToolScheduling::Waits,
    schema: || {
        let fields = vec![id(), schema::working_directory()];
        schema::object(fields, &[], ExtraArguments::Refused)
    },
    run: |context, fields| {
        let mut done = 0;
        let report = omx_ops::run_attach(context, &fields.try_into()?, |progress| {
            if let Some(message) = progress.summary() {
                done += 1;
                context.caller.report_progress(CallProgress {
                    done,
                    total: None,
                    message: &message,
                });
            }
        });
        Ok(report?.value())
    },
};

/// `run_answer`
pub(crate) const ANSWER: McpTool = McpTool {
    name: "run_answer",
    group: ToolGroup::Runs,
    description: "Answer an open question of a run, for the person: may its agent do what it asks for?",
    annotations: ToolAnnotations::WRITES,
    pace: ToolScheduling::Quick,
    schema: || {
        let fields = vec![
            id(),
            schema::one_of("answer", "The answer", &["yes", "no"]),
            schema::limit("question", "The question's number; the oldest if missing"),
            schema::working_directory(),
        ];
        schema::object(fields, &["id", "answer"], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_answer(context, &fields.try_into()?)?.value()),
};

/// `run_cancel`
pub(crate) const CANCEL: McpTool = McpTool {
    name: "run_cancel",
    group: ToolGroup::Runs,
    description: "Cancel a run: end its documents and its process. The latest run without an id.",
    annotations: ToolAnnotations::ENDS,
    pace: ToolScheduling::Waits,
    schema: || {
        let fields = vec![id(), schema::working_directory()];
        schema::object(fields, &[], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_cancel(context, &fields.try_into()?)?.value()),
};

/// `run_limit`
pub(crate) const LIMIT: McpTool = McpTool {
    name: "run_limit",
    group: ToolGroup::Runs,
    description: "Change the iteration limit or the budget of a run, for the person. A live run has them at once.",
    annotations: ToolAnnotations::WRITES,
    pace: ToolScheduling::Waits,
    schema: || {
        let mut fields = vec![
            id(),
            schema::limit("max_iterations", "The new iteration limit"),
            schema::working_directory(),
        ];
        fields.extend(budget());
        schema::object(fields, &["id"], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_limit(context, &fields.try_into()?)?.value()),
};

/// `run_resume`
pub(crate) const RESUME: McpTool = McpTool {
    name: "run_resume",
    group: ToolGroup::Runs,
    description: "Resume a run in the background. The latest run without an id. What the other arguments change holds for the rest of the run.",
    annotations: STARTS,
    pace: ToolScheduling::Waits,
    schema: || {
        let mut fields = vec![
            id(),
            driven_mode("Without an id: the latest unfinished run of this mode"),
            schema::texts("decide", "Decisions about interrupted steps: STEP=rerun or STEP=skip"),
            agent("Another agent"),
            schema::text("model", "Another model for all roles"),
            allow(),
            schema::text("check", "Another command that verifies the project"),
            schema::limit("max_iterations", "The new iteration limit"),
            schema::text("scenario", "The scenario that the rehearsal agent plays"),
            schema::working_directory(),
        ];
        fields.extend(budget());
        schema::object(fields, &[], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_resume(context, &fields.try_into()?)?.value()),
};

/// `run_integrate`
pub(crate) const INTEGRATE: McpTool = McpTool {
    name: "run_integrate",
    group: ToolGroup::Runs,
    description: "Merge a run's branch into the current branch, for the person. The latest run without an id.",
    annotations: ToolAnnotations::WRITES,
    pace: ToolScheduling::Waits,
    schema: || {
        let fields = vec![
            id(),
            schema::flag("anyway", "Also if its last check failed"),
            schema::working_directory(),
        ];
        schema::object(fields, &[], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_integrate(context, &fields.try_into()?)?.value()),
};

/// `run_discard`
pub(crate) const DISCARD: McpTool = McpTool {
    name: "run_discard",
    group: ToolGroup::Runs,
    description: "Remove a run with its worktree and branch, for the person. Refuses to lose work without force.",
    annotations: ToolAnnotations::ENDS,
    pace: ToolScheduling::Waits,
    schema: || {
        let fields = vec![
            id(),
            schema::flag("force", "Also if that loses uncommitted or unmerged work"),
            schema::working_directory(),
        ];
        schema::object(fields, &["id"], ExtraArguments::Refused)
    },
    run: |context, fields| Ok(omx_ops::run_discard(context, &fields.try_into()?)?.value()),
};

/// `run_gc`
pub(crate) const GC: McpTool = McpTool {
    name: "run_gc",
    group: ToolGroup::Runs,
    description: "Remove old runs and merged worktrees.",
    annotations: ToolAnnotations::ENDS,
    pace: ToolScheduling::Waits,
    schema: || {
        let fields = vec![schema::working_directory()];
        schema::object(fields, &[], ExtraArguments::Refused)
    },
    run: |context, fields| {
        fields.only(&["workingDirectory"])?;
        Ok(omx_ops::run_gc(context, fields.project()?)?.value())
    },
};
