//! What a journal says about the workspace: the last commit and the last content.

use std::collections::BTreeSet;

use crate::git::{CommitId, TreeId};
use crate::record::Record;
use crate::step_key::StepKey;

/// The state of the workspace according to the journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedWork {
    /// The commits, each with its step, the last one last.
    commits: Vec<(StepKey, CommitId)>,
    /// The content after the last finished step.
    tree: Option<(StepKey, TreeId)>,
    /// Steps that began and did not finish. The workspace may hold half of them.
    begun: BTreeSet<StepKey>,
    /// Whether a step was discarded.
    has_discarded: bool,
}

/// How the workspace differs from what the journal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkDifference {
    /// The step whose work is affected.
    pub step: StepKey,
    /// The difference, for people.
    pub what: String,
    /// The last commit of the branch now.
    pub commit: Option<String>,
    /// The content of the workspace now.
    pub tree: String,
}

/// The workspace, compared with what it was before the step in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceState {
    /// It has the same content.
    AsBefore {
        /// The hash of that content.
        tree: String,
    },
    /// It has changed, or the comparison failed.
    MayHaveChanged,
    /// It is never compared: git does not know what it was.
    NotCompared,
}

/// The content that the workspace had before the step in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContentBefore {
    /// This content.
    Tree(TreeId),
    /// The content of the run's branch: no step has changed anything.
    Branch,
    /// Unknown: a step was discarded, and its changes may still be there.
    Unknown,
}

impl RecordedWork {
    pub(crate) fn read<'a>(records: impl Iterator<Item = &'a Record>) -> Self {
        let mut work = Self::default();
        records.for_each(|record| work.apply(record));
        work
    }

    /// Adds a record.
    pub(crate) fn apply(&mut self, record: &Record) {
        match record {
            Record::StepStarted { step, tree, .. } => {
                self.begun.insert(step.clone());
                if let Some(tree) = tree.as_deref().and_then(|tree| TreeId::new(tree).ok()) {
                    self.tree = Some((step.clone(), tree));
                }
            }
            Record::Committed { step, commit } => {
                self.commits.extend(CommitId::new(commit).ok().map(|it| (step.clone(), it)));
            }
            Record::StepFinished { step, tree, .. } => {
                self.begun.remove(step);
                if let Some(tree) = tree.as_deref().and_then(|tree| TreeId::new(tree).ok()) {
                    self.tree = Some((step.clone(), tree));
                }
            }
            Record::StepDiscarded { step, .. } => {
                self.begun.remove(step);
                self.commits.retain(|(known, _)| known != step);
                // The workspace may still hold what the step did.
                self.tree = None;
                self.has_discarded = true;
            }
            Record::WorkAdopted { step, commit, tree } => {
                let commit = commit.as_deref().and_then(|commit| CommitId::new(commit).ok());
                self.commits = commit.map(|commit| (step.clone(), commit)).into_iter().collect();
                self.tree = TreeId::new(tree).ok().map(|tree| (step.clone(), tree));
            }
            _ => {}
        }
    }

    /// The last commit, with its step.
    pub(crate) fn commit(&self) -> Option<&(StepKey, CommitId)> {
        self.commits.last()
    }

    /// The content after the last finished step.
    pub(crate) fn tree(&self) -> Option<&(StepKey, TreeId)> {
        self.tree.as_ref()
    }

    /// The content before the step in progress.
    pub(crate) fn before_step(&self) -> ContentBefore {
        match &self.tree {
            Some((_, tree)) => ContentBefore::Tree(tree.clone()),
            None if self.has_discarded => ContentBefore::Unknown,
            None => ContentBefore::Branch,
        }
    }

    /// Whether a step began and did not finish.
    pub(crate) fn is_interrupted(&self) -> bool {
        !self.begun.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_last_commit_and_content_count_unless_a_step_was_interrupted() {
        let step = |name: &str| StepKey::new(name.to_owned());
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let started =
            |name: &str| Record::StepStarted { step: step(name), input: String::new(), tree: None };
        let finished = |name: &str, tree: &str| Record::StepFinished {
            step: step(name),
            result: Value::Null,
            tree: Some(tree.to_owned()),
        };
        let committed = Record::Committed { step: step("work"), commit: one.clone() };
        let mut records = vec![started("work"), committed, finished("work", &two)];
        let work = RecordedWork::read(records.iter());
        assert_eq!(*work.commit().unwrap(), (step("work"), CommitId::new(&one).unwrap()));
        assert_eq!(*work.tree().unwrap(), (step("work"), TreeId::new(&two).unwrap()));
        assert!(!work.is_interrupted());

        records.push(started("check1"));
        assert!(RecordedWork::read(records.iter()).is_interrupted());
        records.push(finished("check1", &one));
        assert!(!RecordedWork::read(records.iter()).is_interrupted());

        // What was committed before a discarded step still counts.
        records.push(Record::Committed { step: step("fix1"), commit: two.clone() });
        records.push(Record::StepDiscarded { step: step("fix1"), why: String::new() });
        let work = RecordedWork::read(records.iter());
        assert_eq!(work.commit().unwrap().1, CommitId::new(&one).unwrap());
        assert_eq!(work.tree(), None);
        assert_eq!(work.before_step(), ContentBefore::Unknown);
        assert_eq!(RecordedWork::default().before_step(), ContentBefore::Branch);
        // It begins again in a workspace that is as it was.
        let (input, tree) = (String::new(), Some(one.clone()));
        records.push(Record::StepStarted { step: step("fix1"), input, tree });
        let work = RecordedWork::read(records.iter());
        assert_eq!(work.before_step(), ContentBefore::Tree(TreeId::new(&one).unwrap()));

        let (commit, tree) = (None, two.clone());
        records.push(Record::WorkAdopted { step: step("work"), commit, tree });
        let work = RecordedWork::read(records.iter());
        assert_eq!(work.commit(), None);
        assert_eq!(work.tree().unwrap().1, TreeId::new(&two).unwrap());
    }
}
