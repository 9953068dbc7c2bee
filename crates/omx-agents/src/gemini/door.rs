//! How a conversation with gemini comes to be open: new, or gone on with.

use std::time::{Duration, Instant};

use omx_kernel::approval::Allow;
use serde_json::{Value, json};

use super::account::{Account, Method};
use super::launch::starting_mode;
use crate::agent::{ConversationId, ConversationSpec, ConversationStart};
use crate::event::AgentEvent;
use crate::failure::FailureCause;

/// The version of the protocol.
const VERSION: u64 = 1;
/// How long the end of a conversation's history is waited for.
const REPLAY: Duration = Duration::from_secs(2);

/// A request to make: the method, and with what.
pub(super) type Asking = (&'static str, Value);

/// What gemini is first told of us.
pub(super) fn introduction() -> Asking {
    let files = json!({"readTextFile": false, "writeTextFile": false});
    let capabilities = json!({"fs": files, "terminal": false});
    ("initialize", json!({"protocolVersion": VERSION, "clientCapabilities": capabilities}))
}

/// How far a conversation is open.
#[derive(Debug)]
pub(super) struct Door {
    opening: ConversationSpec,
    /// The request that opens it.
    asking: Option<Asking>,
    /// How to log in, if gemini wants that and it was not tried.
    login: Option<Method>,
    /// Gemini's name for the conversation.
    session: String,
    conversation: Option<ConversationId>,
    model: Option<String>,
    mode_is_set: bool,
    replay: Replay,
    is_open: bool,
}

/// The history that gemini tells again when it goes on with a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replay {
    /// It will come.
    Ahead,
    /// It comes, and is over by then at the latest.
    Until(Instant),
    Over,
}

impl Door {
    pub(super) fn new(opening: ConversationSpec, account: Account) -> Self {
        let login = match account {
            Account::Found(method) => Some(method),
            Account::Chosen | Account::ByItself => None,
        };
        Self {
            opening,
            asking: None,
            login,
            session: String::new(),
            conversation: None,
            model: None,
            mode_is_set: false,
            replay: Replay::Ahead,
            is_open: false,
        }
    }

    /// What was asked for.
    pub(super) fn opening(&self) -> &ConversationSpec {
        &self.opening
    }

    /// Gemini's name for the conversation.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// The model that answers, as far as anybody said.
    pub(super) fn model(&self) -> Option<&str> {
        self.opening.model.as_deref().or(self.model.as_deref())
    }

    /// Whether turns can be run.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Gemini has introduced itself; what it is asked next.
    pub(super) fn introduced(&mut self, result: &Value) -> Result<Asking, FailureCause> {
        if result["protocolVersion"] != VERSION {
            let detail = format!("version {} instead of {VERSION}", result["protocolVersion"]);
            return Err(FailureCause::Protocol { detail });
        }
        let servers = self.opening.servers.iter().map(|server| {
            json!({"name": server.name, "command": server.program.to_string_lossy(),
                "args": server.args, "env": []})
        });
        let mut params = json!({
            "cwd": self.opening.folder.to_string_lossy(),
            "mcpServers": servers.collect::<Vec<_>>()
        });
        let ConversationStart::Resume(id) = &self.opening.start else {
            return Ok(self.ask(("session/new", params)));
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
        self.session = format!(" {id}");
        self.conversation = Some(id.clone());
        params["sessionId"] = self.session.clone().into();
        Ok(self.ask(("session/load", params)))
    }

    fn ask(&mut self, asking: Asking) -> Asking {
        self.asking = Some(asking.clone());
        asking
    }

    /// Gemini wants to be told how it logs in, though its variables say it:
    /// it opens some conversations only then. It keeps the answer in its
    /// settings, as if the person had chosen. None if there is no way.
    pub(super) fn log_in(&mut self) -> Option<Asking> {
        let method = self.login.take()?;
        Some(("authenticate", json!({"methodId": method.as_str()})))
    }

    /// The request to open it, once more.
    pub(super) fn again(&mut self) -> Option<Asking> {
        self.asking.take()
    }

    /// Gemini has opened the conversation; what it is asked next, if anything.
    pub(super) fn opened(
        &mut self,
        result: &Value,
        now: Instant,
    ) -> Result<Option<Asking>, FailureCause> {
        if self.opening.start == ConversationStart::New {
            self.session = result["sessionId"].as_str().unwrap_or_default().to_owned();
            self.conversation = ConversationId::new(&self.session);
            self.replay = Replay::Over;
        } else if self.replay == Replay::Ahead {
            self.replay = Replay::Until(now + REPLAY);
        }
        if self.conversation.is_none() {
            let detail = format!("a conversation named {}", result["sessionId"]);
            return Err(FailureCause::Protocol { detail });
        }
        let mode = starting_mode(self.opening.allow);
        if result["modes"]["currentModeId"].as_str().is_some_and(|told| told != mode.id) {
            return Err(FailureCause::FolderNotTrusted);
        }
        self.model = result["models"]["currentModelId"].as_str().map(str::to_owned);
        if self.opening.allow == Allow::All {
            self.mode_is_set = true;
            return Ok(None);
        }
        let params = json!({"sessionId": self.session, "modeId": "default"});
        Ok(Some(("session/set_mode", params)))
    }

    /// Gemini will ask about everything.
    pub(super) fn mode_set(&mut self) {
        self.mode_is_set = true;
    }

    /// Takes an update that came before the conversation was open: it is part
    /// of the history, up to the list of commands, which is told last.
    pub(super) fn hear(&mut self, update: &Value) {
        if update["sessionUpdate"] == "available_commands_update" {
            self.replay = Replay::Over;
        }
    }

    /// When the history is over for certain.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.replay {
            Replay::Until(deadline) => Some(deadline),
            Replay::Ahead | Replay::Over => None,
        }
    }

    /// The history's time has run out.
    pub(super) fn end_replay(&mut self) {
        self.replay = Replay::Over;
    }

    /// Opens once everything for it is done; then tells so.
    pub(super) fn open(&mut self) -> Option<AgentEvent> {
        let conversation = self.conversation.clone()?;
        if self.is_open || !self.mode_is_set || self.replay != Replay::Over {
            return None;
        }
        self.is_open = true;
        Some(AgentEvent::Started { conversation, model: self.model.clone() })
    }
}
