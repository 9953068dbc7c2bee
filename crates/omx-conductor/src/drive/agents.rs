//! Conversations with agents, in a project.

use omx_agents::agent::{ConversationSpec, McpServerSpec};
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::{Conversation, conversation};
use omx_kernel::approval::OWN_SERVER;
use omx_rehearsal::driver;
use omx_runs::progress::Progress;
use omx_runs::{OtherAgents, RunRepository, StepKey};

use super::project::ProjectWorld;
use super::world::WorldEvent;
use crate::engine::StepConversation;

impl<Show: FnMut(&Progress)> ProjectWorld<'_, Show> {
    pub(super) fn open_conversation(
        &self,
        step: &StepKey,
        spec: &StepConversation,
    ) -> Result<Conversation, Failure> {
        let (env, seat) = (self.env, &spec.seat);
        let fail = |detail: String| Failure::new(seat.agent, FailureCause::CannotStart { detail });
        let program = env.context.dialect.name;
        let role = env.roles.get(&spec.role).ok_or_else(|| {
            fail(format!("there is no role {:?}; list them with: {program} list roles", spec.role))
        })?;
        let installation = env
            .installations
            .get(&seat.agent)
            .ok_or_else(|| Failure::new(seat.agent, FailureCause::NotInstalled))?;
        if let Some(repository) = &self.repository {
            let others = if self.agents.is_empty() { OtherAgents::None } else { OtherAgents::Some };
            repository.give_to_agent(others).map_err(|error| fail(error.to_string()))?;
        }
        let git = self.repository.iter().flat_map(RunRepository::agent_writable_paths);
        let git: Vec<_> = git.collect();
        let opening = ConversationSpec {
            start: spec.start.clone(),
            folder: seat.workspace.folder().to_owned(),
            role: Some(role.prompt.clone()),
            model: seat.model.clone().or_else(|| role.model.clone()),
            allow: seat.allow,
            servers: vec![McpServerSpec {
                name: OWN_SERVER.to_owned(),
                program: env.agents.omx.clone(),
                args: vec!["mcp".to_owned()],
                env: env.agents.child_variables.clone(),
            }],
            max_micro_usd: spec.max_micro_usd,
            schema: Some(spec.schema.clone()),
            sandbox: env.sandbox.of_agent(seat.agent, seat.allow, spec.access, &self.top(), &git),
        };
        let (step, mailbox) = (step.clone(), self.mailbox.clone());
        let report = move |event| mailbox.send(WorldEvent::Agent(step.clone(), event));
        let driver = driver(seat.agent);
        conversation::open(driver, installation, &opening, &env.agents, env.limits, report)
    }
}
