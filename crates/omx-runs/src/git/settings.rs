//! The settings of git that are in effect in a checkout. Reading them executes nothing.

use omx_kernel::git_settings::{disabled_filters, neutral_overrides};

use super::call::parts;
use super::error::GitError;
use super::place::Checkout;

/// The effective settings, in git's order: a later value wins.
#[derive(Clone, Debug, Default)]
pub(super) struct GitSettings {
    all: Vec<(String, String)>,
    /// Those of the repository and the worktree.
    own: Vec<(String, String)>,
}

impl GitSettings {
    pub(super) fn read(checkout: &Checkout) -> Result<Self, GitError> {
        let call = checkout.call(&["config", "--list", "--show-scope", "--includes", "-z"]);
        let output = call.output()?;
        let mut settings = Self::default();
        let mut parts = parts(&output);
        while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
            let text = String::from_utf8_lossy(setting);
            // A key without a value means "true".
            let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
            let setting = (key.to_owned(), value.to_owned());
            match scope {
                // What omx itself set for the call.
                b"command" => continue,
                b"local" | b"worktree" => settings.own.push(setting.clone()),
                _ => {}
            }
            settings.all.push(setting);
        }
        Ok(settings)
    }

    /// The settings of the repository and the worktree.
    pub(super) fn own(&self) -> &[(String, String)] {
        &self.own
    }

    /// What to override in every call.
    pub(super) fn overrides(&self) -> Vec<(String, &'static str)> {
        neutral_overrides(&self.all)
    }

    /// The last value of a setting. The section and the last part of `key` are in lower
    /// case, as git prints them.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.all.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

impl Checkout {
    /// The filters that omx does not apply here, by name.
    pub fn disabled_filters(&self) -> Vec<String> {
        disabled_filters(&self.settings().all)
    }
}
