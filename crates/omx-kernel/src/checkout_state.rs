//! What an agent that nothing confines must leave as it is: the person's checkout.
//!
//! A run compares two states after every step. Everything that differs is named; only a
//! fetch, which people's editors do by themselves, does not count.

use std::collections::BTreeMap;

use crate::confinement::{ConfinedBy, UnconfinedReason};
use crate::git_settings::RepositorySnapshot;

/// How many changed files are named.
const NAMED_FILES: usize = 8;

/// How much of a hash people see.
const SHORT: usize = 12;

/// What a run does about a change of the person's checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckoutRule {
    /// It does not look: its agents cannot reach the checkout.
    Unwatched,
    /// It names the change and goes on: the person allowed everything.
    Name,
    /// It names the change and stops.
    Stop,
}

/// Whether a run works in the person's checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkPlace {
    /// In a worktree of its own.
    Worktree,
    /// In the checkout itself, whose `.git` no file rule protects.
    Checkout,
}

/// Decides what a run does about changes of the person's checkout, given who confines its
/// agents and its check.
pub fn checkout_rule(confined: &[ConfinedBy], place: WorkPlace) -> CheckoutRule {
    let nobody = |reasons: &[UnconfinedReason]| {
        confined.iter().any(|by| matches!(by, ConfinedBy::Nobody(why) if reasons.contains(why)))
    };
    if nobody(&[UnconfinedReason::SwitchedOff, UnconfinedReason::Impossible]) {
        CheckoutRule::Stop
    } else if nobody(&[UnconfinedReason::AllAllowed]) {
        CheckoutRule::Name
    } else if place == WorkPlace::Checkout {
        CheckoutRule::Stop
    } else {
        CheckoutRule::Unwatched
    }
}

/// The state of a checkout and its repository, without what belongs to omx.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckoutState {
    /// What is checked out: a branch, or a commit.
    pub head: String,
    /// The references with their hashes.
    pub references: BTreeMap<String, String>,
    /// The files that differ from the last commit, with something that changes whenever
    /// they do.
    pub files: BTreeMap<String, String>,
    /// All settings of the repository, its hooks and its attributes.
    pub repository: RepositorySnapshot,
}

/// What moved a remote-tracking branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemoteMove {
    /// A fetch.
    Fetched,
    /// A push from here.
    Pushed,
    /// Nobody knows.
    Unknown,
}

impl CheckoutState {
    /// The remote-tracking branches that differ from an earlier state.
    pub fn moved_remotes(&self, before: &Self) -> Vec<String> {
        let is_moved = |name: &&String| {
            name.starts_with("refs/remotes/")
                && self.references.get(*name) != before.references.get(*name)
        };
        let names = self.references.keys().chain(before.references.keys());
        let mut moved: Vec<String> = names.filter(is_moved).cloned().collect();
        moved.sort_unstable();
        moved.dedup();
        moved
    }

    /// Describes what changed since an earlier state, one entry for each change. `remotes`
    /// says what moved the remote-tracking branches.
    pub fn changes_since(
        &self,
        before: &Self,
        remotes: &BTreeMap<String, RemoteMove>,
    ) -> Vec<String> {
        let mut changes = Vec::new();
        if self.head != before.head {
            changes.push(format!("HEAD is at {}, and was at {}", self.head, before.head));
        }
        let names = self.references.keys().chain(before.references.keys());
        let mut names: Vec<&String> = names.collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let (old, new) = (before.references.get(name), self.references.get(name));
            if old == new {
                continue;
            }
            match remotes.get(name) {
                Some(RemoteMove::Fetched) => continue,
                Some(RemoteMove::Pushed) => {
                    let what = name.trim_start_matches("refs/remotes/");
                    changes.push(format!("a push changed {what:?} of another repository"));
                    continue;
                }
                Some(RemoteMove::Unknown) | None => {}
            }
            changes.push(match (old, new) {
                (Some(old), Some(new)) => {
                    format!("{name} moved from {} to {}", short(old), short(new))
                }
                (None, Some(new)) => format!("{name} is new, at {}", short(new)),
                (Some(old), None) => format!("{name} was removed, and was at {}", short(old)),
                (None, None) => continue,
            });
        }
        changes.extend(self.repository.changes_since(&before.repository));
        changes.extend(self.changed_files(before));
        changes
    }

    fn changed_files(&self, before: &Self) -> Option<String> {
        let files = self.files.keys().chain(before.files.keys());
        let mut files: Vec<&String> =
            files.filter(|file| self.files.get(*file) != before.files.get(*file)).collect();
        files.sort_unstable();
        files.dedup();
        let shown: Vec<String> =
            files.iter().take(NAMED_FILES).map(|file| format!("{file:?}")).collect();
        let more = match files.len().saturating_sub(NAMED_FILES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!files.is_empty()).then(|| format!("files changed: {}{more}", shown.join(", ")))
    }
}

fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> CheckoutState {
        let references = [("refs/heads/main", "a"), ("refs/remotes/origin/main", "a")];
        CheckoutState {
            head: "main".into(),
            references: references.map(|(name, hash)| (name.into(), hash.into())).into(),
            files: [("README.md".to_owned(), "1".to_owned())].into(),
            repository: RepositorySnapshot::default(),
        }
    }

    #[test]
    fn trust_3_0_every_change_of_a_checkout_is_named() {
        let before = state();
        assert_eq!(before.changes_since(&before, &BTreeMap::new()), Vec::<String>::new());
        let mut now = state();
        now.head = "evil".into();
        now.references.insert("refs/heads/main".into(), "b".repeat(40));
        now.references.insert("refs/stash".into(), "c".into());
        now.files.insert("notes.txt".into(), "1".into());
        now.files.remove("README.md");
        now.repository.hooks.insert("pre-commit".into(), "1".into());
        assert_eq!(
            now.changes_since(&before, &BTreeMap::new()),
            [
                "HEAD is at evil, and was at main",
                "refs/heads/main moved from a to bbbbbbbbbbbb",
                "refs/stash is new, at c",
                "the hook pre-commit is new",
                "files changed: \"README.md\", \"notes.txt\"",
            ]
        );
    }

    #[test]
    fn trust_3_0_a_push_is_named_and_a_fetch_is_not_a_change() {
        let (before, mut now) = (state(), state());
        now.references.insert("refs/remotes/origin/main".into(), "b".into());
        assert_eq!(now.moved_remotes(&before), ["refs/remotes/origin/main"]);
        let by = |how| [("refs/remotes/origin/main".to_owned(), how)].into();
        assert!(now.changes_since(&before, &by(RemoteMove::Fetched)).is_empty());
        let pushed = now.changes_since(&before, &by(RemoteMove::Pushed));
        assert_eq!(pushed, ["a push changed \"origin/main\" of another repository"]);
        assert_eq!(now.changes_since(&before, &by(RemoteMove::Unknown)).len(), 1);
    }

    #[test]
    fn trust_3_0_a_checkout_is_watched_wherever_an_agent_can_reach_it() {
        use UnconfinedReason::{AllAllowed, Impossible, SwitchedOff};
        use WorkPlace::{Checkout, Worktree};
        let own = [ConfinedBy::Omx, ConfinedBy::Agent];
        assert_eq!(checkout_rule(&own, Worktree), CheckoutRule::Unwatched);
        assert_eq!(checkout_rule(&own, Checkout), CheckoutRule::Stop);
        for place in [Worktree, Checkout] {
            for why in [SwitchedOff, Impossible] {
                let confined = [ConfinedBy::Agent, ConfinedBy::Nobody(why)];
                assert_eq!(checkout_rule(&confined, place), CheckoutRule::Stop);
            }
            let all = [ConfinedBy::Nobody(AllAllowed)];
            assert_eq!(checkout_rule(&all, place), CheckoutRule::Name);
        }
    }
}
