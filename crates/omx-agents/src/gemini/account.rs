//! Whether gemini is logged in, as far as files and variables show, and with
//! which login method.

use std::fs;
use std::path::{Path, PathBuf};

use jsonc_parser::JsonValue;

use crate::driver::AgentEnv;
use crate::environment::variable;
use crate::failure::FailureCause;

/// Login methods that need no interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginMethod {
    /// A key of the Gemini API.
    ApiKey,
    /// Vertex AI.
    Vertex,
}

impl LoginMethod {
    /// The name in gemini's settings.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "gemini-api-key",
            Self::Vertex => "vertex-ai",
        }
    }
}

/// What is known about the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeminiAccount {
    /// The person has chosen a method in gemini.
    Chosen,
    /// No method is chosen; this one is available.
    Found(LoginMethod),
    /// Gemini logs in on its own.
    ByItself,
}

/// Finds the account. Starts nothing.
pub(super) fn find_account(env: &AgentEnv) -> Result<GeminiAccount, FailureCause> {
    let home = GeminiHome::new(env);
    let account = match home.chosen().as_deref() {
        Some("oauth-personal") => home.google().then_some(GeminiAccount::Chosen),
        Some("gemini-api-key") => (home.has("GEMINI_API_KEY") || home.stored() || home.keychain())
            .then_some(GeminiAccount::Chosen),
        Some("vertex-ai") => home.vertex().then_some(GeminiAccount::Chosen),
        // A gateway, the machine's own account, or a method of a later version.
        Some(_) => Some(GeminiAccount::Chosen),
        None => home.unchosen(),
    };
    account.ok_or_else(|| FailureCause::NotLoggedIn {
        detail: "there is neither GEMINI_API_KEY nor an account in ~/.gemini".to_owned(),
    })
}

struct GeminiHome<'a> {
    env: &'a AgentEnv,
    /// The home directory gemini uses.
    folder: Option<PathBuf>,
    /// The content of its `.env` files.
    variables: String,
}

impl<'a> GeminiHome<'a> {
    fn new(env: &'a AgentEnv) -> Self {
        let folder =
            variable(env, "GEMINI_CLI_HOME").or_else(|| variable(env, "HOME")).map(PathBuf::from);
        let read = |path: &str| {
            let path = folder.as_ref().map(|folder| folder.join(path));
            path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
        };
        let variables = [read(".gemini/.env"), read(".env")].join("\n");
        Self { env, folder, variables }
    }

    fn gemini(&self, name: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(".gemini").join(name))
    }

    /// The login method that the person has chosen.
    fn chosen(&self) -> Option<String> {
        let text = fs::read_to_string(self.gemini("settings.json")?).ok()?;
        let options = jsonc_parser::ParseOptions::default();
        let Ok(Some(JsonValue::Object(settings))) = jsonc_parser::parse_to_value(&text, &options)
        else {
            return None;
        };
        let chosen = settings.get_object("security")?.get_object("auth")?;
        chosen.get_string("selectedType").map(|chosen| chosen.to_string())
    }

    fn unchosen(&self) -> Option<GeminiAccount> {
        let says = |name| variable(self.env, name).is_some_and(|value| value == "true");
        if says("GOOGLE_GENAI_USE_VERTEXAI") && self.vertex() {
            Some(GeminiAccount::Found(LoginMethod::Vertex))
        } else if self.has("GEMINI_API_KEY") || self.stored() {
            // With a custom address, gemini treats it as a gateway.
            let gateway = self.has("GOOGLE_GEMINI_BASE_URL");
            Some(if gateway {
                GeminiAccount::ByItself
            } else {
                GeminiAccount::Found(LoginMethod::ApiKey)
            })
        } else if self.has("GOOGLE_API_KEY") || self.vertex() {
            Some(GeminiAccount::Found(LoginMethod::Vertex))
        } else {
            let own = says("CLOUD_SHELL") || says("GEMINI_CLI_USE_COMPUTE_ADC");
            own.then_some(GeminiAccount::ByItself)
        }
    }

    /// Whether a variable is set in the environment or in gemini's `.env` files.
    fn has(&self, name: &str) -> bool {
        let set = |line: &str| {
            let line = line.trim_start();
            let line = line.strip_prefix("export ").unwrap_or(line);
            let value =
                line.strip_prefix(name).and_then(|rest| rest.trim_start().strip_prefix('='));
            value.is_some_and(|value| !value.trim().trim_matches(['"', '\'']).is_empty())
        };
        variable(self.env, name).is_some() || self.variables.lines().any(set)
    }

    fn google(&self) -> bool {
        is_file(self.gemini("oauth_creds.json")) || self.stored()
    }

    fn vertex(&self) -> bool {
        let project = self.has("GOOGLE_CLOUD_PROJECT") || self.has("GOOGLE_CLOUD_PROJECT_ID");
        self.has("GOOGLE_API_KEY") || (project && self.has("GOOGLE_CLOUD_LOCATION"))
    }

    /// Whether gemini's own credential file exists, for machines without a keychain.
    fn stored(&self) -> bool {
        is_file(self.gemini("gemini-credentials.json"))
    }

    /// Whether there is a keychain. Only gemini can read it, and reports when the
    /// session is opened.
    fn keychain(&self) -> bool {
        let bus = variable(self.env, "XDG_RUNTIME_DIR").map(|folder| Path::new(folder).join("bus"));
        cfg!(target_os = "macos")
            || variable(self.env, "DBUS_SESSION_BUS_ADDRESS").is_some()
            || bus.is_some_and(|bus| bus.exists())
    }
}

