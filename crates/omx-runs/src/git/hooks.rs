//! The person's hooks. git itself never runs them for omx: each hook is a call of its own,
//! so that a failing one is known by name, and so that the script is the one in the
//! person's checkout or repository, never one that an agent edited.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::place::Checkout;

/// One of the person's hooks that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedHook {
    /// Its name, such as `pre-merge-commit`.
    pub name: String,
    /// Its exit code.
    pub code: i32,
    /// The end of standard error.
    pub words: String,
}

impl fmt::Display for FailedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the git hook {} failed with {}", self.name, self.code)?;
        if self.words.is_empty() { Ok(()) } else { write!(f, ": {}", self.words) }
    }
}

impl Checkout {
    /// The folder of the person's hooks, as seen from this checkout.
    pub(crate) fn hooks_folder(&self) -> PathBuf {
        match self.settings().get("core.hookspath").filter(|path| !path.is_empty()) {
            Some(path) => self.top().join(self.expand_home(path)),
            None => self.common_dir().join("hooks"),
        }
    }

    /// git expands `~/` in paths of its configuration.
    fn expand_home(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/").zip(self.git.home()) {
            Some((rest, home)) => home.join(rest),
            None => path.into(),
        }
    }

    /// Runs a hook of this folder here, if it exists. Returns it if it fails.
    pub(super) fn run_hook(
        &self,
        folder: &Path,
        name: &str,
        args: &[&OsStr],
    ) -> Result<Option<FailedHook>, GitError> {
        if !folder.join(name).is_file() {
            return Ok(None);
        }
        let mut call = self.call(&["hook", "run", "--ignore-missing", name, "--"]);
        for arg in args {
            call = call.arg(arg);
        }
        let answer = call.with_hooks(folder).work().answer()?;
        Ok(match answer.code {
            Some(0) => None,
            code => Some(FailedHook {
                name: name.to_owned(),
                code: code.unwrap_or(-1),
                words: answer.words,
            }),
        })
    }
}
