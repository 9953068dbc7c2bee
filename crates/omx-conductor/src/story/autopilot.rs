//! Plan, build, review; and again from the plan until the review is clean.

use omx_kernel::Mode;
use serde_json::json;

use super::{End, Halt, Story, Tale};

const AUTOPILOT: Mode = Mode::Autopilot;

impl Story<'_> {
    pub(super) fn autopilot(&mut self) -> Tale<End> {
        let handoff = json!({"context_snapshot_path": self.context_path()});
        self.start(AUTOPILOT, json!({"current_phase": "ralplan", "handoff_artifacts": handoff}))?;
        let mut findings = Vec::new();
        let mut changed_files = Vec::new();
        loop {
            let cycle = format!("c{}", self.ledger.iteration(AUTOPILOT));
            let told = self.part(&cycle, |story| {
                story.cycle(std::mem::take(&mut findings), &mut changed_files)
            });
            match self.ended_by_part(told)? {
                Cycle::Clean(summary) => return Ok(End::Complete(summary)),
                Cycle::Again(steps) => findings = steps,
            }
        }
    }

    fn cycle(
        &mut self,
        findings: Vec<super::StepKey>,
        changed_files: &mut Vec<String>,
    ) -> Tale<Cycle> {
        let agreed = self.part("plan", |story| story.ralplan(findings))?;
        let handoff = json!({
            "plan_path": agreed.kept.plan_path,
            "test_spec_path": agreed.kept.test_spec_path,
        });
        self.write(
            AUTOPILOT,
            json!({"current_phase": "ralph", "handoff_artifacts": {"ralplan": handoff}}),
        )?;
        let built = self.part("build", |story| story.ralph(Some(agreed.plan)))?;
        // The change that is reviewed is that of all cycles.
        for file in &built.changed_files {
            if !changed_files.contains(file) {
                changed_files.push(file.clone());
            }
        }
        if changed_files.is_empty() {
            return self.block(AUTOPILOT, "no file was changed, so there is nothing to review");
        }
        let handoff = json!({"changed_files": changed_files, "evidence": built.evidence});
        self.write(
            AUTOPILOT,
            json!({"current_phase": "code-review", "handoff_artifacts": {"ralph": handoff}}),
        )?;
        let work = built.work.clone();
        let reviewed = self.part("review", |story| story.code_review(Some(work)))?;
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

    /// What ends a part ends the whole, in the whole's own document too.
    pub(super) fn ended_by_part<T>(&mut self, told: Tale<T>) -> Tale<T> {
        let mode = self.asked.mode;
        match told {
            Err(Halt::Ended(End::Failed(error))) if self.ledger.is_active(mode) => {
                self.fail(mode, &error)
            }
            Err(Halt::Ended(End::Limit(error))) if self.ledger.is_active(mode) => {
                self.exhaust(mode, &error)
            }
            Err(Halt::Ended(End::Blocked(reason))) if self.ledger.is_active(mode) => {
                self.block(mode, &reason)
            }
            told => told,
        }
    }
}

enum Cycle {
    Clean(String),
    /// The reviews whose findings come first in the next plan.
    Again(Vec<super::StepKey>),
}
