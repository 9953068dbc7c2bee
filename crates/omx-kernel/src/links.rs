//! Links between modes, and their direction.
//!
//! Two documents of one scope are linked if either names the other. The *dependent* is
//! always written before its parent: a crash in between leaves the parent active, and the
//! operation can be repeated.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::document::Document;
use crate::mode::Mode;
use crate::outcome::RunEnding;
use crate::refusal::{Refusal, RefusalCode};
use crate::time::Timestamp;
use crate::value::Value;

/// The field by which a mode names the autopilot that started it.
pub const STARTED_BY: &str = "linked_to";

/// The documents of a scope.
pub type DocumentMap = BTreeMap<Mode, Document>;

/// One kind of link.
struct LinkRule {
    parent: Mode,
    dependent: Mode,
    /// The parent's field that names the dependent, if there is one.
    parent_field: Option<&'static str>,
    /// The dependent's field that names the parent.
    dependent_field: &'static str,
}

const fn flags(
    parent: Mode,
    dependent: Mode,
    parent_field: &'static str,
    dependent_field: &'static str,
) -> LinkRule {
    LinkRule { parent, dependent, parent_field: Some(parent_field), dependent_field }
}

const fn started_by_autopilot(dependent: Mode) -> LinkRule {
    LinkRule { parent: Mode::Autopilot, dependent, parent_field: None, dependent_field: STARTED_BY }
}

/// In the order in which a parent's dependents end.
const RULES: [LinkRule; 9] = [
    flags(Mode::Ralph, Mode::Team, "linked_team", "linked_ralph"),
    flags(Mode::Ralph, Mode::Ultrawork, "linked_ultrawork", "linked_to_ralph"),
    flags(Mode::Ralph, Mode::Ecomode, "linked_ecomode", "linked_to_ralph"),
    started_by_autopilot(Mode::Ralph),
    started_by_autopilot(Mode::Ultraqa),
    started_by_autopilot(Mode::Ultrawork),
    started_by_autopilot(Mode::Ecomode),
    started_by_autopilot(Mode::Ralplan),
    started_by_autopilot(Mode::CodeReview),
];

impl LinkRule {
    fn dependent_names_parent(&self, dependent: &Document) -> bool {
        match self.parent_field {
            Some(_) => dependent.is_set(self.dependent_field),
            None => dependent.get_str(self.dependent_field) == Some(self.parent.name()),
        }
    }

    fn links(&self, documents: &DocumentMap) -> bool {
        let (Some(parent), Some(dependent)) =
            (documents.get(&self.parent), documents.get(&self.dependent))
        else {
            return false;
        };
        self.parent_field.is_some_and(|field| parent.is_set(field))
            || self.dependent_names_parent(dependent)
    }
}

/// Whether the mode is a stage of autopilot, which its skill starts.
pub fn is_stage(mode: Mode) -> bool {
    matches!(mode, Mode::Ralplan | Mode::Ralph | Mode::CodeReview | Mode::Ultraqa)
}

/// Returns the active modes that depend on this one, in the order in which they end.
pub fn dependents(documents: &DocumentMap, parent: Mode) -> Vec<Mode> {
    linked_to(documents, parent).filter(|mode| documents[mode].is_active()).collect()
}

/// Like [`dependents`], with those that wait for the person: everything a cancel ends.
pub fn open_dependents(documents: &DocumentMap, parent: Mode) -> Vec<Mode> {
    linked_to(documents, parent).filter(|mode| documents[mode].is_open()).collect()
}

fn linked_to(documents: &DocumentMap, parent: Mode) -> impl Iterator<Item = Mode> {
    let is_linked = move |rule: &&LinkRule| rule.parent == parent && rule.links(documents);
    RULES.iter().filter(is_linked).map(|rule| rule.dependent)
}

/// Returns the active mode on which this one depends.
pub fn parent(documents: &DocumentMap, dependent: Mode) -> Option<Mode> {
    RULES
        .iter()
        .filter(|rule| rule.dependent == dependent && rule.links(documents))
        .map(|rule| rule.parent)
        .find(|mode| documents[mode].is_active())
}

/// Returns the active mode at the top of this one's links; itself if it depends on none.
pub fn outermost(documents: &DocumentMap, mode: Mode) -> Mode {
    let mut top = mode;
    // Links have two levels at most; the bound holds for documents of any program.
    for _ in 0..RULES.len() {
        match parent(documents, top) {
            Some(above) => top = above,
            None => break,
        }
    }
    top
}

/// Whether ralph and team of this scope are linked, active or not.
pub fn ralph_has_team(documents: &DocumentMap) -> bool {
    RULES[0].links(documents)
}

/// Returns the fields by which parent and dependent name each other, if both do.
pub fn link_fields(parent: Mode, dependent: Mode) -> Option<(&'static str, &'static str)> {
    let rule = RULES.iter().find(|rule| rule.parent == parent && rule.dependent == dependent)?;
    Some((rule.parent_field?, rule.dependent_field))
}

