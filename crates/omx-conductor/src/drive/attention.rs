//! The open questions of a run.

use std::collections::BTreeMap;

use omx_agents::event::{ApprovalId, ApprovalRequest};
use omx_runs::StepKey;

use super::world::World;

/// Unanswered questions, by their number in this process.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    last: u64,
    open: BTreeMap<u64, (StepKey, ApprovalId)>,
}

impl OpenQuestions {
    pub(super) fn request_approval(
        &mut self,
        step: &StepKey,
        approval: &ApprovalId,
        ask: &ApprovalRequest,
        world: &mut impl World,
    ) -> Result<(), String> {
        self.last += 1;
        world.request_approval(self.last, step, ask)?;
        self.open.insert(self.last, (step.clone(), approval.clone()));
        Ok(())
    }

    /// Removes a question. Returns who asked it, unless nobody waits for the answer anymore.
    pub(super) fn close(
        &mut self,
        number: u64,
        world: &mut impl World,
    ) -> Option<(StepKey, ApprovalId)> {
        world.close_question(number);
        self.open.remove(&number)
    }

    /// Removes the questions of a step whose agent has ended.
    pub(super) fn close_of_step(&mut self, step: &StepKey, world: &mut impl World) {
        let of_step = self.open.iter().filter(|(_, (asker, _))| asker == step);
        let numbers: Vec<u64> = of_step.map(|(number, _)| *number).collect();
        for number in numbers {
            self.close(number, world);
        }
    }

    pub(super) fn close_all(&mut self, world: &mut impl World) {
        while let Some((number, _)) = self.open.pop_first() {
            world.close_question(number);
        }
    }
}
