//! The write rule: a snapshot and a request in, the documents to write out.
//!
//! Everything that may be refused is refused here, before anything is written.

use crate::base_document::{BaseDocument, IterationLimits, fill_defaults};
use crate::counters::{self, Exhaustion};
use crate::dialect::Dialect;
use crate::document::Document;
use crate::evidence::{FactQuery, FileFacts, Requirement, missing_evidence};
use crate::fields;
use crate::links;
use crate::mode::Mode;
use crate::outcome::{RunEnding, RunOutcome};
use crate::refusal::{Refusal, RefusalCode};
use crate::request::WriteRequest;
use crate::review::ReviewVerdict;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::transition::{self, TransitionTarget, TransitionTerms};
use crate::value::Value;
use crate::write_goal::{WriteGoal, contradiction};

/// What a write changes, in the order in which it must reach the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritePlan {
    /// Documents, dependents before what they depend on.
    pub writes: Vec<(Mode, Document)>,
    /// Set when a limit turned the request into an end.
    pub exhausted: Option<Exhaustion>,
}

impl WritePlan {
    /// The document the request was for.
    pub fn document(&self, mode: Mode) -> Option<&Document> {
        self.writes.iter().find(|(written, _)| *written == mode).map(|(_, document)| document)
    }
}

/// What a rule needs besides snapshot and request.
#[derive(Clone, Copy, Debug)]
pub struct WriteContext<'a> {
    /// The time of the write.
    pub now: Timestamp,
    /// Configured limits of starts.
    pub limits: &'a IterationLimits,
    /// Answers to [`questions`].
    pub facts: &'a FileFacts,
    /// The words in which a refusal names commands.
    pub dialect: Dialect,
}

/// What this write wants to know of the world outside; nothing for most writes.
pub fn required_facts(snapshot: &Snapshot, request: &WriteRequest) -> FactQuery {
    let names_an_end = ["current_phase", "run_outcome", "lifecycle_outcome"]
        .iter()
        .any(|name| request.get(name).is_some());
    let mut questions = FactQuery::default();
    if names_an_end {
        let old = snapshot.documents.get(&request.mode).cloned().unwrap_or_default();
        questions = FactQuery::for_document(&merged(old, request));
    }
    if request.mode == Mode::Ralph
        && let Some(plan) = snapshot.active(Mode::Ralplan)
    {
        questions.paths.extend(FactQuery::for_document(plan).paths);
    }
    questions
}

/// Decides a write.
pub fn plan_write(
    snapshot: &Snapshot,
    request: &WriteRequest,
    circumstances: WriteContext<'_>,
) -> Result<WritePlan, Refusal> {
    let WriteContext { now, limits, facts, dialect } = circumstances;
    let mode = request.mode;
    let old = snapshot.documents.get(&mode);
    let revision = old.map_or(0, Document::revision);
    if let Some(expected) = request.expected_revision
        && expected != revision
    {
        return Err(Refusal::new(
            RefusalCode::RevisionConflict,
            format!("{} is at revision {revision}, not {expected}; read it again", mode.name()),
        ));
    }
    let asked = WriteGoal::parse(request, old)?;
    let beginning = BaseDocument::select(request, &asked, snapshot, now, dialect)?;
    let is_new = matches!(beginning, BaseDocument::New);
    let mut exhausted = None;
    let mut document = match beginning {
        BaseDocument::New => {
            let mut document = merged(Document::default(), request);
            if asked.ending.is_none() {
                fill_defaults(&mut document, mode, &asked, limits, now)?;
            } else {
                document.remove("current_phase");
                end(&mut document, request, &asked, None, now, facts)?;
            }
            document
        }
        BaseDocument::Current(base) if !base.is_active() => {
            counters::check_limits(&base, request, limits)?;
            let mut document = merged(base.clone(), request);
            keep_ending(&mut document, &base);
            document
        }
        BaseDocument::Reopened(base) | BaseDocument::Current(base) => {
            counters::check_limits(&base, request, limits)?;
            let from = base.phase().map(str::to_owned);
            let mut document = merged(base.clone(), request);
            restore(&mut document, &base, &["current_phase"]);
            if let Some(to) = &asked.phase {
                exhausted = enter(&mut document, &base, request, to, &asked, facts)?;
            }
            match (&exhausted, asked.ending) {
                (Some(ran_out), _) => {
                    document.set("error", Value::string(ran_out.error()));
                    document.end(mode, RunEnding::Failed, now);
                }
                (None, Some(_)) => {
                    end(&mut document, request, &asked, from.as_deref(), now, facts)?;
                }
                (None, None) => go_on(&mut document, &asked),
            }
            document
        }
    };
    if let Some(original) = &asked.normalized_from {
        let name = format!("{}_phase_normalized_from", mode.name());
        document.set(&name, Value::string(original));
    }
    check_result(mode, &document)?;
    let revision = revision.max(snapshot.activity.last_revision(mode.name())).saturating_add(1);
    let session = snapshot.scope.session().map(|id| id.as_str());
    document.stamp(mode, session, revision, now);
    if is_new {
        document.sort_as_new();
    }
    together(snapshot, request, document, circumstances)
        .map(|writes| WritePlan { writes, exhausted })
}

