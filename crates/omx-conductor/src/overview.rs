//! What can be said of a run from outside, alive or not.

use omx_kernel::{Refusal, RunId, Scope, SessionId, Timestamp};
use omx_store::Store;
use omx_store::runs::{Entry, Liveness, RunFolder};
use serde_json::{Value, json};

use crate::asked::Asked;
use crate::ground;
use crate::questions::{self, Question};
use crate::record::{Record, Spent};
use crate::story::StepKey;

/// A run as a list shows it.
#[derive(Debug)]
pub struct Overview {
    /// Which.
    pub id: RunId,
    /// What was asked.
    pub asked: Asked,
    /// `running`, or how the last process let go of it, or `stopped` if it
    /// could not say.
    pub state: String,
    /// Why, in words, where there are any.
    pub why: String,
    /// The phase its document is in.
    pub phase: Option<String>,
    /// What it waits for.
    pub waiting: Option<String>,
    /// What it took so far.
    pub spent: Spent,
    /// The same for each step that took anything, in the order of the first.
    pub spent_by_step: Vec<(StepKey, Spent)>,
    /// What it asks the person.
    pub questions: Vec<Question>,
    /// Finished steps.
    pub steps: usize,
    /// When something was last recorded.
    pub last: Option<Timestamp>,
}

/// Looks at a run.
pub fn overview(store: &Store, folder: &RunFolder) -> Result<Overview, Refusal> {
    let mut asked: Asked = folder.asked()?;
    asked.ground = ground::here(store, folder.id(), asked.ground);
    let entries: Vec<Entry<Record>> = folder.journal()?.read_all()?;
    let alive = matches!(folder.liveness()?, Liveness::Alive(_));
    let mut spent = Spent::default();
    let mut by_step: Vec<(StepKey, Spent)> = Vec::new();
    let mut steps = 0;
    let mut closed = None;
    for entry in &entries {
        match &entry.record {
            Record::Spent { step, usage } => {
                spent.add(*usage);
                match by_step.iter_mut().find(|(known, _)| known == step) {
                    Some((_, spent)) => spent.add(*usage),
                    None => by_step.push((step.clone(), *usage)),
                }
            }
            Record::StepFinished { .. } => steps += 1,
            Record::Closed { outcome, why, .. } => closed = Some((outcome.clone(), why.clone())),
            Record::Opened { .. } => closed = None,
            _ => {}
        }
    }
    let (state, why) = match closed {
        _ if alive => ("running".to_owned(), String::new()),
        Some(closed) => closed,
        None => ("stopped".to_owned(), "the process that drove it is gone".to_owned()),
    };
    let (phase, waiting) = document(store, folder.id(), &asked).unwrap_or_default();
    let last = entries.last().map(|entry| entry.at);
    let questions = questions::open(folder)?;
    Ok(Overview {
        id: folder.id().clone(),
        asked,
        state,
        why,
        phase,
        waiting,
        spent,
        spent_by_step: by_step,
        questions,
        steps,
        last,
    })
}

fn document(store: &Store, id: &RunId, asked: &Asked) -> Option<(Option<String>, Option<String>)> {
    let scope = Scope::Session(SessionId::new(id.as_str()).ok()?);
    let document = store.read().ok()??.document(&scope, asked.mode).ok()??;
    let waiting = document.get("waiting").and_then(|waiting| waiting.get("kind"));
    let waiting = waiting.and_then(|kind| kind.as_str()).map(str::to_owned);
    Some((document.phase().map(str::to_owned), waiting))
}

impl Overview {
    /// As programs see it.
    pub fn json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "mode": self.asked.mode.name(),
            "task": self.asked.task,
            "agent": self.asked.agent,
            "state": self.state,
            "why": self.why,
            "phase": self.phase,
            "waiting": self.waiting,
            "started_at": self.asked.started_at,
            "last_at": self.last.map(|last| last.to_string()),
            "steps": self.steps,
            "spent": self.spent,
            "spent_by": self.spent_by(),
            "questions": self.questions.iter().map(|question| json!({
                "number": question.number, "step": question.step, "what": question.what,
            })).collect::<Vec<_>>(),
            "folder": self.asked.ground.folder(),
            "ground": self.asked.ground,
        })
    }

    /// What was spent by agent and step, as programs see it.
    pub fn spent_by(&self) -> Value {
        let by = self.spent_by_step.iter().map(|(step, spent)| {
            let mut object = serde_json::to_value(spent).unwrap_or_default();
            object["agent"] = json!(self.asked.agent);
            object["step"] = json!(step);
            object
        });
        by.collect()
    }

    /// Whether it can be gone on with.
    pub fn is_open(&self) -> bool {
        self.state != "running" && self.state != "complete"
    }
}
