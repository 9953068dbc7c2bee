//! Whether codex is there and has an account, as far as files and the
//! environment can tell.

use std::ffi::OsStr;

use super::config::{Config, Provider, home};
use crate::driver::{AgentKind, Installation, Surroundings};
use crate::environment::{on_path, variable};
use crate::trouble::{Cause, Trouble};

/// Variables that hold a key for OpenAI, the more special one first.
const KEYS: [&str; 2] = ["CODEX_API_KEY", "OPENAI_API_KEY"];

/// With what codex reaches its service.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Account {
    /// With what it has itself: a login, a variable its settings name, nothing.
    Own,
    /// With this key of OpenAI's. Codex's app-server takes none from the
    /// environment, so it must be given.
    Key(String),
}

/// Finds codex.
pub(super) fn find(surroundings: &Surroundings) -> Result<Installation, Trouble> {
    let trouble = |cause| Trouble::new(AgentKind::Codex, cause);
    let program = on_path(surroundings, "codex").ok_or_else(|| trouble(Cause::NotInstalled))?;
    account(surroundings).map_err(|detail| trouble(Cause::NotLoggedIn { detail }))?;
    Ok(Installation { kind: AgentKind::Codex, program })
}

/// The account codex will have; without one, why.
pub(super) fn account(surroundings: &Surroundings) -> Result<Account, String> {
    let home = home(surroundings);
    let config = Config::read(home.as_deref());
    match config.provider() {
        Provider::Open => Ok(Account::Own),
        Provider::Key(name) if variable(surroundings, &name).is_some() => Ok(Account::Own),
        Provider::Key(name) => Err(format!("its provider's key {name} is not set")),
        Provider::OpenAi => {
            let file = home.map(|home| home.join("auth.json"));
            if file.is_some_and(|file| file.is_file()) || config.keeps_account_in_keyring() {
                return Ok(Account::Own);
            }
            let key = KEYS.iter().find_map(|name| variable(surroundings, name));
            match key.and_then(OsStr::to_str) {
                Some(key) => Ok(Account::Key(key.to_owned())),
                None => Err(String::new()),
            }
        }
    }
}
