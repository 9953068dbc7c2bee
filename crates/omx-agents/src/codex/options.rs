//! The options of one conversation: how codex is started, and the parameters
//! with which a thread is opened.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use omx_kernel::approval::{AllowLevel, OWN_SERVER};
use omx_kernel::confinement::{WorkspaceAccess, has_own_sandbox};

use super::account::{CodexAccount, find_account};
use super::config::{CodexConfig, codex_home};
use super::trust::untrusted_folders;
use crate::agent::{ConversationId, ConversationSpec, ConversationStart};
use crate::driver::{AgentEnv, AgentInstallation, AgentKind};
use crate::environment::agent_environment;
use crate::limits::AgentLimits;
use crate::protocol::{Confinement, Launch};
use crate::sandbox::AgentSandbox;

/// Codex's own variables, without those that codex sets for the commands it
/// runs: omx may itself run inside codex.
const VARIABLES: &[&str] = &[
    "CODEX_HOME",
    "CODEX_SQLITE_HOME",
    "CODEX_CA_CERTIFICATE",
    "OPENAI_BASE_URL",
    "OPENAI_ORGANIZATION",
    "OPENAI_PROJECT",
];

/// The variable from which `codex exec`, but not the app-server, takes a key.
const EXEC_KEY: &str = "CODEX_API_KEY";

/// Without this, codex retries an unreachable service forever and reports it
/// only in its terminal interface.
const BOUNDED_RETRIES: &str = "features.unbounded_connection_retries=false";
/// Keeps the API key in memory, out of the person's files.
const KEY_IN_MEMORY: &str = "cli_auth_credentials_store=\"ephemeral\"";

/// The options of one conversation.
#[derive(Clone)]
pub(super) struct CodexOptions {
    pub(super) start: ConversationStart,
    pub(super) folder: PathBuf,
    pub(super) model: Option<String>,
    pub(super) limits: AgentLimits,
    program: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    role: Option<String>,
    allow: AllowLevel,
    /// The mode of codex's own sandbox.
    sandbox: &'static str,
    account: CodexAccount,
    /// Settings of this conversation only, which override the person's.
    settings: Map<String, Value>,
}

impl CodexOptions {
    /// Combines the conversation's specification with the person's configuration.
    pub(super) fn new(
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        env: &AgentEnv,
        limits: AgentLimits,
    ) -> Self {
        let config = CodexConfig::read(codex_home(env).as_deref());
        let named = config.variables();
        let names: Vec<&str> =
            VARIABLES.iter().copied().chain(named.iter().map(|n| &**n)).collect();
        let mark = uuid::Uuid::new_v4().to_string();
        Self {
            start: spec.start.clone(),
            folder: spec.folder.clone(),
            model: spec.model.clone(),
            limits,
            program: installation.program.clone(),
            environment: agent_environment(env, &names, &[], &mark),
            role: spec.role.clone(),
            allow: spec.allow,
            sandbox: sandbox_mode(spec),
            account: find_account(env).unwrap_or(CodexAccount::Own),
            settings: conversation_settings(&config, spec),
        }
    }

    /// The process of the app-server.
    pub(super) fn app_server_launch(&self) -> Launch {
        let mut args = vec!["app-server".to_owned(), "-c".to_owned(), BOUNDED_RETRIES.to_owned()];
        if self.api_key().is_some() {
            args.extend(["-c".to_owned(), KEY_IN_MEMORY.to_owned()]);
        }
        self.launch(args, self.environment.clone())
    }

    /// The API key to pass to the app-server.
    pub(super) fn api_key(&self) -> Option<&str> {
        match &self.account {
            CodexAccount::Own => None,
            CodexAccount::Key(key) => Some(key),
        }
    }

