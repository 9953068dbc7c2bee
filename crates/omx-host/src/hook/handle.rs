//! Carries an event out: chooses the operation, and the output for the host.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use omx_kernel::activity::ToolClass;
use omx_kernel::stop::{StopCause, StoppingAgent};
use omx_kernel::{Refusal, SessionId};
use omx_ops::Context;
use omx_ops::hook::{self, CancelRest, PromptSeen, Prompted, StopOutcome, StopSeen};
use omx_process::read_plain_file;
use omx_store::identity;
use rustix::fs::OFlags;
use serde_json::{Map, Value};

use super::event::{HookEvent, SessionOpening};
use super::output::HookOutput;
use super::payload::HookPayload;
use super::transcript::ends_with_interrupt;
use crate::hosts::host_spec;
use crate::process;

/// The files a hook uses outside its project.
#[derive(Clone, Debug, Default)]
pub struct HookFiles {
    /// The folder of records that say which process holds which conversation.
    pub records: Option<PathBuf>,
    /// A file whose exports the host passes to every command of the conversation.
    pub environment_file: Option<PathBuf>,
}

/// Work that takes longer than a hook may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFollowUp {
    /// None.
    None,
    /// Finish a cancel: stop the processes of what was cancelled.
    FinishCancel(CancelRest),
}

/// The result of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookOutcome {
    /// What the hook answers.
    pub output: HookOutput,
    /// What another process has to do now.
    pub follow_up: HookFollowUp,
}

impl From<HookOutput> for HookOutcome {
    fn from(output: HookOutput) -> Self {
        Self { output, follow_up: HookFollowUp::None }
    }
}

/// The maximum size of a host's file of exports.
const MAX_ENVIRONMENT_BYTES: u64 = 1024 * 1024;

/// The most context a session start adds, in bytes.
const MAX_CONTEXT_BYTES: usize = 3_500;

/// Carries an event out. After an error the hook answers nothing and holds nothing.
pub fn handle_event(
    payload: &HookPayload<'_>,
    context: &Context<'_>,
    files: &HookFiles,
) -> Result<HookOutcome, Refusal> {
    let Some(session) = &payload.session else { return Ok(HookOutput::Empty.into()) };
    let is_main = payload.agent == StoppingAgent::Main;
    Ok(match &payload.event {
        HookEvent::SessionStart(opening) if is_main => {
            start_session(context, files, session, *opening).map(HookOutcome::from)?
        }
        HookEvent::SessionEnd if is_main => {
            if let (Some(records), Some(host)) = (&files.records, process::host()) {
                identity::forget(records, host, session);
            }
            HookOutput::Empty.into()
        }
        HookEvent::Prompt { text, transcript } if is_main => {
            let was_interrupted = || {
                let mark = host_spec(payload.host).interrupt_mark;
                let read = |(mark, path)| ends_with_interrupt(Path::new(path), mark);
                mark.zip(transcript.as_deref()).is_some_and(read)
            };
            let seen = PromptSeen { text, was_interrupted: &was_interrupted };
            after_prompt(hook::prompted(context, session, &seen)?)
        }
        HookEvent::BeforeTool { tool, input } => {
            // A call of omx's own tool must not fail because a note cannot be written.
            let noted = hook::tool_used(context, session, ToolClass::from_tool_name(tool));
            match with_session(context, session, tool, input.map(|raw| raw.get())) {
                Some(input) if is_main => HookOutput::Arguments(input).into(),
                _ => noted.map(|()| HookOutput::Empty.into())?,
            }
        }
        HookEvent::AfterTool { tool } => {
            hook::tool_used(context, session, ToolClass::from_tool_name(tool))?;
            HookOutput::Empty.into()
        }
        HookEvent::Stop { cause, last_message } if is_main => {
            let seen = StopSeen { cause: *cause, agent: payload.agent, last_words: last_message };
            match hook::stop(context, session, &seen)? {
                StopOutcome::Allowed(_) => HookOutput::Empty.into(),
                StopOutcome::Held(text) => {
                    HookOutput::Hold(format!("[{}] {text}", context.dialect.name)).into()
                }
                StopOutcome::RanOut { notice } => {
                    HookOutput::Notice(format!("{}: {notice}", context.dialect.name)).into()
                }
            }
        }
        HookEvent::StopFailure { cause: StopCause::RateLimit, until } if is_main => {
            hook::limited(context, session, *until)?;
            HookOutput::Empty.into()
        }
        HookEvent::Interrupted if is_main => {
            let notice = hook::interrupted(context, session)?;
            notice.map_or(HookOutput::Empty, HookOutput::Notice).into()
        }
        HookEvent::Compacting if is_main => {
            hook::checkpoint(context, session)?;
            HookOutput::Empty.into()
        }
        _ => HookOutput::Empty.into(),
    })
}

