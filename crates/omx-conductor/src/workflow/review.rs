//! Reviews a change in two concurrent lanes.

use omx_agents::results::{AgentResult, ResultKind, ReviewFinding, ReviewKind, ReviewResult};
use omx_kernel::Mode;
use omx_runs::StepKey;
use serde_json::{Value, json};

use super::{AgentStep, Flow, Halt, Step, StepKind, StepPurpose, Workflow, WorkflowEnd};

const REVIEW: Mode = Mode::CodeReview;

/// The verdict of both lanes.
pub(super) struct Reviewed {
    /// The verdict in the documents' format.
    pub(super) verdict: Value,
    pub(super) is_clean: bool,
    /// Why the review is not clean, in one line.
    pub(super) reason: String,
    pub(super) steps: Vec<StepKey>,
}

impl Workflow<'_> {
    /// Runs the mode by itself.
    pub(super) fn code_review_run(&mut self) -> Flow<WorkflowEnd> {
        let reviewed = self.code_review(None)?;
        Ok(if reviewed.is_clean {
            WorkflowEnd::Complete("Both reviewers approve.".to_owned())
        } else {
            WorkflowEnd::Complete(format!("Not clean: {}", reviewed.reason))
        })
    }

    /// Reviews the change in both lanes.
    pub(super) fn code_review(&mut self, work: Option<StepKey>) -> Flow<Reviewed> {
        self.start(REVIEW, json!({"current_phase": "reviewing"}))?;
        let code = self.lane("code", "code-reviewer", ReviewKind::Code, &work);
        let architect =
            self.lane("architect", "architect", ReviewKind::ArchitectInCodeReview, &work);
        let steps = vec![code.key.clone(), architect.key.clone()];
        let [code, architect] = self.both([code, architect])?;
        let findings: Vec<Value> =
            code.findings.iter().chain(&architect.findings).map(finding).collect();
        let is_clean = code.verdict.as_str() == "APPROVE"
            && architect.verdict.as_str() == "CLEAR"
            && findings.is_empty();
        let verdict = json!({
            "recommendation": code.verdict.as_str(),
            "architectural_status": architect.verdict.as_str(),
            "clean": is_clean,
            "findings": findings,
        });
        self.write(REVIEW, json!({"current_phase": "complete", "review_verdict": verdict}))?;
        Ok(Reviewed { reason: reason(&code, &architect), verdict, is_clean, steps })
    }

    fn lane(&self, name: &str, role: &str, kind: ReviewKind, work: &Option<StepKey>) -> Step {
        let agent = AgentStep {
            role: role.to_owned(),
            model: None,
            purpose: StepPurpose::ReviewChange { work: work.clone() },
            wants: ResultKind::Review(kind),
        };
        self.step(name, REVIEW, StepKind::Agent(agent))
    }

    /// The results of two concurrent steps.
    fn both(&self, steps: [Step; 2]) -> Flow<[ReviewResult; 2]> {
        let missing: Vec<Step> =
            steps.iter().filter(|step| self.completed.get(&step.key).is_none()).cloned().collect();
        if !missing.is_empty() {
            return Err(Halt::Pending(missing));
        }
        let [first, second] = steps.map(|step| self.lane_result(step));
        Ok([first?, second?])
    }

    fn lane_result(&self, step: Step) -> Flow<ReviewResult> {
        let StepKind::Agent(AgentStep { wants, .. }) = step.kind else {
            return Err(self.unreadable("lane", "it is not an agent step"));
        };
        let name = step.key.to_string();
        match AgentResult::read(wants, self.result(step)?.result) {
            Ok(AgentResult::Review(review)) => Ok(review),
            Ok(_) => Err(self.unreadable(&name, "it is not a review")),
            Err(problem) => Err(self.unreadable(&name, &problem.to_string())),
        }
    }
}

fn finding(finding: &ReviewFinding) -> Value {
    serde_json::to_value(finding).unwrap_or_default()
}

fn reason(code: &ReviewResult, architect: &ReviewResult) -> String {
    let titles: Vec<&str> = code
        .findings
        .iter()
        .chain(&architect.findings)
        .map(|finding| finding.title.as_str())
        .collect();
    let verdicts = format!("{}, {}", code.verdict.as_str(), architect.verdict.as_str());
    if titles.is_empty() { verdicts } else { format!("{verdicts}: {}", titles.join("; ")) }
}
