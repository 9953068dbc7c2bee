//! Runs the check, diagnoses a failure, fixes it, and repeats.

use omx_agents::results::{AgentResult, ResultKind};
use omx_kernel::Mode;
use serde_json::json;

use super::{AgentStep, CheckResult, Flow, StepPurpose, Workflow, WorkflowEnd};

const ULTRAQA: Mode = Mode::Ultraqa;

impl Workflow<'_> {
    pub(super) fn ultraqa(&mut self) -> Flow<WorkflowEnd> {
        self.start(ULTRAQA, json!({"current_phase": "qa"}))?;
        for round in 1_u64.. {
            let name = format!("check{round}");
            let Some(check) = self.check(&name, ULTRAQA)? else {
                return self
                    .block(ULTRAQA, "no check is known; name the command that must succeed");
            };
            if check.passed() {
                self.write(
                    ULTRAQA,
                    json!({"current_phase": "complete", "last_check": last_check(&check)}),
                )?;
                return Ok(WorkflowEnd::Complete(format!("{} passes.", check.command)));
            }
            self.write(
                ULTRAQA,
                json!({"current_phase": "diagnose", "last_check": last_check(&check)}),
            )?;
            let failure = self.key(&name);
            let diagnosis =
                self.debug(round, StepPurpose::Diagnose { failure: failure.clone() }, "diagnose")?;
            // The diagnosis stays in the document even if the run fails.
            self.write(ULTRAQA, json!({"current_phase": "fix", "diagnosis": diagnosis}))?;
            self.debug(round, StepPurpose::Fix { failure }, "fix")?;
            self.enter(ULTRAQA, "qa")?;
        }
        // Unreachable: the kernel limits the cycles.
        self.fail(ULTRAQA, "too many cycles")
    }

    /// Has a debugger diagnose or fix. Returns the debugger's summary.
    fn debug(&mut self, round: u64, purpose: StepPurpose, name: &str) -> Flow<String> {
        let agent = AgentStep {
            role: "debugger".to_owned(),
            model: None,
            purpose,
            wants: ResultKind::Work,
        };
        let name = format!("{name}{round}");
        let work = match self.agent(&name, ULTRAQA, agent)? {
            AgentResult::Work(work) => work,
            _ => return Err(self.unreadable(&name, "it is not a work result")),
        };
        match work.blocked_reason.as_deref() {
            Some(reason) if !work.done => self.block(ULTRAQA, reason),
            _ => Ok(work.summary.to_string()),
        }
    }
}

fn last_check(check: &CheckResult) -> serde_json::Value {
    json!({"command": check.command, "exit_code": check.exit_code, "output": check.output})
}
