//! What goes wrong with simulated agents.

use std::time::Duration;

use omx_agents::AgentKind;
use omx_agents::failure::{Failure, FailureCause};
use omx_kernel::Timestamp;

use super::agents::SimAction;
use super::scenario::AgentFault;
use super::world::SimWorld;

impl SimWorld {
    /// Something that goes wrong now, if anything does.
    pub fn next_fault(&mut self) -> Option<AgentFault> {
        let is_due = self.scenario.agent_faults_left > 0
            && !self.scenario.agent_faults.is_empty()
            && self.random.one_in(self.scenario.agent_fault_one_in);
        is_due.then(|| {
            self.scenario.agent_faults_left -= 1;
            *self.random.choose(&self.scenario.agent_faults)
        })
    }

    pub fn failing_action(&mut self, fault: AgentFault) -> SimAction {
        let detail = String::new();
        let cause = match fault {
            AgentFault::Limited => {
                let seconds = *self.random.choose(&[-600, 0, 1, 30, 3_600, 20_000]);
                let until = Timestamp::from_millis(self.now.millis() + seconds * 1000);
                FailureCause::RateLimited { until: Some(until), detail }
            }
            AgentFault::LimitedWithoutEnd => FailureCause::RateLimited { until: None, detail },
            AgentFault::Network => FailureCause::Network { detail },
            AgentFault::Service => FailureCause::Service { status: Some(503), detail },
            AgentFault::CutOff => FailureCause::CutOff { detail },
            AgentFault::NotLoggedIn => FailureCause::NotLoggedIn { detail },
            AgentFault::Crashed => {
                return SimAction::Die(FailureCause::Crashed { code: Some(1), stderr: detail });
            }
            AgentFault::Silent => {
                return SimAction::Die(FailureCause::Silent {
                    waited: Duration::from_secs(9),
                    during: "work",
                });
            }
            AgentFault::Rejected => FailureCause::Rejected { detail },
            AgentFault::Interrupted => return SimAction::BreakOff,
        };
        if self.random.one_in(2) { SimAction::Die(cause) } else { SimAction::FailTurn(cause) }
    }
}

pub fn failure(cause: FailureCause) -> Failure {
    Failure::new(AgentKind::Rehearsal, cause)
}
