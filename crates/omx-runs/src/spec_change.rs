//! What the person changes about a run with a resume. The spec is written once; a change is
//! a record of the journal, and holds for the rest of the run.

use std::path::PathBuf;

use omx_kernel::ForeignText;
use omx_kernel::price::ModelPrices;
use omx_store::runs::RunFolder;
use serde::{Deserialize, Serialize};

use crate::record::Record;
use crate::spec::{RunLimits, RunSpec};

/// A change of a run's spec. What it does not name stays in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpecChange {
    /// The agent, by name. Its models have other names, so a new agent without a model has
    /// the one of its role's tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model for every role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What agents may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<String>,
    /// The project's check command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<ForeignText>,
    /// What models cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<ModelPrices>,
    /// How long the run waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<RunLimits>,
    /// The rehearsal agent's scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<PathBuf>,
}

impl SpecChange {
    /// Returns the change without what the spec says already.
    pub fn since(mut self, spec: &RunSpec) -> Self {
        self.agent = self.agent.filter(|agent| *agent != spec.agent);
        let is_new_agent = self.agent.is_some();
        self.model = self.model.filter(|model| is_new_agent || spec.model.as_ref() != Some(model));
        self.allow = self.allow.filter(|allow| *allow != spec.allow);
        self.check = self.check.filter(|check| spec.check.as_ref() != Some(check));
        self.prices = self.prices.filter(|prices| *prices != spec.prices);
        self.limits = self.limits.filter(|limits| *limits != spec.limits);
        self.scenario = self.scenario.filter(|file| spec.scenario.as_ref() != Some(file));
        self
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The change in a few words, for people.
    pub fn describe(&self) -> String {
        let limits = self.limits.map(|limits| {
            format!("patience {} s, check time {} s", limits.patience_s, limits.check_time_s)
        });
        let named = [
            self.agent.as_ref().map(|agent| format!("agent {agent}")),
            self.model.as_ref().map(|model| format!("model {model}")),
            self.allow.as_ref().map(|allow| format!("allow {allow}")),
            self.check.as_ref().map(|check| format!("check {}", check.raw())),
            self.prices.as_ref().map(|_| "prices".to_owned()),
            limits,
            self.scenario.as_ref().map(|file| format!("scenario {}", file.display())),
        ];
        named.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The changes in a run's journal, as ownership records compare them. Those behind an
/// unreadable line do not count: such a run cannot be resumed.
pub fn recorded_changes(run: &RunFolder) -> Vec<String> {
    let entries = run.journal().and_then(|mut journal| journal.read_new::<Record>());
    let records = entries.unwrap_or_default().into_iter().map(|entry| entry.record);
    records.filter_map(|record| record.spec_change_text()).collect()
}

impl Record {
    /// The record as text if it changes what the run was asked to do.
    pub fn spec_change_text(&self) -> Option<String> {
        match self {
            Self::SpecChanged { .. } => serde_json::to_string(self).ok(),
            _ => None,
        }
    }
}

impl RunSpec {
    /// Applies a record that changes the spec. Others change nothing.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::LimitRaised { max_iterations } => self.max_iterations = Some(*max_iterations),
            Record::BudgetRaised { budget } => self.budget = self.budget.changed_by(*budget),
            Record::SpecChanged { change } => {
                let SpecChange { agent, model, allow, check, prices, limits, scenario } =
                    change.clone();
                if let Some(agent) = agent {
                    self.agent = agent;
                    self.model = None;
                }
                self.model = model.or_else(|| self.model.take());
                self.allow = allow.unwrap_or_else(|| std::mem::take(&mut self.allow));
                self.check = check.or_else(|| self.check.take());
                self.prices = prices.unwrap_or_else(|| std::mem::take(&mut self.prices));
                self.limits = limits.unwrap_or(self.limits);
                self.scenario = scenario.or_else(|| self.scenario.take());
            }
            _ => {}
        }
    }
}