/// The document with the request's fields put over it.
fn merged(mut document: Document, request: &WriteRequest) -> Document {
    for (name, value) in &request.fields {
        match (name.as_str(), value.as_object()) {
            (fields::MERGED_FIELD, Some(over)) => {
                let old = document.get(name).cloned().unwrap_or_else(Value::null);
                document.set(name, old.merged(over));
            }
            _ if value.is_null() && !fields::is_mode_field(request.mode, name) => {
                document.remove(name)
            }
            _ => document.set(name, value.clone()),
        }
    }
    document
}

/// Puts fields back to what they were before the request was merged.
fn restore(document: &mut Document, base: &Document, names: &[&str]) {
    for name in names {
        match base.get(name) {
            Some(value) => document.set(name, value.clone()),
            None => document.remove(name),
        }
    }
}

/// An ended document keeps how it ended, whatever spelling the request used.
fn keep_ending(document: &mut Document, base: &Document) {
    restore(
        document,
        base,
        &["active", "current_phase", "run_outcome", "lifecycle_outcome", "completed_at", "waiting"],
    );
}

/// A live run stays live: its outcome fields say so.
fn go_on(document: &mut Document, asked: &WriteGoal) {
    let stored = document.get_str("run_outcome").and_then(|word| RunOutcome::parse(word).ok());
    let outcome = asked.live_outcome.or(match stored {
        Some(RunOutcome::Progress) => Some(RunOutcome::Progress),
        _ => None,
    });
    document.set("active", Value::bool(true));
    document.set("run_outcome", Value::string(outcome.unwrap_or(RunOutcome::Continue).as_str()));
    document.remove("lifecycle_outcome");
    document.remove("completed_at");
}

/// Enters a live phase. Says why, if a limit turned that into the end.
fn enter(
    document: &mut Document,
    base: &Document,
    request: &WriteRequest,
    to: &str,
    asked: &WriteGoal,
    facts: &FileFacts,
) -> Result<Option<Exhaustion>, Refusal> {
    let mode = request.mode;
    let target = TransitionTarget::Live(to);
    let terms = transition::find_terms(mode, base.phase(), target, &asked.stages)?;
    let from = base.phase().unwrap_or_default();
    allow(mode, document, from, target, terms, asked, facts)?;
    let exhausted = counters::apply_counter(document, base, request, terms.counter, to)?;
    if exhausted.is_none() {
        document.set("current_phase", Value::string(to));
        if mode == Mode::Autopilot && to == "code-review" && from != to {
            // The verdict of an earlier cycle says nothing of this one.
            let verdict = request.get("review_verdict").cloned().unwrap_or_else(Value::null);
            document.set("review_verdict", verdict);
        }
    }
    Ok(exhausted)
}

/// Ends the run as asked, if it may end so.
fn end(
    document: &mut Document,
    request: &WriteRequest,
    asked: &WriteGoal,
    from: Option<&str>,
    now: Timestamp,
    facts: &FileFacts,
) -> Result<(), Refusal> {
    let Some(ending) = asked.ending else { return Ok(()) };
    let mode = request.mode;
    let terms = transition::find_terms(mode, from, TransitionTarget::End(ending), &asked.stages)?;
    allow(
        mode,
        document,
        from.unwrap_or_default(),
        TransitionTarget::End(ending),
        terms,
        asked,
        facts,
    )?;
    let completed = request.get_str("completed_at").map(str::to_owned);
    document.end(mode, ending, now);
    if let Some(completed) = completed {
        document.set("completed_at", Value::string(&completed));
    }
    Ok(())
}

