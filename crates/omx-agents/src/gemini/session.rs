//! Opens a session with gemini: a new one, or one to resume.

use std::time::{Duration, Instant};

use omx_kernel::approval::AllowLevel;
use serde_json::{Value, json};

use super::account::{GeminiAccount, LoginMethod};
use super::launch::starting_mode;
use crate::agent::{ConversationId, ConversationSpec, ConversationStart};
use crate::event::AgentEvent;
use crate::failure::FailureCause;

/// The version of the protocol.
const VERSION: u64 = 1;
/// How long to wait for the end of the history replay.
const REPLAY: Duration = Duration::from_secs(2);

/// A call: the method and its parameters.
pub(super) type AcpCall = (&'static str, Value);

/// The first call, which declares our capabilities.
pub(super) fn initialize_call() -> AcpCall {
    let files = json!({"readTextFile": false, "writeTextFile": false});
    let capabilities = json!({"fs": files, "terminal": false});
    ("initialize", json!({"protocolVersion": VERSION, "clientCapabilities": capabilities}))
}

/// A session that is being opened, or is open.
#[derive(Debug)]
pub(super) struct GeminiSession {
    spec: ConversationSpec,
    /// The call that opens it.
    open_call: Option<AcpCall>,
    /// The login method, until it has been tried.
    untried_login: Option<LoginMethod>,
    /// Gemini's id of the session.
    session_id: String,
    conversation: Option<ConversationId>,
    model: Option<String>,
    mode_is_set: bool,
    replay: HistoryReplay,
    is_open: bool,
}

/// The history that gemini replays when it resumes a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistoryReplay {
    /// It has not started.
    Expected,
    /// It is running, and ends by then at the latest.
    Until(Instant),
    Over,
}

impl GeminiSession {
    pub(super) fn new(spec: ConversationSpec, account: GeminiAccount) -> Self {
        let login = match account {
            GeminiAccount::Found(method) => Some(method),
            GeminiAccount::Chosen | GeminiAccount::ByItself => None,
        };
        Self {
            spec,
            open_call: None,
            untried_login: login,
            session_id: String::new(),
            conversation: None,
            model: None,
            mode_is_set: false,
            replay: HistoryReplay::Expected,
            is_open: false,
        }
    }

    /// The conversation's specification.
    pub(super) fn spec(&self) -> &ConversationSpec {
        &self.spec
    }

    /// Gemini's id of the session.
    pub(super) fn session_id(&self) -> &str {
        &self.session_id
    }

    /// The model, as requested or as reported by gemini.
    pub(super) fn model(&self) -> Option<&str> {
        self.spec.model.as_deref().or(self.model.as_deref())
    }

    /// Whether turns can be started.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Gemini is initialized; returns the call that opens the session.
    pub(super) fn initialized(&mut self, result: &Value) -> Result<AcpCall, FailureCause> {
        if result["protocolVersion"] != VERSION {
            let detail =
                format!("protocol version {} instead of {VERSION}", result["protocolVersion"]);
            return Err(FailureCause::Protocol { detail });
        }
        let servers = self.spec.servers.iter().map(|server| {
            let env = server.env.iter().map(|(name, value)| json!({"name": name, "value": value}));
            json!({"name": server.name, "command": server.program.to_string_lossy(),
                "args": server.args, "env": env.collect::<Vec<_>>()})
        });
        let mut params = json!({
            "cwd": self.spec.folder.to_string_lossy(),
            "mcpServers": servers.collect::<Vec<_>>()
        });
        let ConversationStart::Resume(id) = &self.spec.start else {
            return Ok(self.remember_open_call(("session/new", params)));
        };
        if result["agentCapabilities"]["loadSession"] != true {
            let detail = "this version cannot resume a session".to_owned();
            return Err(FailureCause::Protocol { detail });
        }
        // Before gemini looks up a session, it creates an empty record under
        // the given id: over the old record within the first minute, beside it
        // later; its next start then deletes both as empty. The leading space
        // keeps the two apart, and gemini trims it when it looks up the session.
        self.session_id = format!(" {id}");
        self.conversation = Some(id.clone());
        params["sessionId"] = self.session_id.clone().into();
        Ok(self.remember_open_call(("session/load", params)))
    }

    fn remember_open_call(&mut self, asking: AcpCall) -> AcpCall {
        self.open_call = Some(asking.clone());
        asking
    }

    /// The call that logs in. Gemini asks for a login method even if its
    /// variables imply one, and then stores it in its settings as if the person
    /// had chosen it. None if there is no method to try.
    pub(super) fn login_call(&mut self) -> Option<AcpCall> {
        let method = self.untried_login.take()?;
        Some(("authenticate", json!({"methodId": method.as_str()})))
    }

    /// The call that opens the session, to be repeated after a login.
    pub(super) fn take_open_call(&mut self) -> Option<AcpCall> {
        self.open_call.take()
    }

    /// Gemini has opened the session; returns the next call, if any.
    pub(super) fn opened(
        &mut self,
        result: &Value,
        now: Instant,
    ) -> Result<Option<AcpCall>, FailureCause> {
        if self.spec.start == ConversationStart::New {
            self.session_id = result["sessionId"].as_str().unwrap_or_default().to_owned();
            self.conversation = ConversationId::new(&self.session_id);
            self.replay = HistoryReplay::Over;
        } else if self.replay == HistoryReplay::Expected {
            self.replay = HistoryReplay::Until(now + REPLAY);
        }
        if self.conversation.is_none() {
            let detail = format!("the session has the invalid id {}", result["sessionId"]);
            return Err(FailureCause::Protocol { detail });
        }
        let mode = starting_mode(self.spec.allow);
        if result["modes"]["currentModeId"].as_str().is_some_and(|reported| reported != mode.id) {
            return Err(FailureCause::FolderNotTrusted);
        }
        self.model = result["models"]["currentModelId"].as_str().map(str::to_owned);
        if self.spec.allow == AllowLevel::All {
            self.mode_is_set = true;
            return Ok(None);
        }
        let params = json!({"sessionId": self.session_id, "modeId": "default"});
        Ok(Some(("session/set_mode", params)))
    }

    /// Gemini is in the mode in which it asks about everything.
    pub(super) fn mode_set(&mut self) {
        self.mode_is_set = true;
    }

    /// Handles an update from before the session was open: part of the history,
    /// which ends with the list of commands.
    pub(super) fn handle_replay(&mut self, update: &Value) {
        if update["sessionUpdate"] == "available_commands_update" {
            self.replay = HistoryReplay::Over;
        }
    }

    /// When the replay counts as over.
    pub(super) fn replay_deadline(&self) -> Option<Instant> {
        match self.replay {
            HistoryReplay::Until(deadline) => Some(deadline),
            HistoryReplay::Expected | HistoryReplay::Over => None,
        }
    }

    /// Stops waiting for the end of the replay.
    pub(super) fn end_replay(&mut self) {
        self.replay = HistoryReplay::Over;
    }

    /// Marks the session as open once everything is ready, and returns its event.
    pub(super) fn try_open(&mut self) -> Option<AgentEvent> {
        let conversation = self.conversation.clone()?;
        if self.is_open || !self.mode_is_set || self.replay != HistoryReplay::Over {
            return None;
        }
        self.is_open = true;
        Some(AgentEvent::Started { conversation, model: self.model.clone() })
    }
}
