//! Handles the person's prompt before the agent sees it: it may start a mode, cancel
//! active modes, or resume a blocked one.

use omx_kernel::document::DocumentStatus;
use omx_kernel::ids::slug;
use omx_kernel::outcome::RunEnding;
use omx_kernel::session_events::shorten;
use omx_kernel::start::{self, StartOutcome, StartRequest};
use omx_kernel::write::WriteContext;
use omx_kernel::{Mode, Refusal, RefusalCode, Scope, SessionId, Snapshot, stop};
use omx_prompt::{self as prompt, KeywordPolicy, ModeStart, PromptDecision, SessionState};
use omx_store::{ArtifactFolder, EventKind, LockedStore};

use super::{is_driven, notes, read_session, write_all};
use crate::cancel::{CancelRequest, RunProcesses, settle_cancel};
use crate::config::{limits, load};
use crate::context::Context;
use crate::facts;

/// The outcome of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompted {
    /// Nothing; the agent reads the prompt unchanged.
    Nothing,
    /// The agent gets this message in addition.
    Told(String),
    /// Everything active was cancelled.
    Cancelled {
        /// The message for the agent.
        text: String,
        /// Whether processes still have to be terminated.
        rest: Rest,
    },
}

/// What a cancel leaves to do besides the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// Processes of the cancelled runs are alive, or the cancel itself could not be written yet.
    Processes,
}

/// Interprets a prompt and carries it out.
pub fn prompted(
    context: &Context<'_>,
    session: &SessionId,
    text: &str,
) -> Result<Prompted, Refusal> {
    // Most prompts do not concern omx; that is clear without reading any file.
    let Some(present) = wanted_present(context, session, text)? else {
        notes::spoken(context, session)?;
        return Ok(Prompted::Nothing);
    };
    match prompt::decide(text, KeywordPolicy::Explicit, present) {
        PromptDecision::Nothing => {
            notes::spoken(context, session)?;
            Ok(Prompted::Nothing)
        }
        PromptDecision::Cancel => cancel(context, session),
        PromptDecision::Resume => resume(context, session),
        PromptDecision::Start(wanted) => begin(context, session, &wanted),
        PromptDecision::Suggest(mode) => phrase(context, session, text, present, mode),
    }
}

/// The state of the session, if the prompt could mean anything in some state.
fn wanted_present(
    context: &Context<'_>,
    session: &SessionId,
    text: &str,
) -> Result<Option<SessionState>, Refusal> {
    let idle =
        |present| prompt::decide(text, KeywordPolicy::Explicit, present) == PromptDecision::Nothing;
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
    text: &str,
    present: SessionState,
    mode: Mode,
) -> Result<Prompted, Refusal> {
    let store = context.store()?;
    let config = load(context, &store).ok();
    let word = config.as_ref().and_then(|config| config.get("keywords")?.value.as_str());
    let keywords = word.and_then(KeywordPolicy::parse).unwrap_or_default();
    match prompt::decide(text, keywords, present) {
        PromptDecision::Start(wanted) => begin(context, session, &wanted),
        PromptDecision::Suggest(_) => Ok(Prompted::Told(format!(
            "[{}] There is a mode for this: {}. It was not started. If the person wants it, they type ${}.",
            context.dialect.name,
            mode.name(),
            mode.name()
        ))),
        _ => Ok(Prompted::Nothing),
    }
}

fn cancel(context: &Context<'_>, session: &SessionId) -> Result<Prompted, Refusal> {
    // A hook has no time to wait for a run's process; `Rest` reports that it is left.
    let request = CancelRequest::session(session.clone(), RunProcesses::Leave);
    let store = context.store()?;
    let report = crate::cancel::cancel(context, &request)?;
    if report.is_empty() {
        return Ok(Prompted::Told(format!(
            "[{}] {}",
            context.dialect.name,
            omx_kernel::message::format_nothing_active(context.dialect)
        )));
    }
    let runs = is_driven(&store, session) || !report.teams.is_empty();
    // A later attempt has more time to wait for the lock.
    let is_unfinished = runs || !report.unrecorded.is_empty();
    let rest = if is_unfinished { Rest::Processes } else { Rest::Nothing };
    let text = format!("[{}] {}", context.dialect.name, report.lines.join(" "));
    Ok(Prompted::Cancelled { text, rest })
}

fn resume(context: &Context<'_>, session: &SessionId) -> Result<Prompted, Refusal> {
    let Some(found) = read_session(context, session)? else { return Ok(Prompted::Nothing) };
    let Some(mode) = blocked(&found.read.snapshot) else { return Ok(Prompted::Nothing) };
    let wanted = ModeStart { mode, linked: Vec::new(), task: "", form: prompt::CallForm::Call };
    begin(context, session, &wanted)
}

