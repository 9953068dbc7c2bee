//! git, through its command line: where a project stands, a worktree for each run,
//! what changed, and integration into the person's branch.
//!
//! Every call has explicit arguments and a deadline, and never goes through a shell.
//! Errors name their cause, such as a conflict or a failed hook. Nothing is ever
//! forced on the person's checkout: anything that can fail happens elsewhere first.

mod add;
mod agent_dir;
mod call;
mod commit;
mod diff;
mod durable;
mod error;
mod hooks;
mod integrate;
mod locks;
mod moved;
mod names;
mod place;
mod remove;
mod scratch;
mod settings;
mod snapshot;
mod staging;
mod state;
mod status;
mod tree;

pub use add::{AddedWorktree, WorktreeOrigin};
pub use call::{Git, GitLimits};
pub use commit::{CommitIdentity, CommitOutcome, StepCommit};
pub use diff::{ChangeSet, ChangedFile, Diff, Difference};
pub use error::GitError;
pub use hooks::FailedHook;
pub use integrate::{Integration, MergePreview};
pub use names::{BranchName, CommitId, TreeId, Treeish};
pub use place::{Checkout, GitLocation, GitOperation, Head};
pub use remove::{KeptWorktree, RemovedWorktree};
pub use state::StateFiles;
pub use status::GitStatus;
