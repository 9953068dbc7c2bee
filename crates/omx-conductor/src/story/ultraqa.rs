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
            self.mend(round, Purpose::Diagnose { failure: failure.clone() }, "diagnose")?;
            self.enter(ULTRAQA, "fix")?;
            self.mend(round, Purpose::Mend { failure }, "fix")?;
            self.enter(ULTRAQA, "qa")?;
        }
        // The kernel ends the cycles; this line is never reached.
        self.fail(ULTRAQA, "too many cycles")
    }

    fn mend(&mut self, round: u64, purpose: Purpose, name: &str) -> Tale<()> {
        let errand =
            Errand { role: "debugger".to_owned(), model: None, purpose, wants: ResultKind::Work };
        let name = format!("{name}{round}");
        let blocked = match self.errand(&name, ULTRAQA, errand)? {
            AgentResult::Work(work) if !work.done() => work.blocked_reason().map(str::to_owned),
            _ => None,
        };
        match blocked {
            Some(reason) => self.block(ULTRAQA, &reason),
            None => Ok(()),
        }
    }
}

fn last_check(check: &CheckResult) -> serde_json::Value {
    json!({"command": check.command, "exit_code": check.exit_code, "output": check.output})
}