/// Starts a mode, or says why not.
fn begin(
    context: &Context<'_>,
    session: &SessionId,
    wanted: &ModeStart<'_>,
) -> Result<Prompted, Refusal> {
    match begun(context, session, wanted) {
        Ok(text) => Ok(Prompted::Told(format!("[{}] {text}", context.dialect.name))),
        // The hook swallows I/O errors and a busy lock; the person learns about other refusals.
        Err(refusal) if matches!(refusal.code, RefusalCode::Busy | RefusalCode::Io) => Err(refusal),
        Err(refusal) => Ok(Prompted::Told(format!(
            "[{}] {} was not started: {}. Tell the person.",
            context.dialect.name,
            wanted.mode.title(),
            refusal.message
        ))),
    }
}

fn begun(
    context: &Context<'_>,
    session: &SessionId,
    wanted: &ModeStart<'_>,
) -> Result<String, Refusal> {
    let store = context.store()?;
    let scope = Scope::Session(session.clone());
    let limits = limits(context, &store)?;
    let now = context.now();
    settle_cancel(context, &store, &scope);
    let locked = context.lock(&store, "hook")?;
    let read = locked.scope(&scope)?;
    let snapshot = &read.snapshot;
    let task = wanted.task.trim();
    let mut requested =
        StartRequest { mode: wanted.mode, companions: &wanted.linked, task, context_path: None };
    let facts = facts::answer(
        &start::required_facts(snapshot, &requested)?,
        &store,
        &context.place.working_directory,
    );
    let circumstances =
        WriteContext { now, limits: &limits, facts: &facts, dialect: context.dialect };
    let how = start::plan_start(snapshot, &requested, circumstances)?.outcome;
    let kept = if how == StartOutcome::Started && wanted.mode == Mode::Autopilot {
        Some(keep_words(&locked, &store, task, now)?)
    } else {
        None
    };
    requested.context_path = kept.as_deref();
    let plan = start::plan_start(snapshot, &requested, circumstances)?;
    for (_, document) in &plan.writes {
        LockedStore::check_size(document)?;
    }
    write_all(context, &locked, &scope, EventKind::Started, &plan.writes)?;
    let mut after = snapshot.clone();
    after.documents.extend(plan.writes);
    if plan.outcome != StartOutcome::AlreadyRunning {
        // A new run starts with fresh counters, but keeps the record of cleared documents.
        let mut activity = snapshot.activity.clone();
        activity.last_seen = Some(now);
        activity.holds_in_a_row = 0;
        activity.same_fingerprint = 0;
        activity.fingerprint = None;
        activity.interrupted = false;
        activity.last_tool = None;
        let _ = locked.write_activity(&scope, &activity, now);
    }
    Ok(render_start(context, session, wanted, plan.outcome, &after))
}

/// Keeps the task for later phases. Returns the file's path relative to the project's root.
fn keep_words(
    locked: &LockedStore,
    store: &omx_store::Store,
    task: &str,
    now: omx_kernel::Timestamp,
) -> Result<String, Refusal> {
    let stem = format!("{}-{}", slug(task), now.millis());
    let text = format!("# Task\n\n{task}\n\nStarted: {now}\n");
    let path = locked.write_artifact(ArtifactFolder::Context, &stem, "md", &text)?;
    let path = path.strip_prefix(store.root()).unwrap_or(&path);
    Ok(path.display().to_string())
}

fn render_start(
    context: &Context<'_>,
    session: &SessionId,
    wanted: &ModeStart<'_>,
    how: StartOutcome,
    after: &Snapshot,
) -> String {
    let mode = wanted.mode;
    let title = mode.title();
    let state = after
        .active(mode)
        .map(|document| stop::format_hold(mode, document, context.dialect))
        .unwrap_or_default();
    let linked: Vec<&str> = wanted.linked.iter().map(|mode| mode.name()).collect();
    let with = if linked.is_empty() {
        String::new()
    } else {
        format!(", linked with {}", linked.join(" and "))
    };
    let begins = match how {
        StartOutcome::Started => format!("{title} started{with} in session {session}."),
        StartOutcome::Resumed => format!("{title} resumed{with} in session {session}."),
        StartOutcome::AlreadyRunning => {
            format!("{title} is already running in session {session}; nothing was started.")
        }
    };
    let task = after
        .active(mode)
        .and_then(|document| document.get_str("task_description"))
        .filter(|task| how == StartOutcome::Resumed && !task.is_empty())
        .map(|task| format!(" Task: {}", shorten(task)))
        .unwrap_or_default();
    format!(
        "{begins}{task} {state}. Follow the skill {}; record every change of phase with state_write (mode {}, session_id {session}).",
        mode.name(),
        mode.name()
    )
}