fn is_file(path: Option<PathBuf>) -> bool {
    path.is_some_and(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use omx_kernel::Timestamp;

    struct World {
        home: tempfile::TempDir,
        variables: Vec<(&'static str, &'static str)>,
    }

    impl World {
        fn new(variables: &[(&'static str, &'static str)]) -> Self {
            Self { home: tempfile::tempdir().unwrap(), variables: variables.to_vec() }
        }

        fn file(self, path: &str, text: &str) -> Self {
            let path = self.home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn chosen(self, method: &str) -> Self {
            let text = format!(
                r#"{{ // chosen
                "security": {{"auth": {{"selectedType": "{method}"}}}},}}"#
            );
            self.file(".gemini/settings.json", &text)
        }

        fn read_account(&self) -> Option<GeminiAccount> {
            let own = self.variables.iter().map(|&(name, value)| (name.into(), value.into()));
            let mut environment: std::collections::BTreeMap<_, _> = own.collect();
            environment.insert("HOME".into(), self.home.path().into());
            let env = AgentEnv {
                variables: environment,
                omx: "omx".into(),
                worker_variable: "W".to_owned(),
                child_variables: Default::default(),
                scenario: None,
                rehearsal_folder: PathBuf::new(),
                clock: || Timestamp::from_millis(0),
            };
            find_account(&env).ok()
        }
    }

    const KEY: (&str, &str) = ("GEMINI_API_KEY", "k");

    #[test]
    fn without_credentials_there_is_no_account() {
        assert_eq!(World::new(&[]).read_account(), None);
        assert_eq!(World::new(&[("GEMINI_API_KEY", "")]).read_account(), None);
        assert_eq!(World::new(&[]).file(".gemini/.env", "GEMINI_API_KEY=\n").read_account(), None);
        assert_eq!(World::new(&[]).file(".gemini/settings.json", "{").read_account(), None);
    }

    #[test]
    fn the_chosen_method_needs_its_credentials() {
        assert_eq!(World::new(&[]).chosen("gemini-api-key").read_account(), None);
        assert_eq!(
            World::new(&[KEY]).chosen("gemini-api-key").read_account(),
            Some(GeminiAccount::Chosen)
        );
        assert_eq!(World::new(&[KEY]).chosen("oauth-personal").read_account(), None);
        let google =
            World::new(&[]).chosen("oauth-personal").file(".gemini/oauth_creds.json", "{}");
        assert_eq!(google.read_account(), Some(GeminiAccount::Chosen));
        assert_eq!(World::new(&[KEY]).chosen("vertex-ai").read_account(), None);
        let vertex = World::new(&[("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "l")]);
        assert_eq!(vertex.chosen("vertex-ai").read_account(), Some(GeminiAccount::Chosen));
    }

    #[test]
    fn a_possible_key_in_a_keychain_counts() {
        let bus = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x");
        assert_eq!(
            World::new(&[bus]).chosen("gemini-api-key").read_account(),
            Some(GeminiAccount::Chosen)
        );
        assert_eq!(World::new(&[bus]).read_account(), None);
    }

    #[test]
    fn without_a_choice_the_available_method_counts() {
        let found = |method| Some(GeminiAccount::Found(method));
        assert_eq!(World::new(&[KEY]).read_account(), found(LoginMethod::ApiKey));
        let in_file = World::new(&[]).file(".gemini/.env", "# a\nexport GEMINI_API_KEY=\"k\"\n");
        assert_eq!(in_file.read_account(), found(LoginMethod::ApiKey));
        assert_eq!(
            World::new(&[("GOOGLE_API_KEY", "k")]).read_account(),
            found(LoginMethod::Vertex)
        );
        let vertex =
            World::new(&[KEY, ("GOOGLE_GENAI_USE_VERTEXAI", "true"), ("GOOGLE_API_KEY", "k")]);
        assert_eq!(vertex.read_account(), found(LoginMethod::Vertex));
        // A Google account must be chosen explicitly; otherwise gemini would ask.
        assert_eq!(World::new(&[]).file(".gemini/oauth_creds.json", "{}").read_account(), None);
        let gateway = World::new(&[KEY, ("GOOGLE_GEMINI_BASE_URL", "http://x")]);
        assert_eq!(gateway.read_account(), Some(GeminiAccount::ByItself));
    }
}
