//! Counters that bound a run: who may change them, in which direction, and what happens
//! at the limit. Only a start or the person can raise a limit.

use crate::base_document::{DEFAULT_FIX_LOOPS, IterationLimits};
use crate::document::Document;
use crate::mode::Mode;
use crate::refusal::Refusal;
use crate::request::{LimitRule, WriteRequest};
use crate::review::{ReviewVerdict, SAME_FINDING_LIMIT, check_fingerprint};
use crate::time::Timestamp;
use crate::transition::CounterUpdate;
use crate::value::Value;

/// Why a run was given up before it met its exit condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiveUpReason {
    /// It reached a limit, which the person may raise.
    Limit(String),
    /// The same finding or failure kept coming back; more iterations would not help.
    Repetition(String),
}

impl GiveUpReason {
    /// The text for the document's `error` field.
    pub fn error(&self) -> &str {
        match self {
            Self::Limit(error) | Self::Repetition(error) => error,
        }
    }
}

/// How far a clock may differ from ours.
const CLOCK_DIFFERENCE_MILLIS: i64 = 60_000;

/// Checks that a write does not move the start of a run: `budget.time` counts from there.
/// A start may name a time in the past, and an earlier one than before only costs time.
pub(crate) fn check_start_time(
    started: Option<Timestamp>,
    request: &WriteRequest,
    now: Timestamp,
) -> Result<(), Refusal> {
    let Some(wanted) = request.get("started_at") else { return Ok(()) };
    let wanted = wanted.as_str().and_then(Timestamp::parse);
    match (wanted, started) {
        (None, None) => Ok(()),
        (Some(wanted), Some(started)) if wanted <= started => Ok(()),
        (_, Some(started)) => Err(Refusal::invalid_input(format!(
            "started_at of a run cannot be moved to a later time or removed (it is {started}); \
             omit it"
        ))),
        (Some(wanted), None) if wanted.millis_since(now) > CLOCK_DIFFERENCE_MILLIS => {
            Err(Refusal::invalid_input(format!(
                "started_at {wanted} is in the future (it is {now} now); omit it"
            )))
        }
        (Some(_), None) => Ok(()),
    }
}

/// Checks that a write only lowers limits and only raises counters. The rule covers ended
/// runs too, since a resume would continue with the values written there.
pub(crate) fn check_limits(
    base: &Document,
    request: &WriteRequest,
    limits: &IterationLimits,
) -> Result<(), Refusal> {
    let mode = request.mode;
    let default = limits.get(&mode).copied().or(mode.spec().max_iterations);
    let loops = Some(DEFAULT_FIX_LOOPS);
    for (name, default) in [("max_iterations", default), ("max_fix_loops", loops)] {
        let may_raise = name == "max_iterations" && request.limit_rule == LimitRule::MayRaise;
        if let Some(wanted) = request.get_u64(name)
            && let Some(current) = base.get_u64(name).or(default)
            && wanted > current
            && !may_raise
        {
            return Err(Refusal::invalid_input(format!(
                "{name} of a run can only be lowered (it is {current}); only a start or the person can raise it"
            )));
        }
    }
    for name in ["iteration", "review_cycle", "fix_loop_count"] {
        if let (Some(wanted), Some(current)) = (request.get_u64(name), base.get_u64(name))
            && wanted < current
            && !(name == "iteration" && is_iteration_of_next_cycle(base, request, wanted))
        {
            return Err(Refusal::invalid_input(format!(
                "{name} of a run only increases (it is {current}; the write says {wanted})"
            )));
        }
    }
    let stages = request.get("stages").filter(|_| mode == Mode::Pipeline);
    if let (Some(wanted), Some(current)) = (stages, base.get("stages"))
        && wanted != current
    {
        return Err(Refusal::invalid_input(
            "the stages of a run cannot change; start a new run to use others",
        ));
    }
    Ok(())
}

/// Whether `iteration` is the number of the cycle that a review which is not clean begins.
/// The first cycle has iteration 1 and `review_cycle` 0.
fn is_iteration_of_next_cycle(base: &Document, request: &WriteRequest, iteration: u64) -> bool {
    let returns = matches!(request.mode, Mode::Autopilot | Mode::Pipeline)
        && base.phase() == Some("code-review")
        && matches!(request.get_str("current_phase"), Some("ralplan" | "planning" | "replan"));
    returns && iteration == base.get_u64("review_cycle").unwrap_or(0).saturating_add(2)
}

/// Updates the counters of a transition. Returns the exhaustion that ends the run, if
/// there is one.
pub(crate) fn apply_counter(
    document: &mut Document,
    base: &Document,
    request: &WriteRequest,
    counter: CounterUpdate,
    to: &str,
) -> Result<Option<GiveUpReason>, Refusal> {
    let exhausted = count(document, base, request, counter, to)?;
    if exhausted.is_some() || !returns_from_verification(request.mode, base.phase(), to) {
        return Ok(exhausted);
    }
    let repeated = record_verification(document, request);
    if repeated.is_some() {
        restore_iteration(document, base);
    }
    Ok(repeated)
}

