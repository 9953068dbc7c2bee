//! Whether claude is installed and logged in, as far as files and variables
//! show. Nothing is started.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::driver::{AgentEnv, AgentInstallation, AgentKind};
use crate::environment::{find_on_path, variable};
use crate::failure::{Failure, FailureCause};

/// Variables that hold credentials.
const ACCOUNTS: [&str; 3] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Switches for clouds with credentials of their own.
const CLOUDS: [&str; 6] = [
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_GATEWAY",
];

/// Settings that an organization deploys to its machines.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

pub(super) fn find_claude(env: &AgentEnv) -> Result<AgentInstallation, Failure> {
    let kind = AgentKind::Claude;
    let program = find_on_path(env, "claude")
        .ok_or_else(|| Failure::new(kind, FailureCause::NotInstalled))?;
    // On macOS the account may be in the keychain, which only claude can open.
    let unseen = cfg!(target_os = "macos");
    if unseen || has_account_in_variables(env) || has_account_in_files(env) {
        Ok(AgentInstallation { kind, program })
    } else {
        Err(Failure::new(kind, FailureCause::NotLoggedIn { detail: String::new() }))
    }
}

/// Whether one of claude's switches is on.
pub(super) fn is_switched_on(env: &AgentEnv, name: &str) -> bool {
    variable(env, name).and_then(|value| value.to_str()).is_some_and(is_truthy)
}

fn is_truthy(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

fn has_account_in_variables(env: &AgentEnv) -> bool {
    ACCOUNTS.iter().any(|name| variable(env, name).is_some())
        || CLOUDS.iter().any(|name| is_switched_on(env, name))
}

/// Claude's folder: the configured one, else `~/.claude`.
pub(super) fn config_folder(env: &AgentEnv) -> Option<PathBuf> {
    let own = variable(env, "CLAUDE_CONFIG_DIR").map(PathBuf::from);
    own.or_else(|| variable(env, "HOME").map(|home| Path::new(home).join(".claude")))
}

fn has_account_in_files(env: &AgentEnv) -> bool {
    let home = variable(env, "HOME").map(PathBuf::from);
    let own = variable(env, "CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let folder = config_folder(env);
    // The file is beside the default folder, but inside a configured one.
    let state = own.or(home).map(|folder| read_json(&folder.join(".claude.json")));
    let logged_in = |folder: &PathBuf| {
        is_non_empty(&read_json(&folder.join(".credentials.json"))["claudeAiOauth"]["accessToken"])
            || settings_have_account(&read_json(&folder.join("settings.json")))
    };
    folder.as_ref().is_some_and(logged_in)
        || state.is_some_and(|state| is_non_empty(&state["primaryApiKey"]))
        || settings_have_account(&read_json(Path::new(MANAGED)))
}

/// Whether the settings name a key helper or hold credentials.
fn settings_have_account(settings: &Value) -> bool {
    let variables = &settings["env"];
    is_non_empty(&settings["apiKeyHelper"])
        || ACCOUNTS.iter().any(|name| is_non_empty(&variables[name]))
        || CLOUDS.iter().any(|name| variables[name].as_str().is_some_and(is_truthy))
}

fn is_non_empty(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// The content of a JSON file; null if it is missing or broken.
fn read_json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A machine with claude on its `PATH` and nothing else.
    struct Machine {
        folder: tempfile::TempDir,
        variables: BTreeMap<OsString, OsString>,
    }

    impl Machine {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("claude");
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            let path = folder.path().as_os_str().to_owned();
            let variables = [("PATH".into(), path.clone()), ("HOME".into(), path)].into();
            Self { folder, variables }
        }

        fn variable(mut self, name: &str, value: &str) -> Self {
            self.variables.insert(name.into(), value.into());
            self
        }

        fn file(self, path: &str, text: &str) -> Self {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn moved(self) -> Self {
            let folder = self.folder.path().join("moved");
            self.variable("CLAUDE_CONFIG_DIR", folder.to_str().unwrap())
        }

        #[track_caller]
        fn found(self) -> &'static str {
            let env = AgentEnv {
                variables: self.variables,
                omx: PathBuf::new(),
                worker_variable: String::new(),
                child_variables: Default::default(),
                scenario: None,
                rehearsal_folder: PathBuf::new(),
                clock: || omx_kernel::Timestamp::from_millis(0),
            };
            match find_claude(&env) {
                Ok(installation) => {
                    assert_eq!(installation.program, self.folder.path().join("claude"));
                    "found"
                }
                Err(failure) => failure.kind(),
            }
        }
    }

    const LOGIN: &str = r#"{"claudeAiOauth": {"accessToken": "x"}}"#;

    #[test]
    fn a_missing_program_is_not_installed() {
        assert_eq!(Machine::new().variable("PATH", "/nonexistent").found(), "not_installed");
    }

    #[test]
    #[cfg(not(target_os = "macos"))]
    fn without_credentials_claude_is_not_logged_in() {
        let none = "not_logged_in";
        assert_eq!(Machine::new().found(), none);
        assert_eq!(Machine::new().variable("ANTHROPIC_API_KEY", "").found(), none);
        assert_eq!(Machine::new().variable("CLAUDE_CODE_USE_BEDROCK", "0").found(), none);
        assert_eq!(Machine::new().file(".claude/.credentials.json", "{}").found(), none);
        assert_eq!(Machine::new().file(".claude/.credentials.json", "torn{").found(), none);
        assert_eq!(Machine::new().file(".claude/settings.json", r#"{"env": 7}"#).found(), none);
        // With a configured folder, files in the default folder do not count.
        assert_eq!(Machine::new().moved().file(".claude/.credentials.json", LOGIN).found(), none);
    }

    #[test]
    fn every_kind_of_account_is_found() {
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
            assert_eq!(Machine::new().variable(name, "x").found(), "found", "{name}");
        }
        for name in ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"] {
            assert_eq!(Machine::new().variable(name, "1").found(), "found", "{name}");
        }
        for (path, text) in [
            (".claude/.credentials.json", LOGIN),
            (".claude/settings.json", r#"{"apiKeyHelper": "/bin/key"}"#),
            (".claude/settings.json", r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "x"}}"#),
            (".claude.json", r#"{"primaryApiKey": "x"}"#),
        ] {
            assert_eq!(Machine::new().file(path, text).found(), "found", "{path} {text}");
        }
        for (path, text) in [
            ("moved/.credentials.json", LOGIN),
            ("moved/settings.json", r#"{"apiKeyHelper": "/bin/key"}"#),
            ("moved/.claude.json", r#"{"primaryApiKey": "x"}"#),
        ] {
            assert_eq!(Machine::new().moved().file(path, text).found(), "found", "{path}");
        }
    }
}
