//! Starts a mode that a prompt calls. A call without a task never replaces a run: it
//! resumes the latest one, also if that belongs to another session, or asks for a task.

use omx_kernel::bare_call::{self, OtherRun};
use omx_kernel::document::DocumentStatus;
use omx_kernel::ids::slug;
use omx_kernel::outcome::RunEnding;
use omx_kernel::session_events::{self, shorten};
use omx_kernel::start::{self, StartOutcome, StartRequest};
use omx_kernel::write::WriteContext;
use omx_kernel::{
    Document, Mode, Refusal, RefusalCode, RunId, Scope, SessionId, Snapshot, hold_text,
};
use omx_prompt::ModeStart;
use omx_store::{ArtifactFolder, EventKind, LockedStore, Store};

use super::prompt::{PromptReply, Prompted};
use super::write_all;
use crate::cancel::settle_cancel;
use crate::clear::remember;
use crate::config::limits;
use crate::context::Context;
use crate::facts;

/// Starts or resumes a mode, or says why not.
pub(super) fn begin(
    context: &Context<'_>,
    session: &SessionId,
    wanted: &ModeStart<'_>,
) -> Result<Prompted, Refusal> {
    match begun(context, session, wanted) {
        Ok(reply) => Ok(Prompted::Replied(reply)),
        // The hook swallows I/O errors and a busy lock; the person learns about other refusals.
        Err(refusal) if matches!(refusal.code, RefusalCode::Busy | RefusalCode::Io) => Err(refusal),
        Err(refusal) => {
            let text = format!("{} was not started: {}.", wanted.mode.title(), refusal.message);
            let reply = PromptReply::for_both(context, &format!("{text} Tell the person."), &text);
            Ok(Prompted::Replied(reply))
        }
    }
}

/// A run of the same mode that a bare call found, as it was before the call.
struct FoundRun {
    document: Document,
    /// The scope that it comes from, if that is not the session's own.
    other: Option<Scope>,
}

fn begun(
    context: &Context<'_>,
    session: &SessionId,
    wanted: &ModeStart<'_>,
) -> Result<PromptReply, Refusal> {
    let store = context.store()?;
    let scope = Scope::Session(session.clone());
    let task = wanted.task.trim();
    if task.is_empty() && store.read()?.is_none() {
        // Nothing to resume, and no reason to create anything.
        let (how, after) = (StartOutcome::TaskMissing, &Snapshot::empty(scope));
        return Ok(BegunMode { wanted, session, how, after, found: None }.reply(context));
    }
    let limits = limits(context, &store)?;
    let now = context.now();
    settle_cancel(context, &store, &scope);
    let locked = context.lock(&store, "hook")?;
    let read = locked.scope(&scope)?;
    let mut snapshot = read.snapshot;
    let mode = wanted.mode;
    let mut requested = StartRequest { mode, companions: &wanted.linked, task, context_path: None };
    let mut found = snapshot
        .documents
        .get(&mode)
        .map(|document| FoundRun { document: document.clone(), other: None });
    if start::predict_outcome(&snapshot, &requested, now) == StartOutcome::TaskMissing
        && let Some(other) = find_elsewhere(&store, &locked, session, mode)
    {
        let own = found.map_or(0, |own| own.document.revision());
        let last = own.max(snapshot.activity.last_revision(mode.name()));
        let taken_over = bare_call::take_over(&other, session.as_str(), last);
        snapshot.documents.insert(mode, taken_over);
        found = Some(FoundRun { document: other.document, other: Some(other.scope) });
    }
    let facts = facts::answer(
        &start::required_facts(&snapshot, &requested)?,
        &store,
        &context.place.working_directory,
    );
    let circumstances =
        WriteContext { now, limits: &limits, facts: &facts, dialect: context.dialect };
    let how = start::plan_start(&snapshot, &requested, circumstances)?.outcome;
    let kept = if how == StartOutcome::Started && mode == Mode::Autopilot {
        Some(keep_words(&locked, &store, task, now)?)
    } else {
        None
    };
    requested.context_path = kept.as_deref();
    let plan = start::plan_start(&snapshot, &requested, circumstances)?;
    for (_, document) in &plan.writes {
        LockedStore::check_size(document)?;
    }
    write_all(context, &locked, &scope, EventKind::Started, &plan.writes)?;
    if how == StartOutcome::Resumed
        && let Some(FoundRun { document, other: Some(other) }) = &found
    {
        // The run has moved. A crash before this leaves its old document, which is inert.
        let _ = remember(&locked, other, &[(mode, document)], now);
        let _ = locked.remove(other, mode);
    }
    let mut after = snapshot.clone();
    after.documents.extend(plan.writes);
    if plan.outcome == StartOutcome::AlreadyRunning && snapshot.activity.interrupted {
        // The person calls the run that they interrupted.
        if let Some(activity) = session_events::record_continue(&snapshot.activity, now) {
            let _ = locked.write_activity(&scope, &activity, now);
        }
    }
    if plan.outcome.begins_work() {
        // A new run starts with fresh counters, but keeps the record of cleared documents.
        let mut activity = snapshot.activity.clone();
        activity.last_seen = Some(now);
        activity.reset_holds();
        activity.interrupted = false;
        activity.last_tool = None;
        let _ = locked.write_activity(&scope, &activity, now);
    }
    let begun = BegunMode { wanted, session, how: plan.outcome, after: &after, found };
    Ok(begun.reply(context))
}

