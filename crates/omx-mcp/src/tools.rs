//! The tools: one row each, from name to operation.

use omx_kernel::{Refusal, Value};
use omx_ops::{Context, RequestFields};

use crate::schema::{self, Others};

/// Tools that belong together and are served together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Mode state and cancel.
    State,
}

impl Group {
    /// The group of that name, as `--tools` takes it.
    pub fn named(name: &str) -> Option<Group> {
        (name == "state").then_some(Group::State)
    }
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Looks only.
    Reads,
    /// Changes documents; nothing is lost by it.
    Writes,
    /// Removes or ends something.
    Ends,
}

/// One tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The group it is served with.
    pub group: Group,
    /// What it does, for a model.
    pub description: &'static str,
    effect: Effect,
    schema: fn() -> Value,
    run: fn(&Context<'_>, RequestFields) -> Result<Value, Refusal>,
}

/// All tools.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "state_read",
        group: Group::State,
        description: "Read one mode's state document. Answers {\"exists\":false} if there is none.",
        effect: Effect::Reads,
        schema: || {
            let fields = vec![schema::mode(), schema::session_id(), schema::working_directory()];
            schema::object(fields, &["mode"], Others::Refused)
        },
        run: |context, fields| omx_ops::state_read(context, &fields.try_into()?),
    },
    Tool {
        name: "state_write",
        group: Group::State,
        description: "Merge fields into one mode's state document: start, move to another phase, end, resume. Refuses what the mode's rules do not allow and says what is missing.",
        effect: Effect::Writes,
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
                schema::flag("start", "Begin a new run, also after a cancelled one"),
                schema::flag("resume", "Reopen a run that was cancelled, blocked or failed"),
            ]);
            schema::object(fields, &["mode"], Others::Allowed)
        },
        run: |context, fields| omx_ops::state_write(context, fields.try_into()?),
    },
    Tool {
        name: "state_clear",
        group: Group::State,
        description: "Remove one mode's state document, in one session or in all.",
        effect: Effect::Ends,
        schema: || {
            let fields = vec![
                schema::mode(),
                schema::session_id(),
                schema::flag("all_sessions", "In every session and outside any"),
                schema::working_directory(),
            ];
            schema::object(fields, &["mode"], Others::Refused)
        },
        run: |context, fields| omx_ops::state_clear(context, &fields.try_into()?),
    },
    Tool {
        name: "state_list_active",
        group: Group::State,
        description: "List the active modes of one session, or of all without a session_id.",
        effect: Effect::Reads,
        schema: || {
            let fields = vec![schema::session_id(), schema::working_directory()];
            schema::object(fields, &[], Others::Refused)
        },
        run: |context, fields| omx_ops::state_list_active(context, &fields.try_into()?),
    },
    Tool {
        name: "state_get_status",
        group: Group::State,
        description: "Every state document with its content, of one session or of all.",
        effect: Effect::Reads,
        schema: || {
            let fields = vec![schema::mode(), schema::session_id(), schema::working_directory()];
            schema::object(fields, &[], Others::Refused)
        },
        run: |context, fields| omx_ops::state_get_status(context, &fields.try_into()?),
    },
    Tool {
        name: "cancel",
        group: Group::State,
        description: "Cancel the active modes of a session. With force, cancel everything and clear all state.",
        effect: Effect::Ends,
        schema: || {
            let fields = vec![
                schema::session_id(),
                schema::mode(),
                schema::flag("force", "Every session, and clear all state files"),
                schema::flag("all", "The same as force"),
                schema::flag("every_session", "Every session; clears nothing"),
                schema::working_directory(),
            ];
            schema::object(fields, &[], Others::Refused)
        },
        run: |context, fields| Ok(omx_ops::cancel(context, &fields.try_into()?)?.value()),
    },
];

impl Tool {
    /// The tool of that name.
    pub fn named(name: &str) -> Option<&'static Tool> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Runs the tool on the text of its arguments.
    pub fn call(&self, context: &Context<'_>, arguments: &str) -> Result<Value, Refusal> {
        (self.run)(context, omx_ops::parse_fields(arguments)?)
    }

    /// How the tool is listed.
    pub fn listed(&self) -> Value {
        let annotations = Value::record([
            ("readOnlyHint", Value::bool(self.effect == Effect::Reads)),
            ("destructiveHint", Value::bool(self.effect == Effect::Ends)),
            ("openWorldHint", Value::bool(false)),
        ]);
        Value::record([
            ("name", Value::string(self.name)),
            ("description", Value::string(self.description)),
            ("inputSchema", (self.schema)()),
            ("annotations", annotations),
        ])
    }
}