fn after_prompt(prompted: Prompted) -> HookOutcome {
    match prompted {
        Prompted::Nothing => HookOutput::Empty.into(),
        Prompted::Replied(reply) => HookOutput::from(reply).into(),
        Prompted::Cancelled { reply, rest } => HookOutcome {
            output: HookOutput::from(reply),
            follow_up: match rest {
                CancelRest::Nothing => HookFollowUp::None,
                rest => HookFollowUp::FinishCancel(rest),
            },
        },
    }
}

/// Starts a session: records its id for the commands it will run, and tells the
/// agent what is active.
fn start_session(
    context: &Context<'_>,
    files: &HookFiles,
    session: &SessionId,
    opening: SessionOpening,
) -> Result<HookOutput, Refusal> {
    let store = context.store()?;
    if let (Some(records), Some(host)) = (&files.records, process::host()) {
        identity::prune(records, omx_process::ProcessId::is_running);
        // Without a record the agent can still pass the id it is told.
        let _ = identity::record(records, host, session, store.root());
    }
    if let Some(file) = &files.environment_file {
        let line = format!("export {}SESSION_ID={session}\n", context.dialect.env_prefix);
        let _ = append_once(file, &line);
    }
    let name = context.dialect.name;
    let mut text = format!(
        "[{name}] This conversation is session {session}; {name}'s tools and commands take it as session_id."
    );
    let lines = hook::brief(context, session).unwrap_or_default();
    if opening == SessionOpening::Compacted && !lines.is_empty() {
        text.push_str(" The conversation was compacted. The documents say:");
    }
    for line in lines {
        if text.len() + line.len() < MAX_CONTEXT_BYTES {
            text.push('\n');
            text.push_str(&line);
        }
    }
    Ok(HookOutput::Context(text))
}

fn append_once(file: &Path, line: &str) -> std::io::Result<()> {
    let old = read_plain_file(file, MAX_ENVIRONMENT_BYTES);
    if old.is_ok_and(|text| text.lines().any(|old| old == line.trim_end())) {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    // A pipe must not block, and the file is the person's alone.
    options
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    options.open(file)?.write_all(line.as_bytes())
}

/// The arguments of a call of omx's own tools, with the session added if it is
/// missing. Other tools' arguments stay as they are.
fn with_session(
    context: &Context<'_>,
    session: &SessionId,
    tool: &str,
    input: Option<&str>,
) -> Option<Map<String, Value>> {
    let own = tool
        .strip_prefix("mcp__")
        .and_then(|rest| rest.strip_prefix(context.dialect.name))
        .and_then(|rest| rest.strip_prefix("__"))?;
    let mut fields: Map<String, Value> = serde_json::from_str(input.unwrap_or("{}")).ok()?;
    // A call that means all sessions must not be narrowed to one.
    let is_set = |name: &str| fields.get(name).is_some_and(|value| *value != Value::Bool(false));
    let means_all = ["force", "all", "every_session", "all_sessions"].into_iter().any(is_set)
        || fields.get("what").is_some_and(|what| *what == "all")
        || LOOK_EVERYWHERE.iter().any(|name| is_tool(own, name));
    if fields.contains_key("session_id") || means_all {
        return None;
    }
    fields.insert("session_id".to_owned(), Value::from(session.as_str()));
    Some(fields)
}

/// Tools that look at every session unless they are told otherwise.
const LOOK_EVERYWHERE: [&str; 2] = ["state_list_active", "state_get_status"];

/// Whether a host's name of a tool means this one: `-` and `_` are the same.
fn is_tool(name: &str, tool: &str) -> bool {
    name.len() == tool.len()
        && name.bytes().zip(tool.bytes()).all(|(a, b)| a == b || a == b'-' && b == b'_')
}
