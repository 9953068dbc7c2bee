//! The parts of codex's configuration that the driver needs before codex runs.
//! A missing or broken file counts as empty: codex itself reports what is wrong.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, TableLike};

use crate::driver::AgentEnv;
use crate::environment::variable;

/// Codex's folder: `CODEX_HOME`, else `~/.codex`.
pub(super) fn codex_home(env: &AgentEnv) -> Option<PathBuf> {
    match variable(env, "CODEX_HOME") {
        Some(folder) => Some(folder.into()),
        None => variable(env, "HOME").map(|home| Path::new(home).join(".codex")),
    }
}

/// The settings of `config.toml`.
#[derive(Debug, Default)]
pub(super) struct CodexConfig(DocumentMut);

/// The provider of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ModelProvider {
    /// OpenAI, with codex's own account.
    OpenAi,
    /// A service whose API key is in this variable.
    Key(String),
    /// A service that needs no key, or one that only codex knows.
    Open,
}

impl CodexConfig {
    /// Reads the file.
    pub(super) fn read(home: Option<&Path>) -> Self {
        let text = home.and_then(|home| std::fs::read_to_string(home.join("config.toml")).ok());
        Self(text.and_then(|text| text.parse().ok()).unwrap_or_default())
    }

    /// The selected provider.
    pub(super) fn provider(&self) -> ModelProvider {
        let name = self.0.get("model_provider").and_then(Item::as_str).unwrap_or("openai");
        let Some(provider) = self.entries("model_providers").find(|(key, _)| *key == name) else {
            return if name == "openai" { ModelProvider::OpenAi } else { ModelProvider::Open };
        };
        let (_, provider) = provider;
        if let Some(variable) = provider.get("env_key").and_then(Item::as_str) {
            return ModelProvider::Key(variable.to_owned());
        }
        match provider.get("requires_openai_auth").and_then(Item::as_bool) {
            Some(true) => ModelProvider::OpenAi,
            _ => ModelProvider::Open,
        }
    }

    /// Whether codex stores its account in the keyring.
    pub(super) fn keeps_account_in_keyring(&self) -> bool {
        let store = self.0.get("cli_auth_credentials_store").and_then(Item::as_str);
        matches!(store, Some("keyring" | "auto"))
    }

    /// The environment variables named in the settings, which the person thereby
    /// grants to codex.
    pub(super) fn variables(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (_, table) in self.entries("model_providers").chain(self.entries("mcp_servers")) {
            for key in ["env_key", "bearer_token_env_var"] {
                names.extend(table.get(key).and_then(Item::as_str).map(str::to_owned));
            }
            if let Some(headers) = table.get("env_http_headers").and_then(Item::as_table_like) {
                let values = headers.iter().filter_map(|(_, value)| value.as_str());
                names.extend(values.map(str::to_owned));
            }
            let list = table.get("env_vars").and_then(Item::as_array);
            for entry in list.into_iter().flatten() {
                let name = entry.as_inline_table().and_then(|entry| entry.get("name"));
                names.extend(name.unwrap_or(entry).as_str().map(str::to_owned));
            }
        }
        names
    }

    /// The person's MCP servers without a configured approval mode.
    pub(super) fn servers_without_approval_mode(&self) -> impl Iterator<Item = &str> {
        let servers = self.entries("mcp_servers");
        let silent = servers.filter(|(_, server)| {
            !server.contains_key("default_tools_approval_mode") && !server.contains_key("tools")
        });
        silent.map(|(name, _)| name)
    }

    /// Whether the person has configured the trust in this folder.
    pub(super) fn has_project(&self, folder: &Path) -> bool {
        self.entries("projects").any(|(path, _)| Path::new(path) == folder)
    }

    /// The tables inside a table.
    fn entries(&self, table: &str) -> impl Iterator<Item = (&str, &dyn TableLike)> {
        let table = self.0.get(table).and_then(Item::as_table_like);
        let entries = table.into_iter().flat_map(|table| table.iter());
        entries.filter_map(|(key, item)| Some((key, item.as_table_like()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> CodexConfig {
        CodexConfig(text.parse().unwrap_or_default())
    }

    #[test]
    fn the_selected_provider_determines_the_credentials() {
        let provider = |text: &str| config(text).provider();
        assert_eq!(provider(""), ModelProvider::OpenAi);
        assert_eq!(provider("model_provider = 'ollama'"), ModelProvider::Open);
        let own = "model_provider = 'own'\n[model_providers.own]\n";
        assert_eq!(
            provider(&format!("{own}env_key = 'OWN'")),
            ModelProvider::Key("OWN".to_owned())
        );
        assert_eq!(provider(&format!("{own}requires_openai_auth = true")), ModelProvider::OpenAi);
        assert_eq!(provider(&format!("{own}base_url = 'x'")), ModelProvider::Open);
        assert_eq!(provider("[model_providers.own]\nenv_key = 'OWN'"), ModelProvider::OpenAi);
    }

    #[test]
    fn every_variable_named_in_the_settings_is_found() {
        let text = "[model_providers]\na = {env_key = 'A', env_http_headers = {'X-B' = 'B'}}\n\
                    [mcp_servers.c]\nenv_vars = ['C', {name = 'D', source = 'local'}, 7]\n\
                    bearer_token_env_var = 'E'\n[mcp_servers.d]\nenv_vars = 'no list'\n";
        let names: Vec<_> = config(text).variables().into_iter().collect();
        assert_eq!(names, ["A", "B", "C", "D", "E"]);
    }

    #[test]
    fn servers_with_an_approval_mode_are_left_alone() {
        let text = "[mcp_servers]\na = {command = 'a'}\nb = {default_tools_approval_mode = 'auto'}\n\
                    [mcp_servers.c.tools.t]\napproval_mode = 'approve'\n";
        assert_eq!(config(text).servers_without_approval_mode().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_broken_file_counts_as_empty() {
        let broken = config("model_provider = 'own\n[[[");
        assert_eq!(broken.provider(), ModelProvider::OpenAi);
        assert!(broken.variables().is_empty());
        let odd = config("model_provider = 1\nmodel_providers = 'x'\nprojects = [1]");
        assert_eq!(odd.provider(), ModelProvider::OpenAi);
        assert!(!odd.has_project(Path::new("/a")));
    }
}