/// The latest run of the mode in other sessions of the project. Runs that omx drives are
/// resumed by their own command, in their own worktree.
fn find_elsewhere(
    store: &Store,
    locked: &LockedStore,
    own: &SessionId,
    mode: Mode,
) -> Option<OtherRun> {
    let is_run = |session: &SessionId| {
        RunId::new(session.as_str()).is_ok_and(|id| matches!(store.run(&id), Ok(Some(_))))
    };
    let state = locked.state();
    let sessions = state.sessions().unwrap_or_default();
    let others = sessions.into_iter().filter(|session| session != own).map(Scope::Session);
    let runs = others.chain([Scope::Compatibility]).filter_map(|scope| {
        let document = state.document(&scope, mode).ok()??;
        (!scope.session().is_some_and(is_run)).then_some(OtherRun { scope, document })
    });
    bare_call::choose_other_run(mode, runs.collect())
}

/// Keeps the task for later phases. Returns the file's path relative to the project's root.
fn keep_words(
    locked: &LockedStore,
    store: &Store,
    task: &str,
    now: omx_kernel::Timestamp,
) -> Result<String, Refusal> {
    let stem = format!("{}-{}", slug(task), now.millis());
    let text = format!("# Task\n\n{task}\n\nStarted: {now}\n");
    let path = locked.write_artifact(ArtifactFolder::Context, &stem, "md", &text)?;
    let path = path.strip_prefix(store.root()).unwrap_or(&path);
    Ok(path.display().to_string())
}

/// A call of a mode and what became of it.
struct BegunMode<'a> {
    wanted: &'a ModeStart<'a>,
    session: &'a SessionId,
    how: StartOutcome,
    after: &'a Snapshot,
    found: Option<FoundRun>,
}

impl BegunMode<'_> {
    fn reply(&self, context: &Context<'_>) -> PromptReply {
        let mode = self.wanted.mode;
        let (title, name) = (mode.title(), mode.name());
        match self.how {
            StartOutcome::AlreadyComplete => {
                let document = self.found.as_ref().map(|found| &found.document);
                let age = document.map(|document| bare_call::format_ended(document, context.now()));
                let summary = document.map(bare_call::summarize_completed).unwrap_or_default();
                let complete = format!(
                    "{title} is complete ({}). Nothing was started.",
                    age.unwrap_or_default()
                );
                PromptReply::for_both(
                    context,
                    &format!(
                        "{complete} {summary}. Report this to the person; only ${name} with a task starts a new run."
                    ),
                    &format!("{complete} {summary}"),
                )
            }
            StartOutcome::TaskMissing => PromptReply::for_both(
                context,
                &format!(
                    "{title} was not started: no task was given, and there is no {name} run to resume. Ask the person what to work on. They start it with ${name} followed by the task."
                ),
                &format!("{title} needs a task: ${name} followed by what to do."),
            ),
            StartOutcome::Started | StartOutcome::Resumed | StartOutcome::AlreadyRunning => {
                self.running_reply(context)
            }
        }
    }

    fn running_reply(&self, context: &Context<'_>) -> PromptReply {
        let (mode, session) = (self.wanted.mode, self.session);
        let title = mode.title();
        let document = self.after.active(mode);
        let state = document
            .map(|document| hold_text::format_instruction(mode, document, context.dialect))
            .unwrap_or_default();
        let linked: Vec<&str> = self.wanted.linked.iter().map(|mode| mode.name()).collect();
        let with = if linked.is_empty() {
            String::new()
        } else {
            format!(", linked with {}", linked.join(" and "))
        };
        let headline = match self.how {
            StartOutcome::Started => format!("{title} started{with}"),
            StartOutcome::Resumed => format!("{title} resumed{with}"),
            _ => format!("{title} is already running"),
        };
        let place = match self.how {
            StartOutcome::Started | StartOutcome::Resumed => format!(" in session {session}."),
            _ => format!(" in session {session}; nothing was started."),
        };
        let task = document
            .and_then(|document| document.get_str("task_description"))
            .filter(|task| self.how == StartOutcome::Resumed && !task.is_empty())
            .map(|task| format!(" Task: {}.", shorten(task)))
            .unwrap_or_default();
        let used_up = document
            .filter(|_| self.how == StartOutcome::Resumed)
            .and_then(|document| {
                hold_text::format_used_up(mode, document, session, context.dialect)
            })
            .map(|text| format!(" {text}"))
            .unwrap_or_default();
        let origin = self.describe_origin(context, "the person");
        let agent = format!(
            "{headline}{place}{task}{origin}{used_up} {state}. Follow the skill {0}; record every change of phase with state_write (mode {0}, session_id {session}).",
            mode.name()
        );
        let origin = self.describe_origin(context, "you");
        let person = format!(
            "{headline}.{task}{origin}{used_up} The agent works until it is finished. {}",
            hold_text::format_stop_word(context.dialect)
        );
        PromptReply::for_both(context, &agent, &person)
    }

    /// Where a resumed run comes from, and why it had stopped.
    fn describe_origin(&self, context: &Context<'_>, person: &str) -> String {
        let Some(found) = self.found.as_ref().filter(|_| self.how == StartOutcome::Resumed) else {
            return String::new();
        };
        let document = &found.document;
        let how = match document.status() {
            DocumentStatus::Ended(RunEnding::Blocked) => format!("stopped to wait for {person}"),
            DocumentStatus::Ended(RunEnding::Failed) => "failed".to_owned(),
            DocumentStatus::Ended(_) => "was cancelled".to_owned(),
            DocumentStatus::Active => return String::new(),
        };
        let age = bare_call::format_ended(document, context.now());
        let from = match &found.other {
            Some(Scope::Session(other)) => format!(" in session {other}; it continues here"),
            Some(Scope::Compatibility) => " outside any session; it continues here".to_owned(),
            None => String::new(),
        };
        let why = document.get_str("error").filter(|error| !error.is_empty());
        let why = why
            .map(|error| format!(": {}", shorten(hold_text::describe_error(error))))
            .unwrap_or_default();
        format!(" It {how} {age}{from}{why}.")
    }
}