fn allow(
    mode: Mode,
    document: &Document,
    from: &str,
    target: TransitionTarget<'_>,
    terms: TransitionTerms,
    asked: &WriteGoal,
    facts: &FileFacts,
) -> Result<(), Refusal> {
    let missing = missing_evidence(terms.requirement, document, from, facts);
    if missing.is_empty() {
        return Ok(());
    }
    let mut refusal =
        transition::refuse_missing_evidence(mode, from, target, &missing, &asked.stages);
    let is_open =
        ReviewVerdict::from_value(document.get("review_verdict")).is_some_and(|v| !v.is_clean());
    if terms.requirement == Requirement::CleanReview && is_open {
        refusal.message.push_str("; a review that is not clean goes back to ralplan");
    }
    Err(refusal)
}

/// What must hold for every document omx writes.
fn check_result(mode: Mode, document: &Document) -> Result<(), Refusal> {
    if let (Some(iteration), Some(limit)) =
        (document.get_u64("iteration"), document.get_u64("max_iterations"))
        && iteration > limit
    {
        return Err(Refusal::invalid_input(format!(
            "iteration {iteration} is over max_iterations {limit}"
        )));
    }
    let verdict = ReviewVerdict::from_value(document.get("review_verdict"));
    if let Some(verdict) = verdict
        && matches!(mode, Mode::Autopilot | Mode::CodeReview)
        && verdict.says_clean() == Some(true)
        && !verdict.is_clean()
    {
        return Err(contradiction(
            "review_verdict says clean, but clean is only APPROVE with CLEAR and no open finding",
        ));
    }
    Ok(())
}

/// Brings the document among its neighbours: exclusivity, hand-over, links.
fn together(
    snapshot: &Snapshot,
    request: &WriteRequest,
    document: Document,
    circumstances: WriteContext<'_>,
) -> Result<Vec<(Mode, Document)>, Refusal> {
    let mode = request.mode;
    let now = circumstances.now;
    let mut documents = snapshot.documents.clone();
    let is_live = document.is_active();
    documents.insert(mode, document);
    let mut changed = vec![mode];
    let begins = is_live && snapshot.active(mode).is_none();
    if begins && mode.is_driver() {
        let others: Vec<Mode> =
            snapshot.active_modes().filter(|other| *other != mode && other.is_driver()).collect();
        for other in others {
            let plan = &documents[&other];
            let hands_over = mode == Mode::Ralph
                && other == Mode::Ralplan
                && missing_evidence(Requirement::Consensus, plan, "", circumstances.facts)
                    .is_empty();
            if !hands_over && links::are_linked(&documents, mode, other) {
                continue;
            }
            if !hands_over {
                return Err(Refusal::new(
                    RefusalCode::ModeConflict,
                    format!(
                        "{} cannot start: {} is running in this session; cancel it first ({} cancel --mode {})",
                        mode.name(),
                        other.name(),
                        circumstances.dialect.name,
                        other.name()
                    ),
                ));
            }
            let mut plan = plan.clone();
            plan.end(other, RunEnding::Finished, now);
            plan.set("completion_note", Value::string("handed over to ralph"));
            documents.insert(other, plan);
            changed.push(other);
        }
    }
    if is_live {
        let linked = links::reconcile(&mut documents, mode, |name| request.get(name).is_some());
        changed.extend(linked);
    } else if snapshot.active(mode).is_some() {
        changed.extend(links::end_dependents(&mut documents, mode, now));
    }
    links::dependents_first(&mut changed);
    let session = snapshot.scope.session().map(|id| id.as_str());
    let writes = changed.into_iter().filter_map(|written| {
        let mut document = documents.remove(&written)?;
        if written != mode {
            let revision = document.next_revision();
            document.stamp(written, session, revision, now);
        }
        Some((written, document))
    });
    Ok(writes.collect())
}
