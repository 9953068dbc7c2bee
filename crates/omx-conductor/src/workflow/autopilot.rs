//! Plans, builds and reviews, and repeats from the plan until the review is clean.

use omx_kernel::Mode;
use serde_json::json;

use super::{Flow, Halt, Workflow, WorkflowEnd};

const AUTOPILOT: Mode = Mode::Autopilot;

impl Workflow<'_> {
    pub(super) fn autopilot(&mut self) -> Flow<WorkflowEnd> {
        let handoff =
            json!({"context_snapshot_path": self.context.context_path(&self.spec.context_name())});
        self.start(AUTOPILOT, json!({"current_phase": "ralplan", "handoff_artifacts": handoff}))?;
        let mut findings = Vec::new();
        let mut changed_files = Vec::new();
        loop {
            let cycle = format!("c{}", self.ledger.iteration(AUTOPILOT));
            let flow = self.part(&cycle, |workflow| {
                workflow.cycle(std::mem::take(&mut findings), &mut changed_files)
            });
            match self.end_with_part(flow)? {
                Cycle::Clean(summary) => return Ok(WorkflowEnd::Complete(summary)),
                Cycle::Again(steps) => findings = steps,
            }
        }
    }

    fn cycle(
        &mut self,
        findings: Vec<omx_runs::StepKey>,
        changed_files: &mut Vec<String>,
    ) -> Flow<Cycle> {
        let agreed = self.part("plan", |workflow| workflow.ralplan(findings))?;
        let handoff = json!({
            "plan_path": agreed.kept.plan_path,
            "test_spec_path": agreed.kept.test_spec_path,
        });
        self.write(
            AUTOPILOT,
            json!({"current_phase": "ralph", "handoff_artifacts": {"ralplan": handoff}}),
        )?;
        let built = self.part("build", |workflow| workflow.ralph(Some(agreed.plan)))?;
        // The review covers the changes of all cycles.
        for file in &built.changed_files {
            if !changed_files.contains(file) {
                changed_files.push(file.clone());
            }
        }
        if changed_files.is_empty() {
            return self.block(AUTOPILOT, "no file was changed, so there is nothing to review");
        }
        let handoff = json!({
            "changed_files": changed_files,
            "evidence": built.evidence,
            "claims": built.claims,
        });
        self.write(
            AUTOPILOT,
            json!({"current_phase": "code-review", "handoff_artifacts": {"ralph": handoff}}),
        )?;
        let work = built.work.clone();
        let reviewed = self.part("review", |workflow| workflow.code_review(Some(work)))?;
        if reviewed.is_clean {
            self.write(
                AUTOPILOT,
                json!({
                    "current_phase": "complete",
                    "review_verdict": reviewed.verdict,
                    "return_to_ralplan_reason": null,
                    "handoff_artifacts": {"code_review": {"verdict": reviewed.verdict}},
                }),
            )?;
            return Ok(Cycle::Clean(built.summary));
        }
        self.write(
            AUTOPILOT,
            json!({
                "current_phase": "ralplan",
                "review_verdict": reviewed.verdict,
                "return_to_ralplan_reason": reviewed.reason,
                "handoff_artifacts": {"code_review": {"verdict": reviewed.verdict}},
            }),
        )?;
        Ok(Cycle::Again(reviewed.steps))
    }

    /// Ends the run's own document when one of its parts ends the run.
    pub(super) fn end_with_part<T>(&mut self, flow: Flow<T>) -> Flow<T> {
        let mode = self.spec.mode;
        match flow {
            Err(Halt::Ended(WorkflowEnd::Failed(error))) if self.ledger.is_active(mode) => {
                self.fail(mode, &error)
            }
            Err(Halt::Ended(WorkflowEnd::Limit(error))) if self.ledger.is_active(mode) => {
                self.exhaust(mode, &error)
            }
            Err(Halt::Ended(WorkflowEnd::Blocked(reason))) if self.ledger.is_active(mode) => {
                self.block(mode, &reason)
            }
            flow => flow,
        }
    }
}

enum Cycle {
    Clean(String),
    /// The reviews whose findings the next plan starts with.
    Again(Vec<omx_runs::StepKey>),
}
