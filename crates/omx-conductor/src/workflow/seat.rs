//! Who does a step, and where.

use omx_agents::AgentKind;
use omx_kernel::Refusal;
use omx_kernel::approval::AllowLevel;
use omx_runs::{RunSpec, Workspace};

/// The agent of a step with its model, permissions and workspace. They belong
/// to the step, not to the run: two steps of a run can differ in all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Seat {
    /// The agent.
    pub agent: AgentKind,
    /// The model; defaults to that of the role's tier.
    pub model: Option<String>,
    /// What the agent may do without permission.
    pub allow: AllowLevel,
    /// Where the agent works.
    pub workspace: Workspace,
}

impl Seat {
    /// The seat of steps without their own.
    pub fn from_spec(spec: &RunSpec) -> Result<Self, Refusal> {
        let agent = AgentKind::parse(&spec.agent)
            .ok_or_else(|| Refusal::invalid_input(format!("unknown agent {:?}", spec.agent)))?;
        let allow = AllowLevel::parse(&spec.allow).ok_or_else(|| {
            Refusal::invalid_input(format!("unknown permission level {:?}", spec.allow))
        })?;
        let (model, workspace) = (spec.model.clone(), spec.workspace.clone());
        Ok(Self { agent, model, allow, workspace })
    }
}
