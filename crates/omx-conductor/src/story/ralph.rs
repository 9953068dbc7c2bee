//! Work, check, verify, mend, until it is done and shown to be.

use omx_agents::results::{AgentResult, Check, ResultKind, Work};
use omx_kernel::Mode;
use omx_kernel::progress::{ProgressSample, SAME_PROGRESS_LIMIT, is_stuck};
use serde_json::{Value, json};

use super::{CheckResult, End, Errand, Purpose, StepKey, Story, Tale};
use omx_runs::spec::VerificationLevel;

const RALPH: Mode = Mode::Ralph;

/// What was done and how it was shown.
pub(super) struct Built {
    /// The last step that changed something.
    pub(super) work: StepKey,
    pub(super) summary: String,
    pub(super) changed_files: Vec<String>,
    pub(super) evidence: Vec<Value>,
}

/// How one look at the work ended.
enum Look {
    Passed(Vec<Value>),
    /// The step that found something.
    Found(StepKey),
}

impl Story<'_> {
    /// The mode by itself.
    pub(super) fn ralph_run(&mut self) -> Tale<End> {
        let built = self.ralph(None)?;
        Ok(End::Complete(built.summary))
    }

    /// Works until check and verification pass.
    pub(super) fn ralph(&mut self, plan: Option<StepKey>) -> Tale<Built> {
        self.start(RALPH, json!({"current_phase": "starting"}))?;
        let mut round = 1_u64;
        self.begin_round(round)?;
        let mut built = self.work("work", "executor", Purpose::Implement { plan }, None)?;
        let mut standings = Vec::new();
        loop {
            self.enter(RALPH, "verifying")?;
            let failure = match self.look(round, &built.work)? {
                Look::Found(failure) => failure,
                Look::Passed(evidence) => {
                    let name = format!("tidy{round}");
                    built = self.work(&name, "executor", Purpose::Tidy, Some(built))?;
                    match self.check_passes(&format!("recheck{round}"), RALPH)? {
                        Ok(recheck) => {
                            built.evidence = evidence.into_iter().chain(recheck).collect();
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
            let purpose = Purpose::Mend { failure: failure.clone() };
            built = self.work(&name, "debugger", purpose, Some(built))?;
            standings.push(self.standing(&built.work, &failure));
            if is_stuck(&standings) {
                let reason = format!(
                    "no progress: {SAME_PROGRESS_LIMIT} times in a row nothing came of mending this: {}",
                    self.in_short(&failure)
                );
                return self.block(RALPH, &reason);
            }
            round += 1;
            self.begin_round(round)?;
        }
        // The journal tells who verified and what they said.
        built.evidence.push(json!({"path": self.journal_path()}));
        let checklist = vec![json!({"item": self.asked.task, "done": true})];
        let audit = json!({"passed": true, "checklist": checklist, "evidence": built.evidence});
        self.write(RALPH, json!({"current_phase": "complete", "completion_audit": audit}))?;
        Ok(built)
    }

    fn begin_round(&mut self, round: u64) -> Tale<()> {
        self.write(RALPH, json!({"current_phase": "executing", "iteration": round}))
    }

    /// How things stand after a failure was mended.
    fn standing(&self, mended: &StepKey, failure: &StepKey) -> u64 {
        let last = self.past.get(mended);
        let last_words = last.and_then(|last| last.result.get("summary")).and_then(Value::as_str);
        ProgressSample {
            tree: last.and_then(|last| last.tree.as_deref()),
            phase: "fixing",
            failure: &self.told(failure),
            last_message: last_words.unwrap_or_default(),
        }
        .fingerprint()
    }

    /// All that a check or a verification said against the work.
    fn told(&self, failure: &StepKey) -> String {
        let Some(finished) = self.past.get(failure) else { return String::new() };
        match titles(&finished.result) {
            titles if titles.is_empty() => finished.result.to_string(),
            titles => titles.join("\n"),
        }
    }

    /// The same in one line, for the person.
    fn in_short(&self, failure: &StepKey) -> String {
        let Some(finished) = self.past.get(failure) else { return failure.to_string() };
        let text = |name: &str| finished.result.get(name).and_then(Value::as_str);
        match (text("command"), titles(&finished.result)) {
            (Some(command), _) => {
                let lines = text("output").unwrap_or_default().lines();
                let last = lines.map(str::trim).rfind(|line| !line.is_empty());
                format!("{command}: {}", last.unwrap_or("it fails without a word"))
            }
            (None, titles) if titles.is_empty() => format!("{failure} does not pass"),
            (None, titles) => titles.join("; "),
        }
    }

    /// A step that changes files.
    fn work(
        &mut self,
        name: &str,
        role: &str,
        purpose: Purpose,
        before: Option<Built>,
    ) -> Tale<Built> {
        let errand =
            Errand { role: role.to_owned(), model: None, purpose, wants: ResultKind::Work };
        let work = match self.errand(name, RALPH, errand)? {
            AgentResult::Work(work) => work,
            _ => return Err(self.unreadable(name, "it is no work")),
        };
        if let (false, Some(reason)) = (work.done(), work.blocked_reason()) {
            let reason = reason.to_owned();
            return self.block(RALPH, &reason);
        }
        Ok(self.built(name, &work, before))
    }

    fn built(&self, name: &str, work: &Work, before: Option<Built>) -> Built {
        let mut changed_files: Vec<String> =
            before.as_ref().map(|before| before.changed_files.clone()).unwrap_or_default();
        for file in work.changed_files() {
            if !changed_files.iter().any(|known| known == file.as_str()) {
                changed_files.push(file.as_str().to_owned());
            }
        }
        // What was built is told by the first who built it, not by who tidied up.
        let summary = before.map_or_else(|| work.summary().to_owned(), |before| before.summary);
        Built { work: self.key(name), summary, changed_files, evidence: Vec::new() }
    }

    /// The check, then whoever verifies, by the run's verification.
    fn look(&mut self, round: u64, work: &StepKey) -> Tale<Look> {
        let mut evidence = match self.check_passes(&format!("check{round}"), RALPH)? {
            Ok(evidence) => evidence,
            Err(failure) => return Ok(Look::Found(failure)),
        };
        let roles: &[&str] = match self.asked.verification {
            // Ralph is never content with a check alone.
            VerificationLevel::Light | VerificationLevel::Standard => &["verifier"],
            VerificationLevel::Thorough => &["verifier", "architect"],
        };
        for role in roles {
            let name = format!("{role}{round}");
            let errand = Errand {
                role: (*role).to_owned(),
                model: None,
                purpose: Purpose::Verify { work: work.clone() },
                wants: ResultKind::Verification,
            };
            let verification = match self.errand(&name, RALPH, errand)? {
                AgentResult::Verification(verification) => verification,
                _ => return Err(self.unreadable(&name, "it is no verification")),
            };
            if !verification.passed() || !verification.findings().is_empty() {
                return Ok(Look::Found(self.key(&name)));
            }
            evidence.extend(verification.checks().iter().filter_map(shown));
        }
        Ok(Look::Passed(evidence))
    }

    /// The check's evidence, or the step that failed. Without a check there is
    /// nothing to show and nothing to fail.
    pub(super) fn check_passes(
        &mut self,
        name: &str,
        mode: Mode,
    ) -> Tale<Result<Vec<Value>, StepKey>> {
        Ok(match self.check(name, mode)? {
            None => Ok(Vec::new()),
            Some(check) if check.passed() => Ok(vec![evidence(&check)]),
            Some(_) => Err(self.key(name)),
        })
    }
}

/// What a verification found, in an order of its own.
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

/// A check somebody else ran and told of with its exit code.
fn shown(check: &Check) -> Option<Value> {
    let passed = check.exit_code() == Some(0);
    check.command().filter(|_| passed).map(|command| json!({"command": command, "exit_code": 0}))
}

fn evidence(check: &CheckResult) -> Value {
    json!({"command": check.command, "exit_code": check.exit_code})
}
