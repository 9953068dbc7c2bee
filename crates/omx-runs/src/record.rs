//! The records of a run's journal. The journal is the source of truth for a run:
//! everything else derives from it.
//!
//! Aliases name the kinds that earlier versions wrote; see `migrate.rs`.

use omx_kernel::CloseReason;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::Budget;
use crate::spec_change::SpecChange;
use crate::step_key::StepKey;
use crate::usage::Usage;

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A process opened the run, for the first time or to resume it.
    Opened {
        /// The program's version.
        version: String,
    },
    /// A step starts. Written before any of its effects.
    StepStarted {
        /// The step.
        step: StepKey,
        /// The hash of its input.
        input: String,
        /// The hash of the workspace's content, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// The agent's own id for the conversation. Written before the first message
    /// is sent in it.
    Conversation {
        /// The step.
        step: StepKey,
        /// The agent.
        agent: String,
        /// The conversation's id.
        id: String,
    },
    /// The agent has shown that it received its message. Without this record, the
    /// step cannot have had any effect.
    #[serde(alias = "heard")]
    Delivered {
        /// The step.
        step: StepKey,
    },
    /// The agent used tokens. An agent that uses tokens has received its message.
    #[serde(alias = "spent")]
    Usage {
        /// The step.
        step: StepKey,
        /// Tokens and money.
        #[serde(flatten)]
        usage: Usage,
    },
    /// A step's result was checked and is valid.
    StepFinished {
        /// The step.
        step: StepKey,
        /// Its result.
        result: Value,
        /// The hash of the workspace's content after the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// A step's work is in the run's branch. Written when the commit is on disk.
    Committed {
        /// The step.
        step: StepKey,
        /// The commit.
        commit: String,
    },
    /// Something about a step that the person should know.
    Note {
        /// The step.
        step: StepKey,
        /// The note, for people.
        note: String,
    },
    /// The person accepted the workspace as it is, although it is not what the journal said.
    WorkAdopted {
        /// The step whose work it replaces.
        step: StepKey,
        /// The last commit of the branch, if it has one.
        commit: Option<String>,
        /// The hash of the workspace's content.
        tree: String,
    },
    /// A step failed.
    StepFailed {
        /// The step.
        step: StepKey,
        /// Why.
        error: String,
    },
    /// A step's result, or its start, no longer counts.
    #[serde(alias = "step_forgotten")]
    StepDiscarded {
        /// The step.
        step: StepKey,
        /// Why.
        why: String,
    },
    /// The person accepted that a step's input has changed.
    InputAccepted {
        /// The step.
        step: StepKey,
        /// The hash of the current input.
        input: String,
    },
    /// The run waits.
    Waiting {
        /// The step.
        step: StepKey,
        /// What it waits for.
        #[serde(rename = "for")]
        what: String,
        /// Until when, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// How long this process has driven the run so far. Written with each
    /// finished step, so that a kill loses little of the time used.
    Worked {
        /// In milliseconds.
        worked_ms: u64,
    },
    /// The person raised the iteration limit.
    LimitRaised {
        /// The new limit.
        max_iterations: u64,
    },
    /// The person changed the budget. Limits that it does not name stay in force.
    BudgetRaised {
        /// The new limits. They cover the whole run, including past usage.
        budget: Budget,
    },
    /// The person changed what the run was asked to do, with a resume. Holds for the rest of
    /// the run.
    SpecChanged {
        /// What changed.
        #[serde(flatten)]
        change: SpecChange,
    },
    /// A process stopped driving the run.
    Closed {
        /// The reason, for programs.
        outcome: CloseReason,
        /// The reason, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// How long this process drove it, in milliseconds.
        worked_ms: u64,
    },
}