    /// The parameters of `thread/start`, or of `thread/resume` with an id.
    pub(super) fn thread_params(&self, id: Option<&ConversationId>) -> Value {
        let policy = match self.allow {
            // Codex asks before every command and every edit.
            AllowLevel::Edits => "untrusted",
            // Codex asks before anything that leaves the sandbox.
            AllowLevel::Commands => "on-request",
            AllowLevel::All => "never",
        };
        let mut params = json!({
            // A path that is not UTF-8 is null; the process runs there anyway.
            "cwd": self.folder.to_str(),
            "model": self.model,
            "approvalPolicy": policy,
            "approvalsReviewer": "user",
            "sandbox": self.sandbox,
            "developerInstructions": self.role,
            "config": self.settings,
        });
        if let Some(id) = id {
            params["threadId"] = id.as_str().into();
            // The history of a long conversation would exceed the line limit.
            params["excludeTurns"] = true.into();
        }
        params
    }

    /// The process of one `codex exec` turn, which reads its prompt from standard
    /// input. It cannot ask for approval, so anything that needs approval is
    /// disabled: without permission for commands there is no shell.
    pub(super) fn exec_launch(&self, id: Option<&ConversationId>) -> Launch {
        let mut args: Vec<String> =
            ["exec", "--json", "--skip-git-repo-check", "-c", BOUNDED_RETRIES]
                .map(str::to_owned)
                .into();
        let mut settings = self.settings.clone();
        settings.insert("approval_policy".to_owned(), "never".into());
        settings.insert("sandbox_mode".to_owned(), self.sandbox.into());
        if self.allow == AllowLevel::Edits {
            settings.insert("features.shell_tool".to_owned(), false.into());
            settings.insert("features.unified_exec".to_owned(), false.into());
        }
        if let (Some(role), None) = (&self.role, id) {
            settings.insert("developer_instructions".to_owned(), role.as_str().into());
        }
        for (key, value) in &settings {
            args.extend(["-c".to_owned(), format!("{key}={}", to_toml(value))]);
        }
        if let Some(model) = &self.model {
            args.extend(["--model".to_owned(), model.clone()]);
        }
        if let Some(id) = id {
            args.extend(["resume".to_owned(), id.to_string()]);
        }
        args.push("-".to_owned());
        let mut environment = self.environment.clone();
        if let Some(key) = self.api_key() {
            environment.insert(EXEC_KEY.into(), key.into());
        }
        self.launch(args, environment)
    }

    fn launch(&self, args: Vec<String>, environment: BTreeMap<OsString, OsString>) -> Launch {
        Launch {
            program: self.program.clone(),
            args: args.into_iter().map(OsString::from).collect(),
            environment,
            folder: self.folder.clone(),
            confinement: Confinement::Unconfined,
        }
    }
}

fn sandbox_mode(spec: &ConversationSpec) -> &'static str {
    let is_on = has_own_sandbox(AgentKind::Codex, spec.allow, spec.sandbox.access);
    match spec.sandbox.access {
        _ if !is_on => "danger-full-access",
        WorkspaceAccess::ReadOnly => "read-only",
        WorkspaceAccess::ReadWrite => "workspace-write",
    }
}

/// What codex's own sandbox permits besides the folder: the private folders of the
/// conversation, and not `/tmp`, which other programs trust.
fn writable_roots(spec: &ConversationSpec) -> Value {
    let all = spec.sandbox.rules.writable.iter();
    let roots = all.filter(|path| path.is_dir() && !path.starts_with("/dev"));
    let roots: Vec<_> = roots.filter_map(|path| path.to_str()).collect();
    let has_own_folder = spec.sandbox.variables.contains_key(OsStr::new("TMPDIR"));
    json!({"writable_roots": roots, "exclude_slash_tmp": has_own_folder})
}

