//! Watches the person's checkout during a run whose agents nothing keeps from it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use omx_kernel::Refusal;
use omx_kernel::checkout_state::{CheckoutRule, CheckoutState};
use omx_store::runs::RunFolder;

use crate::env::ProjectEnv;
use crate::git::{Checkout, GitError, GitLocation, StateFiles};
use crate::workspace::{git, refusal};

/// The person's checkout, as it was when the run was started or resumed.
#[derive(Debug)]
pub struct CheckoutWatch {
    rule: CheckoutRule,
    checkout: Checkout,
    own_refs: String,
    own_folder: PathBuf,
    files: StateFiles,
    before: Mutex<CheckoutState>,
}

impl CheckoutWatch {
    /// Reads the state of the project's checkout. `None` if the rule does not ask for it,
    /// or if the project is not a git checkout.
    pub fn start(
        env: &ProjectEnv<'_>,
        folder: &RunFolder,
        rule: CheckoutRule,
        files: StateFiles,
    ) -> Result<Option<Self>, Refusal> {
        if rule == CheckoutRule::Unwatched {
            return Ok(None);
        }
        let git = git(env.environment, folder.scratch()?);
        let GitLocation::Checkout(checkout) = git.locate(env.store.root()).map_err(refusal)? else {
            return Ok(None);
        };
        let own_refs = format!("refs/heads/{}/", env.dialect.run_prefix);
        let own_folder = env.store.tree().to_owned();
        let before = checkout.state(&own_refs, &own_folder, files).map_err(refusal)?;
        let before = Mutex::new(before);
        Ok(Some(Self { rule, checkout, own_refs, own_folder, files, before }))
    }

    /// Compares the checkout with its state at the start. Refuses a change, or returns
    /// what to report about it, each change once.
    pub fn check(&self) -> Result<Option<String>, GitError> {
        let now = self.checkout.state(&self.own_refs, &self.own_folder, self.files)?;
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = self.checkout.changes_since(&before, &now);
        if changes.is_empty() {
            return Ok(None);
        }
        let top = self.checkout.top().to_owned();
        if self.rule == CheckoutRule::Stop {
            return Err(GitError::CheckoutChanged { top, changes });
        }
        *before = now;
        Ok(Some(format!("your checkout {} changed: {}", top.display(), changes.join("; "))))
    }
}