/// Returns the refusal to start a driver while another one runs.
pub(crate) fn refuse_second_driver(mode: Mode, running: Mode, dialect: Dialect) -> Refusal {
    let (name, other, program) = (mode.name(), running.name(), dialect.name);
    let mut message = format!(
        "{name} cannot start: {other} is running in this session; cancel it first ({program} cancel --mode {other})"
    );
    if running == Mode::Autopilot && is_stage(mode) {
        message.push_str(&format!(
            ", or start it as a stage of {other} with \"{STARTED_BY}\": \"{other}\""
        ));
    }
    Refusal::new(RefusalCode::ModeConflict, message)
}

/// Whether two active modes are linked, directly or through others.
pub fn are_linked(documents: &DocumentMap, one: Mode, other: Mode) -> bool {
    let mut reached = vec![one];
    let mut next = 0;
    while let Some(&mode) = reached.get(next) {
        next += 1;
        let neighbours = dependents(documents, mode).into_iter().chain(parent(documents, mode));
        for neighbour in neighbours {
            if !reached.contains(&neighbour) {
                reached.push(neighbour);
            }
        }
    }
    reached.contains(&other)
}

/// Makes both sides of every link agree after a write of `mode`. `is_written` says whether that
/// write set a field itself. Returns the other modes whose documents changed.
pub fn reconcile(
    documents: &mut DocumentMap,
    mode: Mode,
    is_written: impl Fn(&str) -> bool,
) -> Vec<Mode> {
    let mut changed = Vec::new();
    for rule in &RULES {
        let Some(parent_field) = rule.parent_field else { continue };
        let (own_field, other, other_field) = if rule.parent == mode {
            (parent_field, rule.dependent, rule.dependent_field)
        } else if rule.dependent == mode {
            (rule.dependent_field, rule.parent, parent_field)
        } else {
            continue;
        };
        let both_live =
            [mode, other].iter().all(|side| documents.get(side).is_some_and(Document::is_active));
        if !both_live {
            continue;
        }
        let here = documents[&mode].is_set(own_field);
        let there = documents[&other].is_set(other_field);
        if here == there {
            continue;
        }
        // Ultrawork and ecomode name ralph by the same field, so ralph's field decides.
        let (side, field, linked) = if is_written(own_field) || here {
            (other, other_field, here)
        } else {
            (mode, own_field, there)
        };
        if let Some(document) = documents.get_mut(&side) {
            document.set(field, Value::bool(linked));
            if side != mode && !changed.contains(&side) {
                changed.push(side);
            }
        }
    }
    changed
}

/// Ends the dependents of a run that has just ended: they would hold the session for a
/// parent that is gone. Returns the ended modes, dependents first.
pub fn end_dependents(documents: &mut DocumentMap, parent: Mode, now: Timestamp) -> Vec<Mode> {
    let note = format!("ended with {}", parent.name());
    let modes = dependents(documents, parent);
    modes.into_iter().flat_map(|mode| end_dependent(documents, mode, &note, now)).collect()
}

/// Ends the stages of autopilot that it left unfinished when it entered another phase than
/// `before`: they would hold the session for work that autopilot no longer asks for. The
/// stage of the new phase stays. Returns the ended modes, dependents first.
pub fn end_left_stages(
    documents: &mut DocumentMap,
    mode: Mode,
    before: Option<&str>,
    now: Timestamp,
) -> Vec<Mode> {
    let phase = documents.get(&mode).and_then(Document::phase).map(str::to_owned);
    let (Some(phase), true) = (phase, mode == Mode::Autopilot) else { return Vec::new() };
    if before.is_none() || before == Some(&phase) {
        return Vec::new();
    }
    let note = format!("autopilot entered {phase}");
    let mut stages = dependents(documents, mode);
    stages.retain(|stage| is_stage(*stage) && stage.name() != phase);
    stages.into_iter().flat_map(|stage| end_dependent(documents, stage, &note, now)).collect()
}

/// Ends a mode after everything that depends on it.
fn end_dependent(documents: &mut DocumentMap, mode: Mode, note: &str, now: Timestamp) -> Vec<Mode> {
    let mut ended = end_dependents(documents, mode, now);
    if let Some(document) = documents.get_mut(&mode).filter(|document| document.is_active()) {
        document.end(mode, RunEnding::Cancelled, now);
        document.set("completion_note", Value::string(note));
        ended.push(mode);
    }
    ended
}

/// Sorts modes so that each comes before any mode it may depend on.
pub fn dependents_first(modes: &mut [Mode]) {
    modes.sort_by_key(|mode| match mode {
        Mode::Autopilot => 2,
        Mode::Ralph => 1,
        _ => 0,
    });
}