fn count(
    document: &mut Document,
    base: &Document,
    request: &WriteRequest,
    counter: CounterUpdate,
    to: &str,
) -> Result<Option<GiveUpReason>, Refusal> {
    match counter {
        CounterUpdate::Nothing => Ok(match (request.mode, to) {
            (Mode::Ultraqa, "diagnose") => record_failure(document),
            _ => None,
        }),
        CounterUpdate::Iteration => {
            let next = base.get_u64("iteration").unwrap_or(0).saturating_add(1);
            let given = request.get_u64("iteration");
            if given.is_some_and(|given| given < next) {
                return Err(Refusal::invalid_input(format!(
                    "this step increases iteration: omit it or set it to {next}"
                )));
            }
            Ok(count_to(document, base, "iteration", given.unwrap_or(next), "max_iterations"))
        }
        CounterUpdate::ReviewCycle => count_review_cycle(document, base, request),
        CounterUpdate::FixLoop => {
            let next = next_value(base, request, "fix_loop_count")?;
            if document.get("max_fix_loops").is_none() {
                document.set("max_fix_loops", Value::integer(DEFAULT_FIX_LOOPS));
            }
            Ok(count_to(document, base, "fix_loop_count", next, "max_fix_loops"))
        }
    }
}

fn next_value(base: &Document, request: &WriteRequest, name: &str) -> Result<u64, Refusal> {
    let next = base.get_u64(name).unwrap_or(0).saturating_add(1);
    match request.get_u64(name) {
        Some(given) if given != next => Err(Refusal::invalid_input(format!(
            "this step increases {name} by one: omit it or set it to {next}"
        ))),
        _ => Ok(next),
    }
}

/// Sets a counter, or leaves it at its limit and reports the exhaustion.
fn count_to(
    document: &mut Document,
    base: &Document,
    name: &str,
    next: u64,
    limit_name: &str,
) -> Option<GiveUpReason> {
    if document.get_u64(limit_name).is_some_and(|limit| next > limit) {
        match base.get(name) {
            Some(current) => document.set(name, current.clone()),
            None => document.remove(name),
        }
        return Some(GiveUpReason::Limit(format!("{limit_name} reached")));
    }
    document.set(name, Value::integer(next));
    None
}

/// Counts a review that is not clean: raises iteration and cycle and stores the verdict
/// as not clean. The same findings for the third time end the run.
fn count_review_cycle(
    document: &mut Document,
    base: &Document,
    request: &WriteRequest,
) -> Result<Option<GiveUpReason>, Refusal> {
    let iteration = match request.get_u64("iteration") {
        // The caller's own count is right, whatever was counted before.
        Some(given) if is_iteration_of_next_cycle(base, request, given) => given,
        _ => next_value(base, request, "iteration")?,
    };
    let cycle = next_value(base, request, "review_cycle")?;
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
    if record_and_check_repetition(document, "review_history", &fingerprint) {
        restore_iteration(document, base);
        return Ok(Some(GiveUpReason::Repetition(format!(
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

/// Records a failed check. The same failure for the third time ends ultraqa.
fn record_failure(document: &mut Document) -> Option<GiveUpReason> {
    let check = document.get("last_check").filter(|check| check.as_object().is_some())?;
    let command = check.get("command").and_then(Value::as_str).unwrap_or_default().to_owned();
    let fingerprint = check_fingerprint(check)?;
    record_and_check_repetition(document, "failure_history", &fingerprint).then(|| {
        GiveUpReason::Repetition(format!(
            "the same failure came back {SAME_FINDING_LIMIT} times: {command}"
        ))
    })
}

/// Whether a transition goes back to work because a verification failed. Ultraqa counts its
/// failures on the way to the diagnosis.
fn returns_from_verification(mode: Mode, from: Option<&str>, to: &str) -> bool {
    matches!(
        (mode, from, to),
        (Mode::Ralph, Some("verifying"), "fixing")
            | (Mode::Ultrawork | Mode::Ecomode | Mode::Ultrapilot, Some("verifying"), "executing")
            | (Mode::Team, Some("team-verify"), "team-fix")
            | (Mode::Autopilot | Mode::Pipeline, Some("code-review"), "ralplan")
    )
}

/// Records a failed verification that this write reports. The same one for the third time
/// ends the run.
fn record_verification(document: &mut Document, request: &WriteRequest) -> Option<GiveUpReason> {
    let reported = ["last_check", "verification", "completion_audit"];
    let fingerprint =
        reported.into_iter().find_map(|name| check_fingerprint(request.get(name)?))?;
    record_and_check_repetition(document, "failure_history", &fingerprint).then(|| {
        GiveUpReason::Repetition(format!(
            "the same verification failure came back in {SAME_FINDING_LIMIT} cycles"
        ))
    })
}

fn record_and_check_repetition(document: &mut Document, field: &str, fingerprint: &str) -> bool {
    let mut history = document.get(field).and_then(Value::as_array).unwrap_or_default().to_vec();
    history.push(Value::string(fingerprint));
    let times = history.iter().filter(|seen| seen.as_str() == Some(fingerprint)).count();
    document.set(field, Value::array(history));
    times >= SAME_FINDING_LIMIT
}
