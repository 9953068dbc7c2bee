//! modes.md 6.2: every interleaving of a cancel with a late write and a stop hook, and a
//! crash between any two writes. The kernel makes the decisions; the model covers only the
//! schedule, the lock and the crash. The same model without the lock, or with parents
//! written first, must fail.

use std::collections::BTreeMap;

use omx_kernel::cancel::{self, CancelTarget};
use omx_kernel::evidence::FileFacts;
use omx_kernel::request::WriteRequest;
use omx_kernel::stop::{self, StopDecision, StopEvent};
use omx_kernel::write::{self, WriteContext};
use omx_kernel::{Dialect, Document, IterationLimits, Mode, Scope, Snapshot, Timestamp};
use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::support::{NOW, SessionWorld, at, object, session};

const PLAYED: &str = "s1";
const OTHER: &str = "s2";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lock {
    Held,
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WriteOrder {
    DependentsFirst,
    ParentsFirst,
}

/// The actors. Each takes the lock, reads, decides, writes one document at a time and
/// releases the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Actor {
    Canceller,
    Writer,
    Hook,
}

const ACTORS: [Actor; 3] = [Actor::Canceller, Actor::Writer, Actor::Hook];

/// What a run may still write after its cancel.
const LATE: [(Mode, &str); 4] = [
    (Mode::Ralph, r#"{"active":true,"current_phase":"verifying"}"#),
    (Mode::Autopilot, r#"{"active":true,"handoff_artifacts":{"ralph":{"evidence":["x"]}}}"#),
    (Mode::Ultrawork, r#"{"task_description":"late"}"#),
    (Mode::Ralph, r#"{"linked_ecomode":true}"#),
];

/// The progress of an actor. A run that has returned is idle again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Progress {
    Idle,
    Locked,
    Read(Box<Snapshot>),
    Writing(Vec<(Mode, Document)>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Run {
    progress: Progress,
    /// How many runs follow this one.
    left: u8,
    /// Which late write this is.
    turn: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Disk {
    sessions: BTreeMap<&'static str, Snapshot>,
    lock: Option<Actor>,
    runs: BTreeMap<Actor, Run>,
    crashes_left: u8,
    crashed: Option<Actor>,
    cancel_returned: bool,
    revision_went_back: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    TakeLock(Actor),
    Read(Actor),
    Decide(Actor),
    WriteNext(Actor),
    Return(Actor),
    Crash(Actor),
}

#[derive(Clone, Debug)]
struct CancelModel {
    lock: Lock,
    written_order: WriteOrder,
}

fn now() -> Timestamp {
    at(NOW)
}

/// Autopilot with its ralph, ralph with its ultrawork (only ralph names the link), and an
/// unlinked ecomode.
fn played() -> Snapshot {
    let mut world =
        SessionWorld::live(Mode::Autopilot, "ralph", r#","iteration":1,"max_iterations":10"#);
    world.run(Mode::Ralph, "executing", r#","linked_to":"autopilot","linked_ultrawork":true"#);
    world.run(Mode::Ultrawork, "executing", "");
    world.run(Mode::Ecomode, "executing", "");
    world.snapshot
}

fn other() -> Snapshot {
    let mut world = SessionWorld::in_scope(Scope::Session(session(OTHER)));
    world.run(Mode::Ralph, "executing", r#","linked_ultrawork":true"#);
    world.run(Mode::Ultrawork, "executing", "");
    world.snapshot
}

impl CancelModel {
    /// Returns the documents that the actor writes, in this order, given what it read.
    fn decide(&self, actor: Actor, turn: usize, seen: &Snapshot) -> Vec<(Mode, Document)> {
        let mut writes = match actor {
            Actor::Canceller => {
                let plan = cancel::plan_cancel(seen, CancelTarget::Everything, Dialect::OMX, now());
                let entries = plan.map(|plan| plan.entries).unwrap_or_default();
                entries.into_iter().map(|entry| (entry.mode, entry.document)).collect()
            }
            Actor::Writer => {
                let (mode, input) = LATE[turn % LATE.len()];
                let request = WriteRequest::new(mode, seen.scope.session(), object(input));
                let (limits, facts) = (IterationLimits::new(), FileFacts::default());
                let circumstances = WriteContext {
                    now: now(),
                    limits: &limits,
                    facts: &facts,
                    dialect: Dialect::OMX,
                };
                let plan =
                    write::plan_write(seen, &request.expect("a fair request"), circumstances);
                plan.map(|plan| plan.writes).unwrap_or_default()
            }
            Actor::Hook => {
                match stop::decide(seen, &StopEvent::turn_ended(), Dialect::OMX, now()) {
                    StopDecision::Hold(hold) => {
                        hold.document.map(|document| (hold.mode, document)).into_iter().collect()
                    }
                    StopDecision::Exhausted(end) => end.writes,
                    StopDecision::Allow(_) => Vec::new(),
                }
            }
        };
        if self.written_order == WriteOrder::ParentsFirst {
            writes.reverse();
        }
        writes
    }

    fn may_go(&self, disk: &Disk, actor: Actor) -> bool {
        self.lock == Lock::Absent || disk.lock.is_none_or(|holder| holder == actor)
    }
}

impl Disk {
    fn write(&mut self, mode: Mode, document: Document) {
        // The document names its session.
        let name = document.get_str("session_id").unwrap_or_default();
        let Some((_, snapshot)) = self.sessions.iter_mut().find(|(id, _)| **id == name) else {
            return;
        };
        let before = snapshot.documents.insert(mode, document);
        let before = before.map_or(0, |document| document.revision());
        self.revision_went_back |= snapshot.documents[&mode].revision() < before;
    }

    fn release(&mut self, actor: Actor) {
        if self.lock == Some(actor) {
            self.lock = None;
        }
    }

    fn is_active(&self, mode: Mode) -> bool {
        self.sessions[PLAYED].active(mode).is_some()
    }

    fn nothing_active(&self) -> bool {
        self.sessions[PLAYED].active_modes().next().is_none()
    }

    fn would_hold(&self, id: &str) -> bool {
        let event = StopEvent::turn_ended();
        let decision = stop::decide(&self.sessions[id], &event, Dialect::OMX, now());
        matches!(decision, StopDecision::Hold(_))
    }
}

impl Model for CancelModel {
    type State = Disk;
    type Action = Action;

    fn init_states(&self) -> Vec<Disk> {
        let fresh = |left, turn| Run { progress: Progress::Idle, left, turn };
        let starts = (0..LATE.len()).map(|turn| Disk {
            sessions: [(PLAYED, played()), (OTHER, other())].into(),
            lock: None,
            runs: [
                (Actor::Canceller, fresh(1, 0)),
                (Actor::Writer, fresh(2, turn)),
                (Actor::Hook, fresh(2, 0)),
            ]
            .into(),
            crashes_left: 1,
            crashed: None,
            cancel_returned: false,
            revision_went_back: false,
        });
        starts.collect()
    }

    fn actions(&self, disk: &Disk, actions: &mut Vec<Action>) {
        for actor in ACTORS {
            let run = &disk.runs[&actor];
            match &run.progress {
                Progress::Idle if run.left > 0 && self.may_go(disk, actor) => {
                    actions.push(Action::TakeLock(actor));
                }
                Progress::Idle => {}
                Progress::Locked => actions.push(Action::Read(actor)),
                Progress::Read(_) => actions.push(Action::Decide(actor)),
                Progress::Writing(queue) if queue.is_empty() => {
                    actions.push(Action::Return(actor));
                }
                Progress::Writing(_) => actions.push(Action::WriteNext(actor)),
            }
            if disk.crashes_left > 0 && run.progress != Progress::Idle {
                actions.push(Action::Crash(actor));
            }
        }
    }

    fn next_state(&self, last: &Disk, action: Action) -> Option<Disk> {
        let mut disk = last.clone();
        let (Action::TakeLock(actor)
        | Action::Read(actor)
        | Action::Decide(actor)
        | Action::WriteNext(actor)
        | Action::Return(actor)
        | Action::Crash(actor)) = action;
        let run = &last.runs[&actor];
        let mut next = run.clone();
        match (action, &run.progress) {
            (Action::TakeLock(_), _) => {
                if self.lock == Lock::Held {
                    disk.lock = Some(actor);
                }
                next.left -= 1;
                next.progress = Progress::Locked;
            }
            (Action::Read(_), _) => {
                next.progress = Progress::Read(Box::new(disk.sessions[PLAYED].clone()));
            }
            (Action::Decide(_), Progress::Read(seen)) => {
                next.progress = Progress::Writing(self.decide(actor, run.turn, seen));
            }
            (Action::WriteNext(_), Progress::Writing(queue)) => {
                let mut queue = queue.clone();
                let (mode, document) = queue.remove(0);
                disk.write(mode, document);
                next.progress = Progress::Writing(queue);
            }
            (Action::Return(_), _) => {
                disk.release(actor);
                disk.cancel_returned |= actor == Actor::Canceller;
                next.progress = Progress::Idle;
                next.turn += 1;
            }
            (Action::Crash(_), _) => {
                disk.release(actor);
                disk.crashes_left -= 1;
                disk.crashed = Some(actor);
                next.progress = Progress::Idle;
                // An interrupted cancel is repeated.
                next.left += u8::from(actor == Actor::Canceller);
            }
            _ => return None,
        }
        disk.runs.insert(actor, next);
        Some(disk)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(STAYS_CANCELLED, |_, disk: &Disk| {
                !disk.cancel_returned || disk.nothing_active()
            }),
            Property::always(NOT_HELD, |_, disk: &Disk| {
                !disk.cancel_returned || !disk.would_hold(PLAYED)
            }),
            Property::always(REPEATED, |_, disk: &Disk| {
                disk.crashed != Some(Actor::Canceller)
                    || !disk.cancel_returned
                    || disk.nothing_active()
            }),
            Property::always(NO_ORPHAN, |_, disk: &Disk| {
                let orphan = |above, below| !disk.is_active(above) && disk.is_active(below);
                let documents = &disk.sessions[PLAYED].documents;
                // A write stores its own side of a new link first. A ralph that has ended
                // by then does not gain an ecomode.
                let ecomode_is_linked = documents[&Mode::Ecomode].is_true("linked_to_ralph");
                let mut pairs =
                    vec![(Mode::Autopilot, Mode::Ralph), (Mode::Ralph, Mode::Ultrawork)];
                pairs.extend(ecomode_is_linked.then_some((Mode::Ralph, Mode::Ecomode)));
                !pairs.into_iter().any(|(above, below)| orphan(above, below))
            }),
            Property::always(OTHER_SESSION, |_, disk: &Disk| {
                disk.sessions[OTHER] == other() && disk.would_hold(OTHER)
            }),
            Property::always(REVISIONS, |_, disk: &Disk| !disk.revision_went_back),
            // The model must reach interesting states at all.
            Property::sometimes(CUT_OFF, |_, disk: &Disk| {
                disk.crashed == Some(Actor::Canceller)
                    && !disk.is_active(Mode::Ultrawork)
                    && disk.is_active(Mode::Ralph)
            }),
            Property::sometimes(WRITTEN, |_, disk: &Disk| {
                let ralph = &disk.sessions[PLAYED].documents[&Mode::Ralph];
                ralph.phase() == Some("verifying") && ralph.get_u64("iteration") == Some(2)
            }),
            Property::sometimes(LINK_CUT_OFF, |_, disk: &Disk| {
                let documents = &disk.sessions[PLAYED].documents;
                disk.crashed == Some(Actor::Writer)
                    && documents[&Mode::Ultrawork].is_true("linked_to_ralph")
                    && documents[&Mode::Ralph].revision() == 1
            }),
        ]
    }
}

const STAYS_CANCELLED: &str = "when a cancel has returned nothing of the session is active";
const NOT_HELD: &str = "when a cancel has returned no stop of the session is held";
const REPEATED: &str = "a cancel given again after a crash ends everything";
const NO_ORPHAN: &str = "no dependent is active while its parent has ended";
const OTHER_SESSION: &str = "the other session is not touched and still held";
const REVISIONS: &str = "no revision goes back";
const CUT_OFF: &str = "a cancel is cut off between two documents";
const WRITTEN: &str = "write and hold both reach the disk";
const LINK_CUT_OFF: &str = "a write of two linked documents is cut off between them";

#[test]
fn modes_6_2_cancel_wins_over_every_writer_and_hook_with_a_crash_anywhere() {
    let model = CancelModel { lock: Lock::Held, written_order: WriteOrder::DependentsFirst };
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!("cancel model: {} unique states", checker.unique_state_count());
    assert!(checker.is_done());
    assert!(checker.unique_state_count() > 1_000);
    checker.assert_properties();
}

#[test]
fn modes_6_2_without_the_lock_the_model_finds_a_revived_run() {
    let model = CancelModel { lock: Lock::Absent, written_order: WriteOrder::DependentsFirst };
    let wanted = [STAYS_CANCELLED, NOT_HELD, REVISIONS].into();
    let checker =
        model.checker().threads(2).finish_when(HasDiscoveries::AllOf(wanted)).spawn_bfs().join();
    println!("without lock: {} unique states", checker.unique_state_count());
    checker.assert_any_discovery(STAYS_CANCELLED);
    checker.assert_any_discovery(NOT_HELD);
    checker.assert_any_discovery(REVISIONS);
}

#[test]
fn cancel_2_2_with_parents_written_first_the_model_finds_an_orphan() {
    let model = CancelModel { lock: Lock::Held, written_order: WriteOrder::ParentsFirst };
    let finish = HasDiscoveries::AnyOf([NO_ORPHAN].into());
    let checker = model.checker().threads(2).finish_when(finish).spawn_bfs().join();
    let path = checker.assert_any_discovery(NO_ORPHAN);
    assert!(path.into_actions().contains(&Action::WriteNext(Actor::Canceller)));
}
