//! The cancel plan: which runs end, in which order, and their final documents.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::document::{Document, DocumentStatus};
use crate::ids::{Scope, SessionId};
use crate::links::{self, DocumentMap};
use crate::message;
use crate::mode::{Mode, OnCancel};
use crate::outcome::RunEnding;
use crate::refusal::{Refusal, RefusalCode};
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::value::Value;

/// One document that a cancel ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CancelEntry {
    /// The mode.
    pub mode: Mode,
    /// The phase it was in.
    pub phase: Option<String>,
    /// The parent mode with which it ended, if it ended as a dependent.
    pub linked_to: Option<Mode>,
    /// Whether the run can be resumed.
    pub preserved: bool,
    /// The document to write.
    pub document: Document,
}

/// Everything that one cancel does in one scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct CancelPlan {
    /// In the order of the writes: dependents before their parents.
    pub entries: Vec<CancelEntry>,
}

/// What to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelTarget {
    /// Every mode of the scope that is active or waits for the person.
    Everything,
    /// One mode and its dependents.
    Mode(Mode),
}

/// Plans a cancel in one scope.
pub fn plan_cancel(
    snapshot: &Snapshot,
    target: CancelTarget,
    dialect: Dialect,
    now: Timestamp,
) -> Result<CancelPlan, Refusal> {
    let documents = &snapshot.documents;
    let mut order: Vec<(Mode, Option<Mode>)> = Vec::new();
    match target {
        CancelTarget::Everything => {
            for mode in Mode::ALL {
                gather(documents, mode, None, &mut order);
            }
        }
        CancelTarget::Mode(mode) => {
            let parent = links::parent(documents, mode).filter(|_| snapshot.active(mode).is_some());
            match (mode, parent) {
                (Mode::Ultrawork | Mode::Ecomode, Some(Mode::Ralph)) => {
                    return Err(Refusal::new(
                        RefusalCode::LinkedMode,
                        message::format_linked(mode, Mode::Ralph, dialect),
                    ));
                }
                // A linked team and its ralph end together, whichever was named.
                (Mode::Team, Some(Mode::Ralph)) => gather(documents, Mode::Ralph, None, &mut order),
                _ => gather(documents, mode, None, &mut order),
            }
        }
    }
    let mut after = documents.clone();
    let entries = order
        .into_iter()
        .map(|(mode, linked_to)| {
            let entry = entry(snapshot, &after, mode, linked_to, now);
            after.insert(mode, entry.document.clone());
            entry
        })
        .collect();
    Ok(CancelPlan { entries })
}

/// Appends a mode to `order`, after everything that depends on it.
fn gather(
    documents: &DocumentMap,
    mode: Mode,
    linked_to: Option<Mode>,
    order: &mut Vec<(Mode, Option<Mode>)>,
) {
    let is_open = documents.get(&mode).is_some_and(Document::is_open);
    let is_known = order.iter().any(|(known, _)| *known == mode);
    if !is_open || is_known {
        return;
    }
    for dependent in links::open_dependents(documents, mode) {
        gather(documents, dependent, Some(mode), order);
    }
    order.push((mode, linked_to));
}

fn entry(
    snapshot: &Snapshot,
    after: &DocumentMap,
    mode: Mode,
    linked_to: Option<Mode>,
    now: Timestamp,
) -> CancelEntry {
    let old = &snapshot.documents[&mode];
    let mut document = old.clone();
    let mut ending = RunEnding::Cancelled;
    if mode == Mode::Ralph && links::ralph_has_team(after) {
        let team = &after[&Mode::Team];
        // A team that ended before this ralph started belonged to another run.
        let is_older = team.get_time("completed_at") < old.get_time("started_at");
        if let DocumentStatus::Ended(team_ending) = team.status()
            && !is_older
        {
            let phase = match team_ending {
                RunEnding::Finished => "complete",
                RunEnding::Failed => "failed",
                RunEnding::Blocked | RunEnding::Cancelled => "cancelled",
            };
            if matches!(team_ending, RunEnding::Finished | RunEnding::Failed) {
                ending = team_ending;
            }
            let at = team.get_str("completed_at").map_or_else(|| now.to_string(), str::to_owned);
            document.set("linked_team_terminal_phase", Value::string(phase));
            document.set("linked_team_terminal_at", Value::string(&at));
        }
    }
    document.end(mode, ending, now);
    let session = snapshot.scope.session().map(SessionId::as_str);
    document.stamp(mode, session, old.next_revision(), now);
    CancelEntry {
        mode,
        phase: old.phase().map(str::to_owned),
        linked_to,
        preserved: mode.spec().on_cancel != OnCancel::Ends,
        document,
    }
}

