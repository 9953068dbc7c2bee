//! Whether claude is installed and has an account, as far as files and
//! variables tell. Nothing is started.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::driver::{AgentKind, Installation, Surroundings};
use crate::environment::{on_path, variable};
use crate::trouble::{Cause, Trouble};

/// Variables that are an account.
const ACCOUNTS: [&str; 3] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Switches to a cloud that has accounts of its own.
const CLOUDS: [&str; 6] = [
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_GATEWAY",
];

/// Settings an organisation puts on its machines.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

pub(super) fn find(surroundings: &Surroundings) -> Result<Installation, Trouble> {
    let kind = AgentKind::Claude;
    let program =
        on_path(surroundings, "claude").ok_or_else(|| Trouble::new(kind, Cause::NotInstalled))?;
    // There the account may be in the keychain, which only claude itself opens.
    let unseen = cfg!(target_os = "macos");
    if unseen || by_variable(surroundings) || by_file(surroundings) {
        Ok(Installation { kind, program })
    } else {
        Err(Trouble::new(kind, Cause::NotLoggedIn { detail: String::new() }))
    }
}

/// Whether a switch of claude's is on.
pub(super) fn switched_on(surroundings: &Surroundings, name: &str) -> bool {
    variable(surroundings, name).and_then(|value| value.to_str()).is_some_and(means_yes)
}

fn means_yes(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

fn by_variable(surroundings: &Surroundings) -> bool {
    ACCOUNTS.iter().any(|name| variable(surroundings, name).is_some())
        || CLOUDS.iter().any(|name| switched_on(surroundings, name))
}

fn by_file(surroundings: &Surroundings) -> bool {
    let home = variable(surroundings, "HOME").map(PathBuf::from);
    let own = variable(surroundings, "CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let folder = own.clone().or_else(|| home.as_ref().map(|home| home.join(".claude")));
    // Beside the folder, unless the folder was moved.
    let state = own.or(home).map(|folder| read(&folder.join(".claude.json")));
    let logged_in = |folder: &PathBuf| {
        says(&read(&folder.join(".credentials.json"))["claudeAiOauth"]["accessToken"])
            || settings_have_account(&read(&folder.join("settings.json")))
    };
    folder.as_ref().is_some_and(logged_in)
        || state.is_some_and(|state| says(&state["primaryApiKey"]))
        || settings_have_account(&read(Path::new(MANAGED)))
}

/// A program that gives a key, or a variable that is an account.
fn settings_have_account(settings: &Value) -> bool {
    let variables = &settings["env"];
    says(&settings["apiKeyHelper"])
        || ACCOUNTS.iter().any(|name| says(&variables[name]))
        || CLOUDS.iter().any(|name| variables[name].as_str().is_some_and(means_yes))
}

fn says(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// A file of JSON; null if there is none.
fn read(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}
