//! Whether codex is installed and logged in, as far as files and variables show.

use std::ffi::OsStr;

use super::config::{CodexConfig, ModelProvider, codex_home};
use crate::driver::{AgentEnv, AgentInstallation, AgentKind};
use crate::environment::{find_on_path, variable};
use crate::failure::{Failure, FailureCause};

/// Variables that hold an OpenAI API key, the more specific one first.
const KEYS: [&str; 2] = ["CODEX_API_KEY", "OPENAI_API_KEY"];

/// How codex authenticates.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum CodexAccount {
    /// On its own: a login, a variable named in its settings, or nothing.
    Own,
    /// With this API key. Codex's app-server ignores keys in the environment,
    /// so the driver passes it on.
    Key(String),
}

/// Finds the codex program and checks its account.
pub(super) fn find_codex(env: &AgentEnv) -> Result<AgentInstallation, Failure> {
    let failure = |cause| Failure::new(AgentKind::Codex, cause);
    let program = find_on_path(env, "codex").ok_or_else(|| failure(FailureCause::NotInstalled))?;
    find_account(env).map_err(|detail| failure(FailureCause::NotLoggedIn { detail }))?;
    Ok(AgentInstallation { kind: AgentKind::Codex, program })
}

/// How codex will authenticate, or why it cannot.
pub(super) fn find_account(env: &AgentEnv) -> Result<CodexAccount, String> {
    let home = codex_home(env);
    let config = CodexConfig::read(home.as_deref());
    match config.provider() {
        ModelProvider::Open => Ok(CodexAccount::Own),
        ModelProvider::Key(name) if variable(env, &name).is_some() => Ok(CodexAccount::Own),
        ModelProvider::Key(name) => {
            Err(format!("the variable {name}, which holds the key of its provider, is not set"))
        }
        ModelProvider::OpenAi => {
            let file = home.map(|home| home.join("auth.json"));
            if file.is_some_and(|file| file.is_file()) || config.keeps_account_in_keyring() {
                return Ok(CodexAccount::Own);
            }
            let key = KEYS.iter().find_map(|name| variable(env, name));
            match key.and_then(OsStr::to_str) {
                Some(key) => Ok(CodexAccount::Key(key.to_owned())),
                None => Err(String::new()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The account with these files in `~/.codex` and these variables.
    fn account_of(
        files: &[(&str, &str)],
        variables: &[(&str, &str)],
    ) -> Result<CodexAccount, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".codex")).unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(".codex").join(name), text).unwrap();
        }
        let given = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let home = [("HOME".into(), folder.path().into())];
        find_account(&AgentEnv {
            variables: given.chain(home).collect(),
            omx: "/nowhere".into(),
            worker_variable: "MARK".to_owned(),
            child_variables: Default::default(),
            scenario: None,
            rehearsal_folder: "/nowhere".into(),
            clock: || omx_kernel::Timestamp::from_millis(0),
        })
    }

    fn is_own(account: &Result<CodexAccount, String>) -> bool {
        matches!(account, Ok(CodexAccount::Own))
    }

    #[test]
    fn a_login_is_found_in_its_file_or_assumed_in_the_keyring() {
        assert!(account_of(&[], &[]).is_err());
        assert!(is_own(&account_of(&[("auth.json", "{}")], &[])));
        let hidden = "cli_auth_credentials_store = 'keyring'";
        assert!(is_own(&account_of(&[("config.toml", hidden)], &[])));
    }

    #[test]
    fn a_key_in_the_environment_is_used_without_a_login() {
        let keys = [("OPENAI_API_KEY", "general"), ("CODEX_API_KEY", "special")];
        let key = |account| matches!(account, Ok(CodexAccount::Key(key)) if key == "special");
        assert!(key(account_of(&[], &keys)));
        assert!(is_own(&account_of(&[("auth.json", "{}")], &keys)));
        assert!(account_of(&[], &[("OPENAI_API_KEY", "")]).is_err());
    }

    #[test]
    fn a_missing_provider_key_is_named() {
        let own = "model_provider = 'own'\n[model_providers.own]\nenv_key = 'OWN_KEY'\n";
        let files = [("config.toml", own), ("auth.json", "{}")];
        assert!(is_own(&account_of(&files, &[("OWN_KEY", "x")])));
        let missing = account_of(&files, &[("OPENAI_API_KEY", "x")]);
        assert!(missing.is_err_and(|detail| detail.contains("OWN_KEY")));
        assert!(is_own(&account_of(&[("config.toml", "model_provider = 'ollama'")], &[])));
    }
}
