//! Writes a document: lock, read, decide, write, log, report.

use omx_kernel::request::WriteRequest;
use omx_kernel::write::{WriteContext, WritePlan, plan_write, required_facts};
use omx_kernel::{GuardedAct, Mode, Refusal, RefusalCode, Scope, Snapshot, Value};
use omx_store::{EventKind, LockedStore, LogEvent, QuarantinedDocument, StoreError};

use crate::cancel::settle_cancel;
use crate::config::limits;
use crate::context::Context;
use crate::facts;
use crate::report;
use crate::request::StateWriteRequest;

/// Merges a request into a document.
pub fn state_write(context: &Context<'_>, request: StateWriteRequest) -> Result<Value, Refusal> {
    let mode = request.mode;
    let scope = context.scope(request.session.as_ref())?;
    let store = context.store_for(request.project.as_deref())?;
    context.check_act(GuardedAct::InScope(store.root(), &scope))?;
    let limit_rule = request.limit_rule;
    let request = WriteRequest::new(mode, scope.session(), request.fields)?;
    let request = request.with_limit_rule(limit_rule);
    let limits = limits(context, &store)?;
    let now = context.now();
    let decide = |snapshot: &Snapshot| {
        let questions = required_facts(snapshot, &request);
        let facts = facts::answer(&questions, &store, &context.place.working_directory);
        let circumstances =
            WriteContext { now, limits: &limits, facts: &facts, dialect: context.dialect };
        let plan = plan_write(snapshot, &request, circumstances)?;
        for (_, document) in &plan.writes {
            LockedStore::check_size(document)?;
        }
        Ok::<WritePlan, Refusal>(plan)
    };
    if !store.has_state() {
        // Check before locking, so that a refused first write leaves no trace in the project.
        decide(&Snapshot::empty(scope.clone()))?;
    }
    settle_cancel(context, &store, &scope);
    let locked = context.lock(&store, "state write")?;
    let read = locked.scope(&scope)?;
    if scope == Scope::Compatibility {
        no_session_has(&locked, mode)?;
    }
    // Move an unreadable document aside and continue without it. Anything else in its
    // place stops the write.
    let broken = read.unreadable.iter().find(|found| found.mode == mode);
    if let Some(found) = broken
        && !matches!(found.error, StoreError::Corrupt { .. })
        && let Some(refusal) = read.refusal(mode)
    {
        return Err(refusal);
    }
    let plan = decide(&read.snapshot)?;
    let moved = match broken {
        Some(found) => locked.quarantine(found, now)?.into_iter().collect(),
        None => Vec::new(),
    };
    for (written, document) in &plan.writes {
        locked.write(&scope, *written, document)?;
    }
    if let Some(activity) = &plan.activity {
        // Without it, the new run only has fewer holds left.
        let _ = locked.write_activity(&scope, activity, now);
    }
    locked.log(&events(context, &scope, &plan));
    Ok(answer(&locked, &scope, mode, &plan, &moved))
}

/// Refuses to write outside a session a mode that is active in one: a run never has two documents.
fn no_session_has(locked: &LockedStore, mode: Mode) -> Result<(), Refusal> {
    let mut sessions = Vec::new();
    for session in locked.state().sessions()? {
        let scope = Scope::Session(session.clone());
        let document = locked.state().document(&scope, mode);
        if document.ok().flatten().is_some_and(|document| document.is_active()) {
            sessions.push(session.to_string());
        }
    }
    if sessions.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalCode::SessionRequired,
        format!(
            "{} is active in session {}; select one with session_id",
            mode.name(),
            sessions.join(", ")
        ),
    ))
}

fn events(context: &Context<'_>, scope: &Scope, plan: &WritePlan) -> Vec<LogEvent> {
    let time = context.now();
    let event = |(mode, document): &(Mode, omx_kernel::Document)| {
        LogEvent::new(time, context.actor, EventKind::StateWrite, scope)
            .with_team_of(document)
            .with_data([
                ("mode", Value::string(mode.name())),
                ("revision", Value::integer(document.revision())),
                ("active", Value::bool(document.is_active())),
                ("phase", Value::string_or_null(document.phase())),
            ])
    };
    plan.writes.iter().map(event).collect()
}

fn answer(
    locked: &LockedStore,
    scope: &Scope,
    mode: Mode,
    plan: &WritePlan,
    moved: &[QuarantinedDocument],
) -> Value {
    let revision = plan.document(mode).map_or(0, omx_kernel::Document::revision);
    let mut fields = vec![
        ("success", Value::bool(true)),
        ("mode", Value::string(mode.name())),
        ("path", report::path(&locked.state().document_path(scope, mode))),
        ("revision", Value::integer(revision)),
    ];
    if let Some(ran_out) = &plan.exhausted {
        // The write succeeded by ending the run; the caller must notice.
        fields.push(("run_outcome", Value::string("failed")));
        fields.push(("ended_because", Value::string(ran_out.error())));
    }
    report::with_lists(fields, [("quarantined", report::quarantined(moved))])
}
