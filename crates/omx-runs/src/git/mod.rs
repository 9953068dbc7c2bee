//! git, by its command line: where a project stands, a worktree of its own for
//! each run, what was changed, and bringing it to the person's branch.
//!
//! Every call has a list of arguments and a deadline, and never a shell. What
//! git says no to is told by its cause: a conflict is a conflict, a failed
//! hook is a failed hook. Nothing is ever forced upon the person's checkout;
//! what may fail is done elsewhere first.

mod add;
mod call;
mod commit;
mod diff;
mod error;
mod hooks;
mod integrate;
mod moved;
mod names;
mod place;
mod remove;
mod scratch;
mod status;
mod tree;

pub use add::{AddedWorktree, WorktreeOrigin};
pub use call::{Git, GitLimits};
pub use commit::{CommitIdentity, CommitOutcome};
pub use diff::{ChangeSet, ChangedFile, Diff, Difference};
pub use error::GitError;
pub use hooks::FailedHook;
pub use integrate::{Integration, MergePreview};
pub use names::{BranchName, CommitId, TreeId, Treeish};
pub use place::{Checkout, GitLocation, GitOperation, Head};
pub use remove::{KeptWorktree, RemovedWorktree};
pub use status::GitStatus;
