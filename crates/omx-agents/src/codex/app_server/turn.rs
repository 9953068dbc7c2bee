//! One turn of codex, from the command to its end.

use serde_json::Value;

use crate::event::TurnAnswer;
use crate::failure::FailureCause;

/// Identifies a turn before codex has named it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TurnNumber(u64);

impl TurnNumber {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Who started a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnOrigin {
    /// The owner of the conversation, with a message.
    Owner,
    /// Codex itself, in pursuit of its own goal. The owner does not wait for its
    /// end.
    Codex,
}

/// A turn that was requested or is running.
#[derive(Debug)]
pub(super) struct CodexTurn {
    pub(super) number: TurnNumber,
    pub(super) origin: TurnOrigin,
    /// Codex's id of the turn.
    pub(super) id: Option<String>,
    /// Whether it is running. Before that, codex has no turn to steer or to
    /// interrupt.
    pub(super) is_running: bool,
    pub(super) has_schema: bool,
    /// Whether the delivery was reported to the owner.
    pub(super) is_delivered: bool,
    /// Whether the owner has interrupted it.
    pub(super) is_interrupted: bool,
    /// Text for the turn that arrived before it was running.
    pub(super) early_steers: Vec<String>,
    /// The agent's last message.
    pub(super) last_message: Option<String>,
    /// The last error that codex does not retry.
    pub(super) error: Option<Value>,
}

/// How a turn ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    Finished(TurnAnswer),
    Interrupted,
    Failed(FailureCause),
}

impl CodexTurn {
    pub(super) fn new(number: TurnNumber, has_schema: bool) -> Self {
        Self {
            number,
            origin: TurnOrigin::Owner,
            id: None,
            is_running: false,
            has_schema,
            is_delivered: false,
            is_interrupted: false,
            early_steers: Vec::new(),
            last_message: None,
            error: None,
        }
    }

    /// A turn that codex started itself.
    pub(super) fn started_by_codex(number: TurnNumber, id: &str) -> Self {
        Self {
            origin: TurnOrigin::Codex,
            id: Some(id.to_owned()),
            is_running: true,
            is_delivered: true,
            ..Self::new(number, false)
        }
    }

    /// Codex's id of the turn, if it is running.
    pub(super) fn running_id(&self) -> Option<String> {
        self.id.clone().filter(|_| self.is_running)
    }

    /// The answer, with its JSON object if a schema was given.
    pub(super) fn take_answer(&mut self) -> TurnAnswer {
        let text = self.last_message.take().unwrap_or_default();
        let structured =
            if self.has_schema { serde_json::from_str(text.trim()).ok() } else { None };
        TurnAnswer { text, structured }
    }
}
