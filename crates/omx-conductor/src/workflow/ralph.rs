//! Works, checks, verifies and fixes until the task is verifiably done.

use omx_agents::results::{AgentResult, ResultKind, VerificationCheck, WorkResult};
use omx_kernel::Mode;
use omx_kernel::progress::{ProgressSample, SAME_PROGRESS_LIMIT, is_stuck};
use omx_runs::{StepKey, VerificationLevel};
use serde_json::{Value, json};

use super::{AgentStep, CheckResult, Flow, StepPurpose, Workflow, WorkflowEnd};

const RALPH: Mode = Mode::Ralph;

/// What was built, and the evidence for it.
pub(super) struct BuiltChange {
    /// The last step that changed something.
    pub(super) work: StepKey,
    pub(super) summary: String,
    pub(super) changed_files: Vec<String>,
    /// What omx ran itself.
    pub(super) evidence: Vec<Value>,
    /// What verifiers say they ran.
    pub(super) claims: Vec<Value>,
}

/// The result of one round of checking and verifying.
enum Inspection {
    Passed(Inspected),
    /// The step with the findings.
    Failed(StepKey),
}

/// What speaks for a change that passed. What an agent says it ran is a claim, not evidence.
struct Inspected {
    evidence: Vec<Value>,
    claims: Vec<Value>,
}

