//! Drives an engine event by event, in a project whose documents can always be written.

use std::collections::{BTreeMap, VecDeque};

use omx_agents::agent::{AgentCommand, ConversationId, ConversationStart};
use omx_agents::event::{AgentEvent, TurnAnswer};
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::{AgentKind, ConversationRecord};
use omx_conductor::engine::{
    Engine, Inspection, Job, JobResult, RunEffect, RunEvent, RunOutcome, StepDecision,
};
use omx_kernel::Timestamp;
use omx_runs::{Record, RunSpec, StepKey, WorkspaceState};
use serde_json::Value;

use crate::kit;

/// An engine with its journal, in a project whose documents can be written.
pub struct EngineHarness {
    pub spec: RunSpec,
    pub engine: Engine,
    pub now: Timestamp,
    pub records: Vec<Record>,
    pub effects: Vec<RunEffect>,
    /// What is found out about an interrupted step.
    pub found: Inspection,
}

impl EngineHarness {
    pub fn new(spec: RunSpec) -> Self {
        Self::opened_from(spec, Vec::new(), &[])
    }

    pub fn opened_from(
        spec: RunSpec,
        records: Vec<Record>,
        decisions: &[(&str, StepDecision)],
    ) -> Self {
        let (record, workspace) = (ConversationRecord::Unknown, WorkspaceState::NotCompared);
        Self::finding(spec, records, decisions, Inspection { record, workspace })
    }

    pub fn finding(
        spec: RunSpec,
        records: Vec<Record>,
        decisions: &[(&str, StepDecision)],
        found: Inspection,
    ) -> Self {
        let decisions: BTreeMap<String, StepDecision> =
            decisions.iter().map(|(step, decide)| ((*step).to_owned(), *decide)).collect();
        let opened = Engine::open(spec.clone(), kit::context(), &records, &decisions);
        let (engine, changes) = opened.unwrap();
        let now = Timestamp::parse(&spec.started_at).unwrap();
        let mut play = Self { spec, engine, now, records, effects: Vec::new(), found };
        play.handle(RunEvent::Opened { version: "1".to_owned(), changes });
        play
    }

    /// The process is killed, and another opens the run.
    pub fn killed(self, decisions: &[(&str, StepDecision)]) -> Self {
        Self::opened_from(self.spec, self.records, decisions)
    }

    /// The same, and this is found out about what was interrupted.
    pub fn killed_and_found(self, record: ConversationRecord, workspace: WorkspaceState) -> Self {
        Self::finding(self.spec, self.records, &[], Inspection { record, workspace })
    }

    /// Handles an event; documents are written at once.
    pub fn handle(&mut self, event: RunEvent) {
        self.effects.clear();
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in self.engine.handle(event, self.now) {
                match effect {
                    RunEffect::FindLeftovers => {
                        events.push_back(RunEvent::LeftoversFound(Ok(Vec::new())));
                    }
                    RunEffect::WriteDocument(_) | RunEffect::CancelDocuments => {
                        events.push_back(RunEvent::DocumentWritten(Ok(())));
                    }
                    RunEffect::StartJob(step, Job::Inspect { .. }) => {
                        let found = Ok(JobResult::Inspected(self.found.clone()));
                        events.push_back(RunEvent::JobDone(step, found));
                    }
                    RunEffect::Record(record) => {
                        self.records.push(record.clone());
                        self.effects.push(RunEffect::Record(record));
                    }
                    effect => self.effects.push(effect),
                }
            }
        }
    }

    pub fn report(&mut self, step: &StepKey, event: AgentEvent) {
        self.handle(RunEvent::Agent(step.clone(), event));
    }

    /// The conversation that was just opened.
    #[track_caller]
    pub fn opened(&self) -> (StepKey, ConversationStart) {
        let opened = self.effects.iter().find_map(|effect| match effect {
            RunEffect::OpenAgent(step, spec) => Some((step.clone(), spec.start.clone())),
            _ => None,
        });
        opened.unwrap_or_else(|| panic!("nothing was opened: {:?}", self.effects))
    }

    /// What was just sent.
    pub fn sent(&self) -> Option<&str> {
        self.effects.iter().find_map(|effect| match effect {
            RunEffect::Command(_, AgentCommand::Send(message)) => Some(message.text.as_str()),
            _ => None,
        })
    }

    #[track_caller]
    pub fn closed(&self) -> RunOutcome {
        match self.effects.last() {
            Some(RunEffect::Close(outcome)) => outcome.clone(),
            _ => panic!("not closed: {:?}", self.effects),
        }
    }

    pub fn has_finished(&self, name: &str) -> bool {
        self.records.iter().any(
            |record| matches!(record, Record::StepFinished { step, .. } if step.as_str() == name),
        )
    }
}

pub fn started(id: &str) -> AgentEvent {
    AgentEvent::Started { conversation: ConversationId::new(id).unwrap(), model: None }
}

pub fn answer(value: Value) -> AgentEvent {
    AgentEvent::TurnFinished(TurnAnswer { text: String::new(), structured: Some(value) })
}

pub fn failure(cause: FailureCause) -> Failure {
    Failure::new(AgentKind::Rehearsal, cause)
}

pub fn unknown() -> AgentEvent {
    AgentEvent::Ended(Some(failure(FailureCause::UnknownConversation { detail: String::new() })))
}
