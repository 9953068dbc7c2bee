//! Random sequences of operations on a session, for the properties of modes.md 6.1:
//! sensible and nonsensical writes, cancels, stops, tool use, clears and waiting.

use omx_kernel::activity::{CANCEL_REMEMBERED_MILLIS, ClearedDocument};
use omx_kernel::cancel::CancelTarget;
use omx_kernel::request::{WriteIntent, WriteRequest};
use omx_kernel::stop::{StopDecision, StopEvent};
use omx_kernel::transition;
use omx_kernel::{Document, DocumentStatus, Mode, RunEnding, Timestamp, Value};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::support::{SessionWorld, object};

/// The modes in a sequence: drivers, companions and every kind of link.
pub const MODES: [Mode; 7] = [
    Mode::Autopilot,
    Mode::Ralph,
    Mode::Ultrawork,
    Mode::Ralplan,
    Mode::Ultraqa,
    Mode::Team,
    Mode::Swarm,
];

/// An operation on a session.
#[derive(Clone, Debug)]
pub enum SessionOp {
    Write(Mode, String),
    /// The next sensible write: a start, or a transition with its evidence.
    Advance(Mode, usize),
    Cancel(Option<Mode>),
    Stop(Option<u64>),
    Tool,
    Clear(Mode),
    Wait(i64),
}

/// The result of an operation.
#[derive(Clone, Debug)]
pub enum OpResult {
    Written { request: WriteRequest, fresh: bool },
    Refused,
    Cancelled(CancelTarget),
    Held(Mode),
    RanOut(Mode),
    Allowed,
    Passed,
}

/// One step of a sequence.
pub struct SequenceStep<'a> {
    pub before: &'a SessionWorld,
    pub after: &'a SessionWorld,
    pub event: &'a OpResult,
}

/// Fragments of requests that set the state of a run.
const STANDING: &[&str] = &[
    r#""active":true"#,
    r#""active":true"#,
    r#""active":true"#,
    r#""active":false"#,
    r#""start":true"#,
    r#""start":true"#,
    r#""resume":true"#,
    r#""resume":true"#,
    r#""run_outcome":"progress""#,
    r#""run_outcome":"done""#,
    r#""run_outcome":"error""#,
    r#""run_outcome":"blocked""#,
    r#""run_outcome":null"#,
    r#""lifecycle_outcome":"canceled""#,
    r#""lifecycle_outcome":null"#,
    r#""completed_at":"2026-01-01T00:00:00Z""#,
    r#""completed_at":null"#,
    r#""current_phase":"complete""#,
    r#""current_phase":"failed""#,
    r#""current_phase":"cancel""#,
    r#""current_phase":"blocked""#,
    r#""current_phase":"banana""#,
    r#""waiting":{"kind":"worker"}"#,
];

const OPEN_REVIEW: &str = r#""review_verdict":{"recommendation":"COMMENT","architectural_status":"CLEAR"},"return_to_ralplan_reason":"again","handoff_artifacts":{"code_review":{"n":1}}"#;
const CLEAN_REVIEW: &str = r#""review_verdict":{"recommendation":"APPROVE","architectural_status":"CLEAR","clean":true},"return_to_ralplan_reason":null"#;
const HAND_OFFS: &str = r#""handoff_artifacts":{"ralplan":{"plan":"p.md","test_spec":"t.md"},"ralph":{"changed_files":["a"],"evidence":[{"command":"make","exit_code":0}]}}"#;
const FAILED_CHECK: &str = r#""last_check":{"command":"make","exit_code":1,"failure":"same"}"#;

/// The evidence of other modes.
const PROOFS: [&str; 5] = [
    r#""completion_audit":{"passed":true,"checklist":["a"],"evidence":[{"path":"p.md"}]}"#,
    r#""consensus":{"critic":"APPROVE","architect":"APPROVE"},"plan_path":"p.md","test_spec_path":"t.md""#,
    r#""last_check":{"command":"make","exit_code":0}"#,
    r#""verification":{"passed":true,"checks":["a"]}"#,
    r#""tasks":{"pending":0,"in_progress":0}"#,
];

/// Fragments with foreign fields.
const FOREIGN: &[&str] = &[
    r#""x_big":18446744073709551617"#,
    r#""x_fraction":1.10"#,
    r#""x_lone":"\ud800""#,
    r#""x_deep":{"b":1e400,"a":[ 1 , 2.0 ]}"#,
    r#""x_big":null"#,
    r#""x_deep":"plain""#,
    r#""x_fraction":-0.0"#,
];

