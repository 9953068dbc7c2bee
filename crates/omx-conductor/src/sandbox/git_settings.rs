//! Settings of git for agents and checks: a push is never part of a run.
//!
//! The kernel refuses a push to a local repository. One over the network has no
//! credentials, and its address leads nowhere.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// An address that no transport of git knows.
const NOWHERE: &str = "a-run-never-pushes:";
/// The addresses of repositories on other machines.
const REMOTE: [&str; 5] = ["https://", "http://", "ssh://", "git://", "git@"];

/// The variables that carry the settings.
pub(super) fn git_variables() -> BTreeMap<OsString, OsString> {
    let push = REMOTE.map(|address| (format!("url.{NOWHERE}{address}.pushInsteadOf"), address));
    let credentials = ("credential.helper".to_owned(), "");
    let settings: Vec<_> = push.into_iter().chain([credentials]).collect();
    let mut variables = BTreeMap::from([
        ("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()),
        ("GIT_TERMINAL_PROMPT".into(), "0".into()),
    ]);
    for (number, (key, value)) in settings.into_iter().enumerate() {
        variables.insert(format!("GIT_CONFIG_KEY_{number}").into(), key.into());
        variables.insert(format!("GIT_CONFIG_VALUE_{number}").into(), value.into());
    }
    variables
}
