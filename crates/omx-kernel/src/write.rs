//! The write rule: from a snapshot and a request to the documents to write.
//!
//! Every refusal happens here, before anything is written.

use crate::activity::SessionActivity;
use crate::base_document::{BaseDocument, IterationLimits, fill_defaults};
use crate::counters::{self, GiveUpReason};
use crate::dialect::Dialect;
use crate::document::Document;
use crate::evidence::{FactQuery, FileFacts, Requirement, missing_evidence};
use crate::fields;
use crate::links;
use crate::mode::Mode;
use crate::outcome::{DocumentOutcome, RunEnding};
use crate::refusal::{Refusal, RefusalCode};
use crate::request::{StageRule, WriteRequest};
use crate::review::ReviewVerdict;
use crate::review_cycle;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::transition::{self, CounterUpdate, TransitionTarget, TransitionTerms};
use crate::value::Value;
use crate::write_goal::{WriteGoal, contradiction};

/// The changes of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritePlan {
    /// The documents to write, in this order: dependents before their parents.
    pub writes: Vec<(Mode, Document)>,
    /// Set if the request ended the run because it is exhausted.
    pub exhausted: Option<GiveUpReason>,
    /// The session's activity record, if the write changes it: a new run has not been held,
    /// and an agent that writes works again after an interrupt.
    pub activity: Option<SessionActivity>,
}

impl WritePlan {
    /// Returns the document of a mode, if the plan writes it.
    pub fn document(&self, mode: Mode) -> Option<&Document> {
        self.writes.iter().find(|(written, _)| *written == mode).map(|(_, document)| document)
    }
}

/// What the write rule needs besides snapshot and request.
#[derive(Clone, Copy, Debug)]
pub struct WriteContext<'a> {
    /// The time of the write.
    pub now: Timestamp,
    /// Configured iteration limits of new runs.
    pub limits: &'a IterationLimits,
    /// The facts that [`required_facts`] asks for.
    pub facts: &'a FileFacts,
    /// The dialect of commands in refusals.
    pub dialect: Dialect,
}

/// Returns what this write needs to know about files: nothing, for most writes.
pub fn required_facts(snapshot: &Snapshot, request: &WriteRequest) -> FactQuery {
    let may_end = ["current_phase", "run_outcome", "lifecycle_outcome"]
        .iter()
        .any(|name| request.get(name).is_some());
    let mut query = FactQuery::default();
    if may_end {
        let old = snapshot.documents.get(&request.mode).cloned().unwrap_or_default();
        query = FactQuery::for_document(&merge_fields(old, request));
    }
    if request.mode == Mode::Ralph
        && let Some(plan) = snapshot.active(Mode::Ralplan)
    {
        query.paths.extend(FactQuery::for_document(plan).paths);
    }
    query
}

