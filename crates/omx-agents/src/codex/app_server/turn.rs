//! One turn of codex's, from the order to its end.

use serde_json::Value;

use crate::event::TurnAnswer;
use crate::failure::FailureCause;

/// Tells turns apart before codex has named them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TurnNumber(u64);

impl TurnNumber {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Who began a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnOrigin {
    /// A message of ours.
    Owner,
    /// Codex itself, which goes on with a goal it has set itself. The owner
    /// does not wait for its end.
    Codex,
}

/// A turn that is asked for or runs.
#[derive(Debug)]
pub(super) struct CodexTurn {
    pub(super) number: TurnNumber,
    pub(super) origin: TurnOrigin,
    /// Codex's name for it.
    pub(super) id: Option<String>,
    /// Whether it has begun; before, codex knows of no turn to speak to or
    /// to interrupt.
    pub(super) is_running: bool,
    pub(super) has_schema: bool,
    /// Whether the owner knows that it was begun.
    pub(super) is_delivered: bool,
    /// Whether the owner wants it ended.
    pub(super) is_interrupted: bool,
    /// Words for it from before it ran.
    pub(super) early_steers: Vec<String>,
    /// The last the agent said.
    pub(super) last_message: Option<String>,
    /// The last error codex did not try again after.
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

    /// One that codex began by itself.
    pub(super) fn started_by_codex(number: TurnNumber, id: &str) -> Self {
        Self {
            origin: TurnOrigin::Codex,
            id: Some(id.to_owned()),
            is_running: true,
            is_delivered: true,
            ..Self::new(number, false)
        }
    }

    /// Codex's name for it, if it can be spoken to.
    pub(super) fn running_id(&self) -> Option<String> {
        self.id.clone().filter(|_| self.is_running)
    }

    /// The answer, whose object is read where one was asked for.
    pub(super) fn take_answer(&mut self) -> TurnAnswer {
        let text = self.last_message.take().unwrap_or_default();
        let structured =
            if self.has_schema { serde_json::from_str(text.trim()).ok() } else { None };
        TurnAnswer { text, structured }
    }
}
