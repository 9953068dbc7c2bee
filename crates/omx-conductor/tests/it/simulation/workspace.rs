//! The folder agents work in, and what really happened in it. Ends are judged
//! by this, never by what the run says of itself.

use std::collections::{BTreeMap, BTreeSet};

use omx_agents::results::ResultKind;
use omx_kernel::review::fnv1a;
use omx_runs::StepKey;

/// Something that really happened.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkspaceFact {
    /// A file was changed.
    Edited { step: StepKey },
    /// The check ran to its end.
    Checked { passed: bool },
    /// An agent gave a result that can be read.
    Answered { step: StepKey, role: String, kind: ResultKind, is_good: bool, ends_run: bool },
    /// A plan was kept.
    Kept,
}

/// The folder.
#[derive(Default)]
pub struct SimWorkspace {
    tree: u64,
    pub facts: Vec<WorkspaceFact>,
    /// Files omx put there.
    pub files: BTreeSet<String>,
    /// Each piece of work and who did it, by step, its try and the piece's number.
    pieces: BTreeMap<(StepKey, u32, u32), String>,
}

impl SimWorkspace {
    /// What it holds, as a hash.
    pub fn tree(&self) -> String {
        format!("{:016x}", self.tree)
    }

    /// One piece of a step's work. It is an error to do one twice.
    pub fn edit(
        &mut self,
        step: &StepKey,
        again: u32,
        piece: u32,
        who: &str,
    ) -> Result<(), String> {
        self.tree = fnv1a(&format!("{:x} {step} {again} {piece}", self.tree));
        self.facts.push(WorkspaceFact::Edited { step: step.clone() });
        match self.pieces.insert((step.clone(), again, piece), who.to_owned()) {
            None => Ok(()),
            Some(other) => {
                Err(format!("piece {piece} of {step} was done by {other} and again by {who}"))
            }
        }
    }

    /// The last answer a step gave.
    pub fn last_answer(&self, key: &StepKey) -> Option<&WorkspaceFact> {
        self.facts
            .iter()
            .rev()
            .find(|fact| matches!(fact, WorkspaceFact::Answered { step, .. } if step == key))
    }
}
