//! The overview of a run, for lists and reports. It works for live and ended runs.

use omx_kernel::{CloseReason, ForeignText, Refusal, RunId, RunState, Scope, SessionId, Timestamp};
use omx_store::Store;
use omx_store::runs::{JournalEntry, RunFolder};
use serde_json::{Value, json};

use crate::attention::{self, Attention};
use crate::record::Record;
use crate::spec::RunSpec;
use crate::step_key::StepKey;
use crate::usage::Usage;
use crate::workspace;

/// A run as lists show it.
#[derive(Debug)]
pub struct Overview {
    /// The run.
    pub id: RunId,
    /// What it was asked to do, with what the person has changed since.
    pub spec: RunSpec,
    /// What it does, or why it does nothing.
    pub state: RunState,
    /// The reason, for people; may be empty.
    pub why: ForeignText,
    /// The current phase, from the run's document.
    pub phase: Option<ForeignText>,
    /// What it waits for.
    pub waiting: Option<ForeignText>,
    /// What it has used so far.
    pub usage: Usage,
    /// The same by step, in the order of first use. Omits steps that used nothing.
    pub usage_by_step: Vec<(StepKey, Usage)>,
    /// Its open questions for the person.
    pub attention: Vec<Attention>,
    /// The number of finished steps.
    pub steps: usize,
    /// The time of the last record.
    pub last: Option<Timestamp>,
}

/// Reads the overview of a run.
pub fn overview(store: &Store, folder: &RunFolder) -> Result<Overview, Refusal> {
    let mut spec = RunSpec::load(folder)?;
    spec.workspace = workspace::relocate(store, folder.id(), spec.workspace);
    let entries: Vec<JournalEntry<Record>> = folder.journal()?.read_all()?;
    let is_alive = folder.is_driven()?;
    let mut usage = Usage::default();
    let mut by_step: Vec<(StepKey, Usage)> = Vec::new();
    let mut steps = 0;
    let mut closed = None;
    for entry in &entries {
        spec.apply(&entry.record);
        match &entry.record {
            Record::Usage { step, usage: more } => {
                usage.add(*more);
                match by_step.iter_mut().find(|(known, _)| known == step) {
                    Some((_, sum)) => sum.add(*more),
                    None => by_step.push((step.clone(), *more)),
                }
            }
            Record::StepFinished { .. } => steps += 1,
            Record::Closed { outcome, why, .. } => closed = Some((*outcome, why.clone())),
            Record::Opened { .. } => closed = None,
            _ => {}
        }
    }
    let (state, why) = match closed {
        _ if is_alive => (RunState::Running, ForeignText::default()),
        Some((CloseReason::Complete, why)) => (RunState::COMPLETE, why.into()),
        // Its process could not record the cancel, or was gone.
        _ if store.is_marked_cancelled(&Scope::Session(folder.id().session())) => {
            (RunState::Closed(CloseReason::Cancelled), ForeignText::default())
        }
        Some((outcome, why)) => (RunState::Closed(outcome), why.into()),
        None => (RunState::Stopped, "the process that drove it is gone".into()),
    };
    let (phase, waiting) = read_document(store, folder.id(), &spec).unwrap_or_default();
    let last = entries.last().map(|entry| entry.at);
    let attention = attention::open(folder)?;
    Ok(Overview {
        id: folder.id().clone(),
        spec,
        state,
        why,
        phase,
        waiting,
        usage,
        usage_by_step: by_step,
        attention,
        steps,
        last,
    })
}

/// The phase of the run's document, and what it waits for.
fn read_document(
    store: &Store,
    id: &RunId,
    spec: &RunSpec,
) -> Option<(Option<ForeignText>, Option<ForeignText>)> {
    let scope = Scope::Session(SessionId::new(id.as_str()).ok()?);
    let document = store.read().ok()??.document(&scope, spec.mode).ok()??;
    let waiting = document.get("waiting").and_then(|waiting| waiting.get("kind"));
    let waiting = waiting.and_then(|kind| kind.as_str()).map(ForeignText::from);
    Some((document.phase().map(ForeignText::from), waiting))
}

impl Overview {
    /// Renders the run as JSON for programs.
    pub fn json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "mode": self.spec.mode.name(),
            "task": self.spec.task,
            "agent": self.spec.agent,
            "state": self.state,
            "why": self.why,
            "phase": self.phase,
            "waiting": self.waiting,
            "started_at": self.spec.started_at,
            "last_at": self.last.map(|last| last.to_string()),
            "steps": self.steps,
            "spent": self.usage,
            "spent_by": self.usage_by(),
            "questions": self.attention.iter().map(|question| json!({
                "number": question.number, "step": question.step, "what": question.what,
            })).collect::<Vec<_>>(),
            "folder": self.spec.workspace.folder(),
            "ground": self.spec.workspace,
        })
    }

    /// Renders usage by agent and step as JSON for programs.
    pub fn usage_by(&self) -> Value {
        let by = self.usage_by_step.iter().map(|(step, usage)| {
            let mut object = serde_json::to_value(usage).unwrap_or_default();
            object["agent"] = json!(self.spec.agent);
            object["step"] = json!(step);
            object
        });
        by.collect()
    }
}
