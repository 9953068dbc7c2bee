//! Run a check, find out why it fails, mend it, and again.

use omx_agents::results::{AgentResult, ResultKind};
use omx_kernel::Mode;
use serde_json::json;

use super::{CheckResult, End, Errand, Purpose, Story, Tale};

const ULTRAQA: Mode = Mode::Ultraqa;

impl Story<'_> {
    pub(super) fn ultraqa(&mut self) -> Tale<End> {
        self.start(ULTRAQA, json!({"current_phase": "qa"}))?;
        for round in 1_u64.. {
            let name = format!("check{round}");
            let Some(check) = self.check(&name, ULTRAQA)? else {
                return self.block(ULTRAQA, "no check is known; name one with --check");
            };
            if check.passed() {
                self.write(
                    ULTRAQA,
                    json!({"current_phase": "complete", "last_check": last_check(&check)}),
                )?;
                return Ok(End::Complete(format!("{} passes.", check.command)));
            }
            self.write(
                ULTRAQA,
                json!({"current_phase": "diagnose", "last_check": last_check(&check)}),
            )?;
            let failure = self.key(&name);
            let diagnosis =
                self.mend(round, Purpose::Diagnose { failure: failure.clone() }, "diagnose")?;
            // It stays there if the run fails.
            self.write(ULTRAQA, json!({"current_phase": "fix", "diagnosis": diagnosis}))?;
            self.mend(round, Purpose::Mend { failure }, "fix")?;
            self.enter(ULTRAQA, "qa")?;
        }
        // The kernel ends the cycles; this line is never reached.
        self.fail(ULTRAQA, "too many cycles")
    }

    /// Lets somebody look or mend; gives what they say about it.
    fn mend(&mut self, round: u64, purpose: Purpose, name: &str) -> Tale<String> {
        let errand =
            Errand { role: "debugger".to_owned(), model: None, purpose, wants: ResultKind::Work };
        let name = format!("{name}{round}");
        let work = match self.errand(&name, ULTRAQA, errand)? {
            AgentResult::Work(work) => work,
            _ => return Err(self.unreadable(&name, "it is no work")),
        };
        match work.blocked_reason() {
            Some(reason) if !work.done() => self.block(ULTRAQA, reason),
            _ => Ok(work.summary().to_owned()),
        }
    }
}

fn last_check(check: &CheckResult) -> serde_json::Value {
    json!({"command": check.command, "exit_code": check.exit_code, "output": check.output})
}