fn conversation_settings(config: &CodexConfig, spec: &ConversationSpec) -> Map<String, Value> {
    let mut settings = Map::new();
    if spec.sandbox != AgentSandbox::default() {
        settings.insert("sandbox_workspace_write".to_owned(), writable_roots(spec));
    }
    let mut servers = Map::new();
    for server in &spec.servers {
        let mut entry = json!({"command": server.program.to_string_lossy(), "args": server.args});
        if !server.env.is_empty() {
            entry["env"] = json!(server.env);
        }
        servers.insert(server.name.clone(), entry);
    }
    // Codex trusts a tool that declares itself harmless, so every server must
    // ask explicitly, unless everything is allowed.
    if spec.allow != AllowLevel::All {
        let known = config.servers_without_approval_mode().map(str::to_owned);
        let requested: Vec<String> = known.chain(servers.keys().cloned()).collect();
        for name in requested {
            let mode = if name == OWN_SERVER { "approve" } else { "prompt" };
            let entry = servers.entry(name).or_insert_with(|| json!({}));
            entry["default_tools_approval_mode"] = mode.into();
        }
    }
    if !servers.is_empty() {
        settings.insert("mcp_servers".to_owned(), servers.into());
    }
    let folders = untrusted_folders(config, &spec.folder).into_iter();
    let projects: Map<String, Value> = folders
        .filter_map(|folder| {
            Some((folder.to_str()?.to_owned(), json!({"trust_level": "untrusted"})))
        })
        .collect();
    if !projects.is_empty() {
        settings.insert("projects".to_owned(), projects.into());
    }
    settings
}

/// Converts a setting to TOML.
fn to_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Array(list) => toml_edit::Value::Array(list.iter().map(to_toml).collect()),
        Value::Object(fields) => toml_edit::Value::InlineTable(
            fields.iter().map(|(key, value)| (key.as_str(), to_toml(value))).collect(),
        ),
        Value::String(text) => text.as_str().into(),
        // None of our settings is null or a number.
        Value::Null | Value::Number(_) => value.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{ConversationStart, McpServerSpec};

    fn options(server: McpServerSpec) -> CodexOptions {
        let spec = ConversationSpec {
            start: ConversationStart::New,
            folder: "/nowhere".into(),
            role: None,
            model: None,
            allow: AllowLevel::Commands,
            servers: vec![server],
            max_micro_usd: None,
            schema: None,
            sandbox: AgentSandbox::default(),
        };
        let env = AgentEnv {
            variables: [("HOME".into(), "/nowhere".into())].into(),
            omx: "/nowhere/omx".into(),
            worker_variable: "MARK".to_owned(),
            child_variables: BTreeMap::new(),
            scenario: None,
            rehearsal_folder: PathBuf::new(),
            clock: || omx_kernel::Timestamp::from_millis(0),
        };
        let installation = AgentInstallation { kind: AgentKind::Codex, program: "/codex".into() };
        CodexOptions::new(&spec, &installation, &env, AgentLimits::default())
    }

    /// Codex starts MCP servers with a reduced environment: only variables of
    /// the server's own entry reach it.
    #[test]
    fn variables_of_an_mcp_server_are_part_of_its_entry() {
        let server = McpServerSpec {
            name: OWN_SERVER.to_owned(),
            program: "/omx".into(),
            args: vec!["mcp".to_owned()],
            env: [("OMX_CONTEXT".to_owned(), r#"{"a": "b"}"#.to_owned())].into(),
        };
        let options = options(server);
        let params = options.thread_params(None);
        let entry = &params["config"]["mcp_servers"][OWN_SERVER];
        assert_eq!(entry["env"], json!({"OMX_CONTEXT": r#"{"a": "b"}"#}));
        let launch = options.exec_launch(None);
        let flag = launch.args.iter().filter_map(|arg| arg.to_str());
        let flag = flag.filter_map(|arg| arg.strip_prefix("mcp_servers=")).next().unwrap();
        let document: toml_edit::DocumentMut = format!("x = {flag}").parse().unwrap();
        let value = document["x"][OWN_SERVER]["env"]["OMX_CONTEXT"].as_str();
        assert_eq!(value, Some(r#"{"a": "b"}"#));
    }
}