/// Fragments with counters, limits, links and evidence.
const CONTENT: &[&str] = &[
    r#""iteration":0"#,
    r#""iteration":3"#,
    r#""iteration":9"#,
    r#""iteration":-1"#,
    r#""max_iterations":2"#,
    r#""max_iterations":6"#,
    r#""max_iterations":60"#,
    r#""max_iterations":18446744073709551615"#,
    r#""expected_revision":1"#,
    r#""linked_to":"autopilot""#,
    r#""linked_to":null"#,
    r#""linked_ultrawork":true"#,
    r#""linked_ultrawork":false"#,
    r#""linked_to_ralph":true"#,
    r#""linked_team":true"#,
    r#""linked_ralph":true"#,
    OPEN_REVIEW,
    CLEAN_REVIEW,
    HAND_OFFS,
    PROOFS[0],
    PROOFS[1],
    PROOFS[2],
    FAILED_CHECK,
    PROOFS[3],
    PROOFS[4],
];

fn write_op() -> impl Strategy<Value = SessionOp> {
    let standing = prop::collection::vec(prop::sample::select(STANDING), 0..2);
    let content = prop::collection::vec(prop::sample::select(CONTENT), 0..4);
    let foreign = prop::collection::vec(prop::sample::select(FOREIGN), 0..3);
    let phase = prop::option::of(any::<prop::sample::Index>());
    (prop::sample::select(&MODES[..]), standing, content, foreign, phase).prop_map(
        |(mode, standing, content, foreign, phase)| {
            let phase = phase.map(|at| {
                let phases = mode.spec().phases;
                format!(r#""current_phase":"{}""#, phases[at.index(phases.len())])
            });
            let mut parts: Vec<String> =
                standing.into_iter().chain(content).chain(foreign).map(str::to_owned).collect();
            parts.extend(phase);
            let name = |part: &String| part.split(':').next().unwrap_or_default().to_owned();
            let mut seen = Vec::new();
            parts.retain(|part| {
                let is_new = !seen.contains(&name(part));
                seen.push(name(part));
                is_new
            });
            SessionOp::Write(mode, format!("{{{}}}", parts.join(",")))
        },
    )
}

/// Sequences of at most this many operations.
pub fn sequences(length: usize) -> impl Strategy<Value = Vec<SessionOp>> {
    let mode = prop::sample::select(&MODES[..]);
    let op = prop_oneof![
        8 => write_op(),
        8 => (mode.clone(), 0_usize..6).prop_map(|(mode, pick)| SessionOp::Advance(mode, pick)),
        1 => prop::option::of(mode.clone()).prop_map(SessionOp::Cancel),
        4 => prop::option::of(0_u64..3).prop_map(SessionOp::Stop),
        2 => Just(SessionOp::Tool),
        1 => mode.prop_map(SessionOp::Clear),
        1 => prop::sample::select(vec![1_i64, 59_999, 60_000, 7_200_001]).prop_map(SessionOp::Wait),
    ];
    prop::collection::vec(op, 1..length)
}

/// Applies an operation.
pub fn apply_op(world: &mut SessionWorld, op: &SessionOp) -> OpResult {
    match op {
        SessionOp::Write(mode, input) => write(world, *mode, input),
        SessionOp::Advance(mode, pick) => {
            let input = sensible_write(world, *mode, *pick);
            write(world, *mode, &input)
        }
        SessionOp::Cancel(mode) => {
            let target = mode.map_or(CancelTarget::Everything, CancelTarget::Mode);
            let dialect = omx_kernel::Dialect::OMX;
            match omx_kernel::cancel::plan_cancel(&world.snapshot, target, dialect, world.now) {
                Ok(_) => {
                    world.cancel(target);
                    OpResult::Cancelled(target)
                }
                Err(_) => OpResult::Refused,
            }
        }
        SessionOp::Stop(progress) => {
            match world.stop(&StopEvent { progress: *progress, ..StopEvent::turn_ended() }) {
                StopDecision::Allow(_) => OpResult::Allowed,
                StopDecision::Hold(hold) => OpResult::Held(hold.mode),
                StopDecision::Exhausted(end) => OpResult::RanOut(end.mode),
            }
        }
        SessionOp::Tool => {
            world.snapshot.activity.record_tool_use(world.now);
            OpResult::Passed
        }
        SessionOp::Clear(mode) => clear(world, *mode),
        SessionOp::Wait(millis) => {
            world.advance(*millis);
            OpResult::Passed
        }
    }
}

/// The next write of an agent that knows the rules.
fn sensible_write(world: &SessionWorld, mode: Mode, pick: usize) -> String {
    let Some(document) = world.snapshot.active(mode) else {
        let resume = matches!(
            world.snapshot.documents.get(&mode).map(Document::status),
            Some(DocumentStatus::Ended(RunEnding::Blocked | RunEnding::Failed))
        );
        let link = match mode {
            Mode::Team => r#","linked_ralph":true"#,
            Mode::Ultrawork => r#","linked_to_ralph":true"#,
            Mode::Autopilot | Mode::Swarm => "",
            _ => r#","linked_to":"autopilot""#,
        };
        return match (resume && pick.is_multiple_of(2), pick) {
            (true, _) => r#"{"resume":true}"#.to_owned(),
            (false, 0) => r#"{"start":true,"max_iterations":3}"#.to_owned(),
            (false, 1..=3) => format!(r#"{{"start":true{link}}}"#),
            _ => r#"{"active":true}"#.to_owned(),
        };
    };
    let next: Vec<&str> = transition::transitions(mode)
        .iter()
        .filter(|step| Some(step.from) == document.phase())
        .map(|step| step.to)
        .collect();
    let to = next.get(pick % next.len().max(1)).copied().unwrap_or("failed");
    let evidence = match (mode, to) {
        (Mode::Autopilot, "ralplan") => OPEN_REVIEW.to_owned(),
        (Mode::Autopilot, _) => [CLEAN_REVIEW, HAND_OFFS].join(","),
        (Mode::Ultraqa, "diagnose") => FAILED_CHECK.to_owned(),
        _ => PROOFS.join(","),
    };
    format!(r#"{{"current_phase":"{to}",{evidence}}}"#)
}

fn write(world: &mut SessionWorld, mode: Mode, input: &str) -> OpResult {
    let session = world.snapshot.scope.session().cloned();
    let Ok(request) = WriteRequest::new(mode, session.as_ref(), object(input)) else {
        return OpResult::Refused;
    };
    let before = world.snapshot.documents.get(&mode).map(Document::status);
    match world.plan_request(&request) {
        Err(_) => OpResult::Refused,
        Ok(plan) => {
            world.snapshot.documents.extend(plan.writes);
            // state.md 2.3a: when a write starts a new run.
            let fresh = match before {
                None => true,
                Some(DocumentStatus::Active) => false,
                Some(DocumentStatus::Ended(ending)) => {
                    request.intent == WriteIntent::Start
                        || (request.intent == WriteIntent::Change
                            && matches!(ending, RunEnding::Finished | RunEnding::Failed)
                            && world.get(mode).is_active())
                }
            };
            OpResult::Written { request, fresh }
        }
    }
}

/// Clears a document as the shell does (state.md 2.3c).
fn clear(world: &mut SessionWorld, mode: Mode) -> OpResult {
    let Some(document) = world.snapshot.documents.remove(&mode) else { return OpResult::Passed };
    let until = Timestamp::from_millis(world.now.millis() + CANCEL_REMEMBERED_MILLIS);
    let was_cancelled = document.status() == DocumentStatus::Ended(RunEnding::Cancelled);
    let cleared = ClearedDocument {
        revision: document.revision(),
        cancelled_until: was_cancelled.then_some(until),
    };
    world.snapshot.activity.cleared.insert(mode.name().to_owned(), cleared);
    OpResult::Passed
}

/// Applies a sequence to an empty session and checks every step.
pub fn run_sequence(
    ops: &[SessionOp],
    mut look: impl FnMut(&SequenceStep<'_>) -> Result<(), TestCaseError>,
) -> Result<SessionWorld, TestCaseError> {
    let mut world = SessionWorld::new().files(&["p.md", "t.md"]);
    for op in ops {
        let before = world.clone();
        let event = apply_op(&mut world, op);
        look(&SequenceStep { before: &before, after: &world, event: &event })?;
    }
    Ok(world)
}

/// The foreign fields of a document, with their text.
pub fn foreign_fields(document: Option<&Document>) -> Vec<(String, String)> {
    let fields = document.map(Document::fields).unwrap_or_default();
    let named = |(name, value): &(String, Value)| (name.clone(), value.as_json().to_owned());
    fields.iter().filter(|(name, _)| name.starts_with("x_")).map(named).collect()
}
