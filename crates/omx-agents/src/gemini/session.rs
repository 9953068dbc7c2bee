//! How a conversation with gemini comes to be open: new, or gone on with.

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
/// How long the end of a conversation's history is waited for.
const REPLAY: Duration = Duration::from_secs(2);

/// A request to make: the method, and with what.
pub(super) type AcpCall = (&'static str, Value);

/// What gemini is first told of us.
pub(super) fn initialize_call() -> AcpCall {
    let files = json!({"readTextFile": false, "writeTextFile": false});
    let capabilities = json!({"fs": files, "terminal": false});
    ("initialize", json!({"protocolVersion": VERSION, "clientCapabilities": capabilities}))
}

/// How far a conversation is open.
#[derive(Debug)]
pub(super) struct GeminiSession {
    spec: ConversationSpec,
    /// The request that opens it.
    open_call: Option<AcpCall>,
    /// How to log in, if gemini wants that and it was not tried.
    untried_login: Option<LoginMethod>,
    /// Gemini's name for the conversation.
    session_id: String,
    conversation: Option<ConversationId>,
    model: Option<String>,
    mode_is_set: bool,
    replay: HistoryReplay,
    is_open: bool,
}

/// The history that gemini tells again when it goes on with a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistoryReplay {
    /// It will come.
    Expected,
    /// It comes, and is over by then at the latest.
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
            spec: spec,
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

    /// What was asked for.
    pub(super) fn spec(&self) -> &ConversationSpec {
        &self.spec
    }

    /// Gemini's name for the conversation.
    pub(super) fn session_id(&self) -> &str {
        &self.session_id
    }

    /// The model that answers, as far as anybody said.
    pub(super) fn model(&self) -> Option<&str> {
        self.spec.model.as_deref().or(self.model.as_deref())
    }

    /// Whether turns can be run.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Gemini has introduced itself; what it is asked next.
    pub(super) fn initialized(&mut self, result: &Value) -> Result<AcpCall, FailureCause> {
        if result["protocolVersion"] != VERSION {
            let detail = format!("version {} instead of {VERSION}", result["protocolVersion"]);
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
            let detail = "it cannot go on with a conversation".to_owned();
            return Err(FailureCause::Protocol { detail });
        }
        // Gemini makes an empty record under the very name it is given before
        // it looks for the one to go on with: within the minute in which that
        // one was begun over it, later beside it, and then its next start
        // takes both for empty and deletes them. The blank keeps the names
        // apart; gemini leaves it out when it looks.
        self.session_id = format!(" {id}");
        self.conversation = Some(id.clone());
        params["sessionId"] = self.session_id.clone().into();
        Ok(self.remember_open_call(("session/load", params)))
    }

    fn remember_open_call(&mut self, asking: AcpCall) -> AcpCall {
        self.open_call = Some(asking.clone());
        asking
    }

    /// Gemini wants to be told how it logs in, though its variables say it:
    /// it opens some conversations only then. It keeps the answer in its
    /// settings, as if the person had chosen. None if there is no way.
    pub(super) fn login_call(&mut self) -> Option<AcpCall> {
        let method = self.untried_login.take()?;
        Some(("authenticate", json!({"methodId": method.as_str()})))
    }

    /// The request to open it, once more.
    pub(super) fn take_open_call(&mut self) -> Option<AcpCall> {
        self.open_call.take()
    }

    /// Gemini has opened the conversation; what it is asked next, if anything.
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
            let detail = format!("a conversation named {}", result["sessionId"]);
            return Err(FailureCause::Protocol { detail });
        }
        let mode = starting_mode(self.spec.allow);
        if result["modes"]["currentModeId"].as_str().is_some_and(|told| told != mode.id) {
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

    /// Gemini will ask about everything.
    pub(super) fn mode_set(&mut self) {
        self.mode_is_set = true;
    }

    /// Takes an update that came before the conversation was open: it is part
    /// of the history, up to the list of commands, which is told last.
    pub(super) fn handle_replay(&mut self, update: &Value) {
        if update["sessionUpdate"] == "available_commands_update" {
            self.replay = HistoryReplay::Over;
        }
    }

    /// When the history is over for certain.
    pub(super) fn replay_deadline(&self) -> Option<Instant> {
        match self.replay {
            HistoryReplay::Until(deadline) => Some(deadline),
            HistoryReplay::Expected | HistoryReplay::Over => None,
        }
    }

    /// The history's time has run out.
    pub(super) fn end_replay(&mut self) {
        self.replay = HistoryReplay::Over;
    }

    /// Opens once everything for it is done; then tells so.
    pub(super) fn try_open(&mut self) -> Option<AgentEvent> {
        let conversation = self.conversation.clone()?;
        if self.is_open || !self.mode_is_set || self.replay != HistoryReplay::Over {
            return None;
        }
        self.is_open = true;
        Some(AgentEvent::Started { conversation, model: self.model.clone() })
    }
}
