//! Agents of a run: opened for a step, gone with it.

use omx_agents::agent::{AgentCommand, ConversationSpec, McpServer};
use omx_agents::failure::Failure;
use omx_agents::{Agent, AgentEvent, conversation};
use omx_kernel::Refusal;
use omx_kernel::approval::{AllowLevel, OWN_SERVER};
use omx_rehearsal::driver;

use super::Drive;
use crate::engine::{Happening, Talk};
use omx_runs::StepKey;
use omx_runs::progress::Progress;

impl<Show: FnMut(&Progress)> Drive<'_, Show> {
    /// Opens a conversation, unless the run was cancelled meanwhile.
    pub(super) fn open(&mut self, step: StepKey, talk: &Talk) -> Result<(), Refusal> {
        let tell = self.teller();
        if self.is_cancelled() {
            tell(Happening::Cancelled);
            tell(Happening::Agent(step, AgentEvent::Ended(None)));
            return Ok(());
        }
        let role = self.crew.roles.get(&talk.role).ok_or_else(|| {
            Refusal::invalid_input(format!(
                "there is no role {:?}; omx list roles shows them",
                talk.role
            ))
        })?;
        let model = talk.model.clone().or_else(|| self.asked.model.clone());
        let opening = ConversationSpec {
            start: talk.start.clone(),
            folder: self.folder.clone(),
            role: Some(role.prompt.clone()),
            model: model.or_else(|| role.model.clone()),
            allow: AllowLevel::parse(&self.asked.allow).unwrap_or(AllowLevel::Edits),
            servers: vec![McpServer {
                name: OWN_SERVER.to_owned(),
                program: self.crew.surroundings.omx.clone(),
                args: vec!["mcp".to_owned()],
                env: self.crew.surroundings.child_variables.clone(),
            }],
            schema: Some(talk.schema.clone()),
        };
        let crew = self.crew;
        let driver = driver(crew.installation.kind);
        let (of_step, told) = (step.clone(), self.teller());
        let opened = conversation::open(
            driver,
            &crew.installation,
            &opening,
            &crew.surroundings,
            crew.limits,
            move |event| told(Happening::Agent(of_step.clone(), event)),
        );
        match opened {
            Ok(agent) => {
                self.agents.insert(step, agent);
            }
            Err(trouble) => tell(Happening::Agent(step, ended(trouble))),
        }
        Ok(())
    }

    pub(super) fn order(&mut self, step: &StepKey, order: AgentCommand) {
        if let Some(agent) = self.agents.get(step) {
            agent.command(order);
        }
    }
}

fn ended(trouble: Failure) -> AgentEvent {
    AgentEvent::Ended(Some(trouble))
}