impl Workflow<'_> {
    /// Runs the mode by itself.
    pub(super) fn ralph_run(&mut self) -> Flow<WorkflowEnd> {
        let built = self.ralph(None)?;
        Ok(WorkflowEnd::Complete(built.summary))
    }

    /// Works until check and verification pass.
    pub(super) fn ralph(&mut self, plan: Option<StepKey>) -> Flow<BuiltChange> {
        self.start(RALPH, json!({"current_phase": "starting"}))?;
        let mut round = 1_u64;
        self.begin_round(round)?;
        let mut built = self.work("work", "executor", StepPurpose::Implement { plan }, None)?;
        let mut standings = Vec::new();
        loop {
            self.enter(RALPH, "verifying")?;
            let failure = match self.inspect(round, &built.work)? {
                Inspection::Failed(failure) => failure,
                Inspection::Passed(Inspected { evidence, claims }) => {
                    let name = format!("tidy{round}");
                    built = self.work(&name, "executor", StepPurpose::Tidy, Some(built))?;
                    match self.check_passes(&format!("recheck{round}"), RALPH)? {
                        Ok(recheck) => {
                            built.evidence = evidence.into_iter().chain(recheck).collect();
                            built.claims = claims;
                            break;
                        }
                        Err(failure) => failure,
                    }
                }
            };
            if round >= self.ledger.max_iterations(RALPH) {
                return self.exhaust(RALPH, "max_iterations reached");
            }
            self.enter(RALPH, "fixing")?;
            let name = format!("fix{round}");
            let purpose = StepPurpose::Fix { failure: failure.clone() };
            built = self.work(&name, "debugger", purpose, Some(built))?;
            standings.push(self.standing(&built.work, &failure));
            if is_stuck(&standings) {
                let reason = format!(
                    "no progress: {SAME_PROGRESS_LIMIT} times in a row a fix changed nothing about this: {}",
                    self.describe_failure(&failure)
                );
                return self.block(RALPH, &reason);
            }
            round += 1;
            self.begin_round(round)?;
        }
        // The journal records who verified the work, and their results.
        built.evidence.push(json!({"path": self.context.journal_path()}));
        let checklist = vec![json!({"item": self.spec.task, "done": true})];
        let audit = json!({
            "passed": true,
            "checklist": checklist,
            "evidence": built.evidence,
            "claims": built.claims,
        });
        self.write(RALPH, json!({"current_phase": "complete", "completion_audit": audit}))?;
        Ok(built)
    }

    fn begin_round(&mut self, round: u64) -> Flow<()> {
        self.write(RALPH, json!({"current_phase": "executing", "iteration": round}))
    }

    /// A fingerprint of the state after an attempt to fix a failure.
    fn standing(&self, fix: &StepKey, failure: &StepKey) -> u64 {
        let last = self.completed.get(fix);
        let last_words = last.and_then(|last| last.result.get("summary")).and_then(Value::as_str);
        ProgressSample {
            tree: last.and_then(|last| last.tree.as_deref()),
            phase: "fixing",
            failure: &self.failure_text(failure),
            last_message: last_words.unwrap_or_default(),
        }
        .fingerprint()
    }

    /// Everything a check or a verification found.
    fn failure_text(&self, failure: &StepKey) -> String {
        let Some(finished) = self.completed.get(failure) else { return String::new() };
        match titles(&finished.result) {
            titles if titles.is_empty() => finished.result.to_string(),
            titles => titles.join("\n"),
        }
    }

    /// The failure in one line, for the person.
    fn describe_failure(&self, failure: &StepKey) -> String {
        let Some(finished) = self.completed.get(failure) else { return failure.to_string() };
        let text = |name: &str| finished.result.get(name).and_then(Value::as_str);
        match (text("command"), titles(&finished.result)) {
            (Some(command), _) => {
                let lines = text("output").unwrap_or_default().lines();
                let last = lines.map(str::trim).rfind(|line| !line.is_empty());
                format!("{command}: {}", last.unwrap_or("it fails without output"))
            }
            (None, titles) if titles.is_empty() => format!("{failure} does not pass"),
            (None, titles) => titles.join("; "),
        }
    }

    /// Runs a step that changes files.
    fn work(
        &mut self,
        name: &str,
        role: &str,
        purpose: StepPurpose,
        before: Option<BuiltChange>,
    ) -> Flow<BuiltChange> {
        let is_tidying = purpose == StepPurpose::Tidy;
        let agent =
            AgentStep { role: role.to_owned(), model: None, purpose, wants: ResultKind::Work };
        let work = match self.agent(name, RALPH, agent)? {
            AgentResult::Work(work) => work,
            _ => return Err(self.unreadable(name, "it is not a work result")),
        };
        if let (false, Some(reason)) = (work.done, work.blocked_reason.as_deref()) {
            let reason = reason.to_owned();
            return self.block(RALPH, &reason);
        }
        let summary = match (before.as_ref(), is_tidying) {
            // Keep the summary of the step that built it, not of the one that tidied up.
            (Some(before), true) => before.summary.clone(),
            _ => work.summary.to_string(),
        };
        Ok(self.built(name, &work, summary, before))
    }

    fn built(
        &self,
        name: &str,
        work: &WorkResult,
        summary: String,
        before: Option<BuiltChange>,
    ) -> BuiltChange {
        let mut changed_files: Vec<String> =
            before.map(|before| before.changed_files).unwrap_or_default();
        for file in &work.changed_files {
            if !changed_files.iter().any(|known| known == file.as_str()) {
                changed_files.push(file.as_str().to_owned());
            }
        }
        let (evidence, claims) = (Vec::new(), Vec::new());
        BuiltChange { work: self.key(name), summary, changed_files, evidence, claims }
    }

    /// Runs the check, then the verifiers that the run's verification level requires.
    fn inspect(&mut self, round: u64, work: &StepKey) -> Flow<Inspection> {
        let evidence = match self.check_passes(&format!("check{round}"), RALPH)? {
            Ok(evidence) => evidence,
            Err(failure) => return Ok(Inspection::Failed(failure)),
        };
        let roles: &[&str] = match self.spec.verification {
            // A check alone is never enough for ralph.
            VerificationLevel::Light | VerificationLevel::Standard => &["verifier"],
            VerificationLevel::Thorough => &["verifier", "architect"],
        };
        let mut claims = Vec::new();
        for role in roles {
            let name = format!("{role}{round}");
            let agent = AgentStep {
                role: (*role).to_owned(),
                model: None,
                purpose: StepPurpose::Verify { work: work.clone() },
                wants: ResultKind::Verification,
            };
            let verification = match self.agent(&name, RALPH, agent)? {
                AgentResult::Verification(verification) => verification,
                _ => return Err(self.unreadable(&name, "it is not a verification")),
            };
            if !verification.passed || !verification.findings.is_empty() {
                return Ok(Inspection::Failed(self.key(&name)));
            }
            claims.extend(verification.checks.iter().filter_map(|check| claim(role, check)));
        }
        Ok(Inspection::Passed(Inspected { evidence, claims }))
    }

    /// Returns the check's evidence, or the step that failed. A project without a
    /// check has neither.
    pub(super) fn check_passes(
        &mut self,
        name: &str,
        mode: Mode,
    ) -> Flow<Result<Vec<Value>, StepKey>> {
        Ok(match self.check(name, mode)? {
            None => Ok(Vec::new()),
            Some(check) if check.passed() => Ok(vec![evidence(&check)]),
            Some(_) => Err(self.key(name)),
        })
    }
}

/// The titles of a verification's findings, sorted.
fn titles(result: &Value) -> Vec<String> {
    let findings = result.get("findings").and_then(Value::as_array);
    let mut titles: Vec<String> = findings
        .into_iter()
        .flatten()
        .filter_map(|finding| {
            let title = finding.get("title").and_then(Value::as_str)?;
            let file = finding.get("file").and_then(Value::as_str);
            Some(file.map_or_else(|| title.to_owned(), |file| format!("{title} ({file})")))
        })
        .collect();
    titles.sort();
    titles
}

/// What a verifier says it ran. Nobody saw it run.
fn claim(role: &str, check: &VerificationCheck) -> Option<Value> {
    let command = check.command.as_deref()?;
    Some(json!({"command": command, "exit_code": check.exit_code, "claimed_by": role}))
}

fn evidence(check: &CheckResult) -> Value {
    json!({"command": check.command, "exit_code": check.exit_code})
}