/// Plans a write, or refuses it.
pub fn plan_write(
    snapshot: &Snapshot,
    request: &WriteRequest,
    context: WriteContext<'_>,
) -> Result<WritePlan, Refusal> {
    let WriteContext { now, limits, facts, dialect } = context;
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
    let goal = WriteGoal::parse(request, old)?;
    let base = BaseDocument::select(request, &goal, snapshot, now, dialect)?;
    let is_new = matches!(base, BaseDocument::New);
    let started = match &base {
        BaseDocument::New => None,
        BaseDocument::Reopened(base) | BaseDocument::Current(base) => base.get_time("started_at"),
    };
    counters::check_start_time(started, request, now)?;
    let mut exhausted = None;
    let mut document = match base {
        BaseDocument::New => {
            let mut document = merge_fields(Document::default(), request);
            if goal.ending.is_none() {
                fill_defaults(&mut document, mode, &goal, limits, now)?;
            } else {
                document.remove("current_phase");
                end_run(&mut document, request, &goal, None, now, facts)?;
            }
            document
        }
        BaseDocument::Current(base) if !base.is_active() => {
            counters::check_limits(&base, request, limits)?;
            let mut document = merge_fields(base.clone(), request);
            keep_ending(&mut document, &base);
            document
        }
        BaseDocument::Reopened(base) | BaseDocument::Current(base) => {
            counters::check_limits(&base, request, limits)?;
            let from = base.phase().map(str::to_owned);
            let mut document = merge_fields(base.clone(), request);
            restore(&mut document, &base, &["current_phase"]);
            if let Some(to) = &goal.phase {
                exhausted = enter_phase(&mut document, &base, request, to, &goal, facts)?;
            }
            match (&exhausted, goal.ending) {
                (Some(exhaustion), _) => {
                    document.set("error", Value::string(exhaustion.error()));
                    document.end(mode, RunEnding::Failed, now);
                }
                (None, Some(_)) => {
                    end_run(&mut document, request, &goal, from.as_deref(), now, facts)?;
                }
                (None, None) => keep_live(&mut document, &goal),
            }
            document
        }
    };
    if let Some(original) = &goal.normalized_from {
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
    let activity = snapshot.activity.after_write(is_new.then_some(mode));
    let writes = apply_links(snapshot, request, document, context)?;
    Ok(WritePlan { writes, exhausted, activity })
}

/// Merges the request's fields into a document.
fn merge_fields(mut document: Document, request: &WriteRequest) -> Document {
    for (name, value) in &request.fields {
        match (name.as_str(), value.as_object()) {
            (name, Some(over)) if fields::is_merged(request.mode, name) => {
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

/// Restores fields to their values before the merge.
fn restore(document: &mut Document, base: &Document, names: &[&str]) {
    for name in names {
        match base.get(name) {
            Some(value) => document.set(name, value.clone()),
            None => document.remove(name),
        }
    }
}

/// Keeps the ending of an ended document, whatever spelling the request used.
fn keep_ending(document: &mut Document, base: &Document) {
    restore(
        document,
        base,
        &["active", "current_phase", "run_outcome", "lifecycle_outcome", "completed_at", "waiting"],
    );
}

/// Sets the outcome fields of a run that stays live.
fn keep_live(document: &mut Document, goal: &WriteGoal) {
    let stored = document.get_str("run_outcome").and_then(|word| DocumentOutcome::parse(word).ok());
    let outcome = goal.live_outcome.or(match stored {
        Some(DocumentOutcome::Progress) => Some(DocumentOutcome::Progress),
        _ => None,
    });
    document.set("active", Value::bool(true));
    document
        .set("run_outcome", Value::string(outcome.unwrap_or(DocumentOutcome::Continue).as_str()));
    document.remove("lifecycle_outcome");
    document.remove("completed_at");
}

/// Enters a live phase. Returns the exhaustion that ends the run instead, if any.
fn enter_phase(
    document: &mut Document,
    base: &Document,
    request: &WriteRequest,
    to: &str,
    goal: &WriteGoal,
    facts: &FileFacts,
) -> Result<Option<GiveUpReason>, Refusal> {
    let mode = request.mode;
    let target = TransitionTarget::Live(to);
    let terms = transition::find_terms(mode, base.phase(), target, &goal.stages)?;
    let from = base.phase().unwrap_or_default();
    check_evidence(mode, document, from, target, terms, goal, facts)?;
    let exhausted = counters::apply_counter(document, base, request, terms.counter, to)?;
    if exhausted.is_none() {
        document.set("current_phase", Value::string(to));
        if terms.counter == CounterUpdate::ReviewCycle {
            review_cycle::close_cycle(document, base);
        } else if to == "code-review" && from != to {
            review_cycle::open_review(document, request);
        }
    }
    Ok(exhausted)
}

/// Ends the run as requested, or refuses the ending.
fn end_run(
    document: &mut Document,
    request: &WriteRequest,
    goal: &WriteGoal,
    from: Option<&str>,
    now: Timestamp,
    facts: &FileFacts,
) -> Result<(), Refusal> {
    let Some(ending) = goal.ending else { return Ok(()) };
    let mode = request.mode;
    let terms = transition::find_terms(mode, from, TransitionTarget::End(ending), &goal.stages)?;
    check_evidence(
        mode,
        document,
        from.unwrap_or_default(),
        TransitionTarget::End(ending),
        terms,
        goal,
        facts,
    )?;
    let completed = request.get_str("completed_at").map(str::to_owned);
    document.end(mode, ending, now);
    if let Some(completed) = completed {
        document.set("completed_at", Value::string(&completed));
    }
    Ok(())
}

fn check_evidence(
    mode: Mode,
    document: &Document,
    from: &str,
    target: TransitionTarget<'_>,
    terms: TransitionTerms,
    goal: &WriteGoal,
    facts: &FileFacts,
) -> Result<(), Refusal> {
    let missing = missing_evidence(terms.requirement, document, from, facts);
    if missing.is_empty() {
        return Ok(());
    }
    let mut refusal =
        transition::refuse_missing_evidence(mode, from, target, &missing, &goal.stages);
    let is_open =
        ReviewVerdict::from_value(document.get("review_verdict")).is_some_and(|v| !v.is_clean());
    let wants_clean =
        matches!(terms.requirement, Requirement::CleanReview | Requirement::ReviewedStage);
    if wants_clean && is_open {
        refusal.message.push_str("; a review that is not clean returns to ralplan");
    }
    Err(refusal)
}

/// Checks the invariants of every document that omx writes.
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
        && matches!(mode, Mode::Autopilot | Mode::CodeReview | Mode::Pipeline)
        && verdict.says_clean() == Some(true)
        && !verdict.is_clean()
    {
        return Err(contradiction(
            "review_verdict says clean, but only APPROVE with CLEAR and no open finding is clean",
        ));
    }
    Ok(())
}

/// Applies the rules between documents: exclusive drivers, hand-over and links.
fn apply_links(
    snapshot: &Snapshot,
    request: &WriteRequest,
    mut document: Document,
    context: WriteContext<'_>,
) -> Result<Vec<(Mode, Document)>, Refusal> {
    let mode = request.mode;
    let now = context.now;
    let mut documents = snapshot.documents.clone();
    let is_live = document.is_active();
    let begins = is_live && snapshot.active(mode).is_none();
    if begins
        && links::is_stage(mode)
        && snapshot.active(Mode::Autopilot).is_some()
        && request.stage_rule == StageRule::Linked
        && request.get(links::STARTED_BY).is_none()
    {
        document.set(links::STARTED_BY, Value::string(Mode::Autopilot.name()));
    }
    documents.insert(mode, document);
    let mut changed = vec![mode];
    if begins && mode.is_driver() {
        let others: Vec<Mode> =
            snapshot.active_modes().filter(|other| *other != mode && other.is_driver()).collect();
        for other in others {
            let plan = &documents[&other];
            let hands_over = mode == Mode::Ralph
                && other == Mode::Ralplan
                && missing_evidence(Requirement::Consensus, plan, "", context.facts).is_empty();
            if !hands_over && links::are_linked(&documents, mode, other) {
                continue;
            }
            if !hands_over {
                return Err(links::refuse_second_driver(mode, other, context.dialect));
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
        let before = snapshot.active(mode).and_then(Document::phase);
        changed.extend(links::end_left_stages(&mut documents, mode, before, now));
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