/// What a cancel would end in one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenModes {
    /// Modes that are active, stale ones too.
    pub active: Vec<Mode>,
    /// Modes that wait for the person (`blocked_on_user`).
    pub waiting: Vec<Mode>,
}

impl OpenModes {
    /// All of them, in the order in which cancel ends them.
    pub fn all(&self) -> impl Iterator<Item = Mode> {
        let is_open = |mode: &Mode| self.active.contains(mode) || self.waiting.contains(mode);
        Mode::ALL.into_iter().filter(is_open)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.waiting.is_empty()
    }
}

/// The sessions that a request without a session id can mean: those where the target is
/// active. Where it is active nowhere, those where it waits for the person: a run that
/// was left waiting long ago must not stand in the way of one that works.
pub fn meant_sessions(
    mut open: BTreeMap<SessionId, OpenModes>,
    target: CancelTarget,
) -> BTreeMap<SessionId, OpenModes> {
    let is_meant = |modes: &[Mode]| match target {
        CancelTarget::Everything => !modes.is_empty(),
        CancelTarget::Mode(mode) => modes.contains(&mode),
    };
    let is_active_somewhere = open.values().any(|modes| is_meant(&modes.active));
    open.retain(|_, modes| match is_active_somewhere {
        true => is_meant(&modes.active),
        false => is_meant(&modes.waiting),
    });
    open
}

/// The scope of a cancel without a session id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeChoice {
    /// No session has a mode to cancel: use the compatibility scope.
    Compatibility,
    /// Exactly one session has.
    Only(SessionId),
    /// Several sessions have: the person must name one.
    Ambiguous(BTreeMap<SessionId, OpenModes>),
}

/// Chooses the scope of a cancel from the open modes of every session.
pub fn choose_scope(open: BTreeMap<SessionId, OpenModes>, target: CancelTarget) -> ScopeChoice {
    let mut sessions = meant_sessions(open, target);
    match (sessions.len(), sessions.pop_first()) {
        (_, None) => ScopeChoice::Compatibility,
        (1, Some((session, _))) => ScopeChoice::Only(session),
        (_, Some((session, modes))) => {
            sessions.insert(session, modes);
            ScopeChoice::Ambiguous(sessions)
        }
    }
}

/// What a team's file says of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TeamCard {
    /// The team's name.
    pub name: String,
    /// The session that owns it.
    pub session: Option<String>,
    /// When it was created.
    pub created: Option<Timestamp>,
}

/// Returns the teams of a scope, the oldest first.
pub fn teams_in_scope(scope: &Scope, mut cards: Vec<TeamCard>) -> Vec<TeamCard> {
    cards.retain(|card| is_in_scope(scope, card.session.as_deref()));
    cards.sort_by(|one, other| (one.created, &one.name).cmp(&(other.created, &other.name)));
    cards
}

/// Whether something owned by `session` (or by none) is in a scope.
pub fn is_in_scope(scope: &Scope, session: Option<&str>) -> bool {
    scope.session().map(SessionId::as_str) == session
}

/// Files of other programs in the state root that only `cancel --force` removes.
pub const LEGACY_FILES: [&str; 16] = [
    "ralph-plan-state.json",
    "ralph-verification.json",
    "swarm.db",
    "swarm.db-wal",
    "swarm.db-shm",
    "swarm-active.marker",
    "swarm-tasks.db",
    "ultrapilot-ownership.json",
    "plan-consensus.json",
    "boulder.json",
    "hud-state.json",
    "subagent-tracking.json",
    "subagent-tracker.lock",
    "rate-limit-daemon.pid",
    "rate-limit-daemon.log",
    "team-mcp-workers.json",
];

/// Folders of other programs in the state root that only `cancel --force` removes.
pub const LEGACY_FOLDERS: [&str; 3] = ["checkpoints", "team", "team-bridge"];
