//! The tools: one row each, from name to operation.
//!
//! A new tool is a new row of [`TOOLS`]; the rows about runs are in `run_tools.rs`.

use omx_kernel::{Dialect, Refusal, Value};
use omx_ops::{Context, RequestFields};

use crate::run_tools;
use crate::schema::{self, ExtraArguments};

/// Tools that are offered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolGroup {
    /// Mode state and cancel.
    State,
    /// Runs that omx drives.
    Runs,
}

impl ToolGroup {
    /// Every group.
    pub const ALL: [Self; 2] = [Self::State, Self::Runs];

    /// The name that `--tools` takes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Runs => "runs",
        }
    }

    /// Finds a group by its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.as_str() == name)
    }
}

/// What a client may assume about a tool before it asks the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolAnnotations {
    /// The tool changes nothing.
    pub read_only: bool,
    /// The tool can remove or end something.
    pub destructive: bool,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// The tool reaches beyond this machine, for example through an agent.
    pub open_world: bool,
}

impl ToolAnnotations {
    /// A tool that only reads.
    pub const READS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// A tool that changes documents and loses nothing.
    pub const WRITES: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// A tool that removes or ends something.
    pub const ENDS: Self =
        Self { read_only: false, destructive: true, idempotent: true, open_world: false };
}

/// Whether a call of a tool is worth a thread of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolScheduling {
    /// It takes well under a millisecond unless the project is locked. Quick calls
    /// finish in the order in which they came.
    Quick,
    /// It may wait for another process: it runs beside other calls from the start.
    Waits,
}

/// One tool.
pub struct McpTool {
    /// The name.
    pub name: &'static str,
    /// The group it is offered with.
    pub group: ToolGroup,
    /// What it does, for a model.
    pub description: &'static str,
    /// What a client may assume about it.
    pub annotations: ToolAnnotations,
    /// Whether its calls run on a thread of their own.
    pub pace: ToolScheduling,
    /// The JSON schema of its arguments.
    pub schema: fn() -> Value,
    /// The operation.
    pub run: fn(&Context<'_>, RequestFields) -> Result<Value, Refusal>,
}

/// Every tool.
pub const TOOLS: &[McpTool] = &[
    McpTool {
        name: "state_read",
        group: ToolGroup::State,
        description: "Read one mode's state document. Returns {\"exists\":false} if there is none.",
        annotations: ToolAnnotations::READS,
        pace: ToolScheduling::Quick,
        schema: || {
            let fields = vec![schema::mode(), schema::session_id(), schema::working_directory()];
            schema::object(fields, &["mode"], ExtraArguments::Refused)
        },
        run: |context, fields| omx_ops::state_read(context, &fields.try_into()?),
    },
    McpTool {
        name: "state_write",
        group: ToolGroup::State,
        description: "Merge fields into one mode's state document: start a run, move to another phase, end or resume it. Refuses what the mode's rules do not allow, and says what is missing.",
        annotations: ToolAnnotations::WRITES,
        pace: ToolScheduling::Quick,
        schema: || {
            let mut fields =
                vec![schema::mode(), schema::session_id(), schema::working_directory()];
            fields.extend(schema::common_fields());
            fields.extend([
                schema::any_object("state", "More fields, merged at the top level"),
                schema::count(
                    "expected_revision",
                    "Write only if the document is at this revision",
                ),
                schema::flag("start", "Start a new run, even right after a cancelled one"),
                schema::flag("resume", "Resume a run that was cancelled, is blocked or has failed"),
            ]);
            schema::object(fields, &["mode"], ExtraArguments::Allowed)
        },
        run: |context, fields| omx_ops::state_write(context, fields.try_into()?),
    },
    McpTool {
        name: "state_clear",
        group: ToolGroup::State,
        description: "Remove the state document of a mode, or of every mode, in one session or in all sessions.",
        annotations: ToolAnnotations::ENDS,
        pace: ToolScheduling::Quick,
        schema: || {
            let fields = vec![
                schema::mode(),
                schema::session_id(),
                schema::flag("all_sessions", "In every session, and outside sessions"),
                schema::working_directory(),
            ];
            schema::object(fields, &[], ExtraArguments::Refused)
        },
        run: |context, fields| omx_ops::state_clear(context, &fields.try_into()?),
    },
    McpTool {
        name: "state_list_active",
        group: ToolGroup::State,
        description: "List the active modes of one session, or of all sessions without a session_id.",
        annotations: ToolAnnotations::READS,
        pace: ToolScheduling::Quick,
        schema: || {
            let fields = vec![schema::session_id(), schema::working_directory()];
            schema::object(fields, &[], ExtraArguments::Refused)
        },
        run: |context, fields| omx_ops::state_list_active(context, &fields.try_into()?),
    },
    McpTool {
        name: "state_get_status",
        group: ToolGroup::State,
        description: "Show every state document with its content, of one session or of all sessions.",
        annotations: ToolAnnotations::READS,
        pace: ToolScheduling::Quick,
        schema: || {
            let fields = vec![schema::mode(), schema::session_id(), schema::working_directory()];
            schema::object(fields, &[], ExtraArguments::Refused)
        },
        run: |context, fields| omx_ops::state_get_status(context, &fields.try_into()?),
    },
    McpTool {
        name: "cancel",
        group: ToolGroup::State,
        description: "Cancel the active modes of a session and stop the runs that drive them. With force, cancel everything and clear all state.",
        annotations: ToolAnnotations::ENDS,
        pace: ToolScheduling::Waits,
        schema: || {
            let fields = vec![
                schema::text("what", "A mode, an id of a run or session, the start of one, or all"),
                schema::session_id(),
                schema::mode(),
                schema::flag("force", "Cancel every session and clear all state files"),
                schema::flag("all", "Same as force"),
                schema::flag("every_session", "Cancel every session, but clear nothing"),
                schema::working_directory(),
            ];
            schema::object(fields, &[], ExtraArguments::Refused)
        },
        run: |context, fields| Ok(omx_ops::cancel(context, &fields.try_into()?)?.value()),
    },
    run_tools::START,
    run_tools::STATUS,
    run_tools::LIST,
    run_tools::LIST_LIVE,
    run_tools::SHOW,
    run_tools::ATTACH,
    run_tools::ANSWER,
    run_tools::CANCEL,
    run_tools::LIMIT,
    run_tools::RESUME,
    run_tools::INTEGRATE,
    run_tools::DISCARD,
    run_tools::GC,
];

impl McpTool {
    /// Calls the tool with its arguments as JSON text.
    pub fn call(&self, context: &Context<'_>, arguments: &str) -> Result<Value, Refusal> {
        (self.run)(context, omx_ops::parse_fields(arguments)?)
    }

    /// Describes the tool for `tools/list`.
    pub fn describe(&self, dialect: Dialect) -> Value {
        let annotations = Value::record([
            ("readOnlyHint", Value::bool(self.annotations.read_only)),
            ("destructiveHint", Value::bool(self.annotations.destructive)),
            ("idempotentHint", Value::bool(self.annotations.idempotent)),
            ("openWorldHint", Value::bool(self.annotations.open_world)),
        ]);
        Value::record([
            ("name", Value::string(self.name)),
            ("description", Value::string(&dialect.localize(self.description))),
            ("inputSchema", (self.schema)()),
            ("annotations", annotations),
        ])
    }
}
