//! A host's payload. It is read once, and only the fields an event needs are parsed.
//!
//! Hosts differ in spelling and change over time, so a field of an unexpected type
//! counts as missing, and a payload that is not a JSON object is no event.

use std::borrow::Cow;
use std::path::PathBuf;

use omx_kernel::stop::{StopCause, StoppingAgent};
use omx_kernel::{SessionId, Timestamp, session_events};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{HookEvent, HookEventKind, SessionOpening};
use crate::HostKind;

/// An event, and where it comes from.
#[derive(Clone, Debug)]
pub struct HookPayload<'a> {
    /// The host that runs the hook.
    pub host: HostKind,
    /// The event.
    pub event: HookEvent<'a>,
    /// The host's own name for the event; the output repeats it.
    pub name: Cow<'a, str>,
    /// The conversation; `None` if the payload names none or no valid id.
    pub session: Option<SessionId>,
    /// The working directory.
    pub cwd: Option<PathBuf>,
    /// Whether the conversation's own agent acts, or one it started.
    pub agent: StoppingAgent,
}

/// The fields omx may read, unparsed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Raw<'a> {
    #[serde(borrow)]
    hook_event_name: Option<&'a RawValue>,
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    agent_id: Option<&'a RawValue>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
    #[serde(borrow)]
    transcript_path: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_name: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    last_assistant_message: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_response: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow, rename = "stopReason")]
    stop_reason_camel: Option<&'a RawValue>,
    #[serde(borrow)]
    user_requested: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    error_type: Option<&'a RawValue>,
    #[serde(borrow)]
    resets_at: Option<&'a RawValue>,
}

/// The string in a field; an empty one counts as missing.
fn text<'a>(raw: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    let raw = raw?.get();
    // A string without escapes can be borrowed.
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    let text = match inner {
        Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
        _ => Cow::Owned(serde_json::from_str(raw).ok()?),
    };
    Some(text).filter(|text| !text.is_empty())
}

impl<'a> HookPayload<'a> {
    /// Parses a payload. `event` is the name from the command line, for hosts whose
    /// payload has none.
    pub fn parse(host: HostKind, event: Option<&'a str>, bytes: &'a [u8]) -> Option<Self> {
        let raw: Raw<'a> = serde_json::from_slice(bytes.trim_ascii()).ok()?;
        let name = text(raw.hook_event_name).or_else(|| event.map(Cow::Borrowed))?;
        let agent = match text(raw.agent_id) {
            Some(_) => StoppingAgent::Subagent,
            None => StoppingAgent::Main,
        };
        Some(Self {
            host,
            event: raw.event(HookEventKind::parse(&name)),
            name,
            session: text(raw.session_id).and_then(|id| SessionId::new(&id).ok()),
            cwd: text(raw.cwd).map(|cwd| PathBuf::from(cwd.as_ref())),
            agent,
        })
    }
}

impl<'a> Raw<'a> {
    fn event(&self, kind: HookEventKind) -> HookEvent<'a> {
        let words = |raw| text(raw).unwrap_or_default();
        match kind {
            HookEventKind::SessionStart => {
                HookEvent::SessionStart(match text(self.source).as_deref() {
                    Some("compact") => SessionOpening::Compacted,
                    _ => SessionOpening::Started,
                })
            }
            HookEventKind::SessionEnd => HookEvent::SessionEnd,
            HookEventKind::Prompt => HookEvent::Prompt {
                text: words(self.prompt),
                transcript: text(self.transcript_path),
            },
            HookEventKind::BeforeTool => {
                HookEvent::BeforeTool { tool: words(self.tool_name), input: self.tool_input }
            }
            HookEventKind::AfterTool => HookEvent::AfterTool { tool: words(self.tool_name) },
            HookEventKind::Stop => HookEvent::Stop {
                cause: self.cause().unwrap_or(StopCause::TurnEnded),
                last_message: words(self.last_assistant_message.or(self.prompt_response)),
            },
            HookEventKind::StopFailure => match self.cause() {
                Some(cause) => HookEvent::StopFailure { cause, until: self.until() },
                None => HookEvent::Other,
            },
            HookEventKind::Interrupted => HookEvent::Interrupted,
            HookEventKind::Compacting => HookEvent::Compacting,
            HookEventKind::Other => HookEvent::Other,
        }
    }

    /// Why the turn ended, if the host gives a reason.
    fn cause(&self) -> Option<StopCause> {
        if self.user_requested.is_some_and(|raw| raw.get() == "true") {
            return Some(StopCause::Interrupted);
        }
        [self.stop_reason, self.stop_reason_camel, self.error, self.error_type]
            .into_iter()
            .find_map(|raw| session_events::parse_stop_cause(&text(raw)?))
    }

    /// When the limit resets: a timestamp, or seconds since 1970.
    fn until(&self) -> Option<Timestamp> {
        let raw = self.resets_at?;
        match text(Some(raw)) {
            Some(time) => Timestamp::parse(&time),
            None => {
                let seconds: i64 = raw.get().parse().ok()?;
                Some(Timestamp::from_millis(seconds.checked_mul(1_000)?))
            }
        }
    }
}
