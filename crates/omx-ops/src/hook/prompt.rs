//! Handles the person's prompt before the agent sees it: it may start a mode, cancel
//! active modes, or resume a blocked one.

use omx_kernel::document::DocumentStatus;
use omx_kernel::outcome::RunEnding;
use omx_kernel::{Mode, Refusal, SessionId, Snapshot, hold_text};
use omx_prompt::{CallForm, KeywordPolicy, ModeStart, PromptDecision, ScannedPrompt, SessionState};

use super::prompt_cancel::cancel;
use super::prompt_start::begin;
use super::{notes, read_session};
use crate::config::load;
use crate::context::Context;

/// A prompt as the host reports it.
pub struct PromptSeen<'a> {
    /// The person's text.
    pub text: &'a str,
    /// Looks up whether the person interrupted the agent just before, for hosts that report
    /// no interrupt. Called only while a mode is active.
    pub was_interrupted: &'a dyn Fn() -> bool,
}

/// The outcome of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompted {
    /// Nothing; the agent reads the prompt unchanged.
    Nothing,
    /// omx has something to say about it.
    Replied(PromptReply),
    /// Modes were cancelled.
    Cancelled {
        /// What omx says about it.
        reply: PromptReply,
        /// What is left to do.
        rest: CancelRest,
    },
}

/// What omx says about a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptReply {
    /// The message for the agent.
    pub agent: String,
    /// One line for the person, if something happened that they should see.
    pub person: Option<String>,
}

impl PromptReply {
    /// A message for the agent alone.
    pub(super) fn for_agent(context: &Context<'_>, text: &str) -> Self {
        Self { agent: format!("[{}] {text}", context.dialect.name), person: None }
    }

    /// A message for the agent, with a line for the person.
    pub(super) fn for_both(context: &Context<'_>, agent: &str, person: &str) -> Self {
        let name = context.dialect.name;
        Self { agent: format!("[{name}] {agent}"), person: Some(format!("{name}: {person}")) }
    }
}

/// What a cancel leaves to do: processes of cancelled runs are alive, or the cancel itself
/// could not be written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelRest {
    /// Nothing.
    Nothing,
    /// In this session.
    Session,
    /// In every session.
    EverySession,
    /// In every session, and the state of all modes has to be removed.
    Force,
}

/// Interprets a prompt and carries it out.
pub fn prompted(
    context: &Context<'_>,
    session: &SessionId,
    seen: &PromptSeen<'_>,
) -> Result<Prompted, Refusal> {
    let prompt = ScannedPrompt::new(seen.text);
    // Most prompts do not concern omx; that is clear without reading any file.
    let Some(present) = wanted_present(context, session, &prompt)? else {
        return answer_other_prompt(context, session, seen);
    };
    match prompt.decide(KeywordPolicy::Explicit, present) {
        PromptDecision::Nothing => answer_other_prompt(context, session, seen),
        PromptDecision::Cancel(call) => cancel(context, session, call),
        PromptDecision::Resume => resume(context, session),
        PromptDecision::Continue => go_on(context, session),
        PromptDecision::Start(wanted) => begin(context, session, &wanted),
        PromptDecision::Suggest(mode) => phrase(context, session, &prompt, present, mode),
    }
}

fn answer_other_prompt(
    context: &Context<'_>,
    session: &SessionId,
    seen: &PromptSeen<'_>,
) -> Result<Prompted, Refusal> {
    let reply = notes::record_other_prompt(context, session, seen)?;
    Ok(reply.map_or(Prompted::Nothing, Prompted::Replied))
}

/// The state of the session, if the prompt could mean anything in some state.
fn wanted_present(
    context: &Context<'_>,
    session: &SessionId,
    prompt: &ScannedPrompt<'_>,
) -> Result<Option<SessionState>, Refusal> {
    let idle = |present| prompt.decide(KeywordPolicy::Explicit, present) == PromptDecision::Nothing;
    if [SessionState::Idle, SessionState::Active, SessionState::Blocked].into_iter().all(idle) {
        return Ok(None);
    }
    let found = read_session(context, session)?;
    Ok(Some(found.map_or(SessionState::Idle, |found| present(&found.read.snapshot))))
}

/// The state of a session as far as prompts depend on it.
pub fn present(snapshot: &Snapshot) -> SessionState {
    if snapshot.active_modes().next().is_some() {
        SessionState::Active
    } else if blocked(snapshot).is_some() {
        SessionState::Blocked
    } else {
        SessionState::Idle
    }
}

fn blocked(snapshot: &Snapshot) -> Option<Mode> {
    let is_blocked = |mode: &Mode| {
        let document = snapshot.documents.get(mode);
        document
            .is_some_and(|document| document.status() == DocumentStatus::Ended(RunEnding::Blocked))
    };
    Mode::STOP_PRIORITY.into_iter().find(is_blocked)
}

/// Suggests a mode, starts it or ignores the phrase, as configured.
fn phrase(
    context: &Context<'_>,
    session: &SessionId,
    prompt: &ScannedPrompt<'_>,
    present: SessionState,
    mode: Mode,
) -> Result<Prompted, Refusal> {
    let store = context.store()?;
    let config = load(context, &store).ok();
    let word = config.as_ref().and_then(|config| config.get("keywords")?.value.as_str());
    let keywords = word.and_then(KeywordPolicy::parse).unwrap_or_default();
    match prompt.decide(keywords, present) {
        PromptDecision::Start(wanted) => begin(context, session, &wanted),
        PromptDecision::Suggest(_) => {
            let text = format!(
                "There is a mode for this: {0}. It was not started. If the person wants it, they type ${0}.",
                mode.name()
            );
            Ok(Prompted::Replied(PromptReply::for_agent(context, &text)))
        }
        _ => Ok(Prompted::Nothing),
    }
}

fn resume(context: &Context<'_>, session: &SessionId) -> Result<Prompted, Refusal> {
    let Some(found) = read_session(context, session)? else { return Ok(Prompted::Nothing) };
    let Some(mode) = blocked(&found.read.snapshot) else { return Ok(Prompted::Nothing) };
    let wanted = ModeStart { mode, linked: Vec::new(), task: "", form: CallForm::Call };
    begin(context, session, &wanted)
}

/// Tells the agent what the active mode asks for now, also after an interrupt.
fn go_on(context: &Context<'_>, session: &SessionId) -> Result<Prompted, Refusal> {
    notes::continued(context, session)?;
    let Some(found) = read_session(context, session)? else { return Ok(Prompted::Nothing) };
    let snapshot = &found.read.snapshot;
    let active =
        Mode::STOP_PRIORITY.into_iter().find_map(|mode| Some((mode, snapshot.active(mode)?)));
    let Some((mode, document)) = active else { return Ok(Prompted::Nothing) };
    let agent = hold_text::format_instruction(mode, document, context.dialect);
    let how = hold_text::format_stop_word(context.dialect);
    let person = format!("{} continues. {how}", mode.title());
    Ok(Prompted::Replied(PromptReply::for_both(context, &agent, &person)))
}
