//! Counters that bound a run: who may move them, which way, and what happens
//! when one runs out. A limit is a limit: only a start sets it higher.

use crate::base_document::{DEFAULT_FIX_LOOPS, IterationLimits};
use crate::document::Document;
use crate::mode::Mode;
use crate::refusal::Refusal;
use crate::request::WriteRequest;
use crate::review::{ReviewVerdict, SAME_FINDING_LIMIT, check_fingerprint};
use crate::transition::CounterUpdate;
use crate::value::Value;

/// What ended a run that did not get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exhaustion {
    /// A limit, which the person may raise.
    Limit(String),
    /// The same came back again and again; more of it would not help.
    Repetition(String),
}

impl Exhaustion {
    /// As the document's `error` says it.
    pub fn error(&self) -> &str {
        match self {
            Self::Limit(error) | Self::Repetition(error) => error,
        }
    }
}

/// The limit of a run whose mode names none. Every hold is an iteration, and
/// the holds of any run must come to an end.
const UNNAMED_LIMIT: u64 = 50;

/// The iterations a run has that was started without a limit of its own.
pub(crate) fn default_limit(mode: Mode) -> u64 {
    mode.spec().max_iterations.unwrap_or(UNNAMED_LIMIT)
}

/// A run's limits may be lowered by a write, and its counters only grow. That
/// holds for an ended one too, or a resume would go on with what was put there.
pub(crate) fn check_limits(
    base: &Document,
    request: &WriteRequest,
    limits: &IterationLimits,
) -> Result<(), Refusal> {
    let mode = request.mode;
    let default = limits.get(&mode).copied().unwrap_or_else(|| default_limit(mode));
    for (name, default) in [("max_iterations", default), ("max_fix_loops", DEFAULT_FIX_LOOPS)] {
        let current = base.get_u64(name).unwrap_or(default);
        if let Some(wanted) = request.get_u64(name)
            && wanted > current
        {
            return Err(Refusal::invalid_input(format!(
                "{name} of a run can only be lowered (it is {current}); a start or the person sets it higher"
            )));
        }
    }
    for name in ["iteration", "review_cycle", "fix_loop_count"] {
        if let (Some(wanted), Some(current)) = (request.get_u64(name), base.get_u64(name))
            && wanted < current
        {
            return Err(Refusal::invalid_input(format!(
                "{name} of a run only counts up (it is {current}, not {wanted})"
            )));
        }
    }
    let stages = request.get("stages").filter(|_| mode == Mode::Pipeline);
    if let (Some(wanted), Some(current)) = (stages, base.get("stages"))
        && wanted != current
    {
        return Err(Refusal::invalid_input(
            "stages of a run stay as it started; a new run names its own",
        ));
    }
    Ok(())
}

/// Counts a step. Says why, if that used up a limit: the run then ends.
pub(crate) fn apply_counter(
    document: &mut Document,
    base: &Document,
    request: &WriteRequest,
    counts: CounterUpdate,
    to: &str,
) -> Result<Option<Exhaustion>, Refusal> {
    match counts {
        CounterUpdate::Nothing => Ok(match (request.mode, to) {
            (Mode::Ultraqa, "diagnose") => note_failure(document),
            _ => None,
        }),
        CounterUpdate::Iteration => {
            let next = base.get_u64("iteration").unwrap_or(0).saturating_add(1);
            let given = request.get_u64("iteration");
            if given.is_some_and(|given| given < next) {
                return Err(Refusal::invalid_input(format!(
                    "iteration rises with this step: leave it out or give {next}"
                )));
            }
            Ok(count_to(document, base, "iteration", given.unwrap_or(next), "max_iterations"))
        }
        CounterUpdate::ReviewCycle => review_cycle(document, base, request),
        CounterUpdate::FixLoop => {
            let next = exactly_one_more(base, request, "fix_loop_count")?;
            if document.get("max_fix_loops").is_none() {
                document.set("max_fix_loops", Value::integer(DEFAULT_FIX_LOOPS));
            }
            Ok(count_to(document, base, "fix_loop_count", next, "max_fix_loops"))
        }
    }
}

fn exactly_one_more(base: &Document, request: &WriteRequest, name: &str) -> Result<u64, Refusal> {
    let next = base.get_u64(name).unwrap_or(0).saturating_add(1);
    match request.get_u64(name) {
        Some(given) if given != next => Err(Refusal::invalid_input(format!(
            "{name} rises by one with this step: leave it out or give {next}"
        ))),
        _ => Ok(next),
    }
}

/// Sets a counter, or leaves it at its limit and says that it ran out.
fn count_to(
    document: &mut Document,
    base: &Document,
    name: &str,
    next: u64,
    limit_name: &str,
) -> Option<Exhaustion> {
    if document.get_u64(limit_name).is_some_and(|limit| next > limit) {
        match base.get(name) {
            Some(current) => document.set(name, current.clone()),
            None => document.remove(name),
        }
        return Some(Exhaustion::Limit(format!("{limit_name} reached")));
    }
    document.set(name, Value::integer(next));
    None
}

/// A review that is not clean: iteration and cycle rise, the verdict is kept
/// as not clean, and the same findings for the third time end the run.
fn review_cycle(
    document: &mut Document,
    base: &Document,
    request: &WriteRequest,
) -> Result<Option<Exhaustion>, Refusal> {
    let iteration = exactly_one_more(base, request, "iteration")?;
    let cycle = exactly_one_more(base, request, "review_cycle")?;
    let reason = document.get_str("return_to_ralplan_reason").unwrap_or_default().to_owned();
    let fingerprint = match ReviewVerdict::from_value(document.get("review_verdict")) {
        Some(verdict) => verdict.fingerprint(&reason),
        None => return Ok(None),
    };
    let not_clean = [("clean".to_owned(), Value::bool(false))];
    if let Some(verdict) = document.get("review_verdict").map(|verdict| verdict.merged(&not_clean))
    {
        document.set("review_verdict", verdict);
    }
    document.set("review_cycle", Value::integer(cycle));
    if seen_too_often(document, "review_history", &fingerprint) {
        restore_iteration(document, base);
        return Ok(Some(Exhaustion::Repetition(format!(
            "the same review findings came back in {SAME_FINDING_LIMIT} cycles: {reason}"
        ))));
    }
    Ok(count_to(document, base, "iteration", iteration, "max_iterations"))
}

fn restore_iteration(document: &mut Document, base: &Document) {
    if let Some(iteration) = base.get("iteration") {
        document.set("iteration", iteration.clone());
    }
}

/// The same failed check for the third time ends ultraqa.
fn note_failure(document: &mut Document) -> Option<Exhaustion> {
    let check = document.get("last_check").filter(|check| check.as_object().is_some())?;
    let command = check.get("command").and_then(Value::as_str).unwrap_or_default().to_owned();
    let fingerprint = check_fingerprint(check)?;
    seen_too_often(document, "failure_history", &fingerprint).then(|| {
        Exhaustion::Repetition(format!(
            "the same failure came back {SAME_FINDING_LIMIT} times: {command}"
        ))
    })
}

fn seen_too_often(document: &mut Document, field: &str, fingerprint: &str) -> bool {
    let mut history = document.get(field).and_then(Value::as_array).unwrap_or_default().to_vec();
    history.push(Value::string(fingerprint));
    let times = history.iter().filter(|seen| seen.as_str() == Some(fingerprint)).count();
    document.set(field, Value::array(history));
    times >= SAME_FINDING_LIMIT
}
