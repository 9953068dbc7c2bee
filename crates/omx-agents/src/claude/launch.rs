//! The command line and the environment of claude.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

use omx_kernel::approval::{AllowLevel, OWN_SERVER};

use super::account::is_switched_on;
use crate::agent::{ConversationId, ConversationSpec, McpServerSpec};
use crate::driver::{AgentEnv, AgentInstallation};
use crate::environment::agent_environment;
use crate::protocol::{Confinement, Launch};

/// Claude's variables, in addition to the common ones.
const NAMES: [&str; 14] = [
    "API_TIMEOUT_MS",
    "BASH_DEFAULT_TIMEOUT_MS",
    "BASH_MAX_OUTPUT_LENGTH",
    "BASH_MAX_TIMEOUT_MS",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_PROMPT_CACHING",
    "DISABLE_TELEMETRY",
    "IS_SANDBOX",
    "MAX_MCP_OUTPUT_TOKENS",
    "MAX_THINKING_TOKENS",
    "MCP_TIMEOUT",
    "MCP_TOOL_TIMEOUT",
    "USE_BUILTIN_RIPGREP",
];

const PREFIXES: [&str; 2] = ["ANTHROPIC_", "CLAUDE_"];

/// Variables of a cloud, which claude gets only if it uses that cloud.
const CLOUDS: [(&str, &[&str]); 5] = [
    ("CLAUDE_CODE_USE_BEDROCK", &["AWS_"]),
    ("CLAUDE_CODE_USE_ANTHROPIC_AWS", &["AWS_"]),
    ("CLAUDE_CODE_USE_MANTLE", &["AWS_"]),
    ("CLAUDE_CODE_USE_VERTEX", &["GOOGLE_", "CLOUD_ML_", "CLOUDSDK_", "VERTEX_"]),
    ("CLAUDE_CODE_USE_FOUNDRY", &["AZURE_"]),
];

/// Variables that an enclosing claude sets for its children. A worker with
/// these would consider itself a part of that conversation.
const ENCLOSING: [&str; 14] = [
    "CLAUDECODE",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_RESUME_FROM_SESSION",
    "CLAUDE_CODE_RESUME_INTERRUPTED_TURN",
    "CLAUDE_CODE_RESUME_PROMPT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SESSION_NAME",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
];

/// Defaults of a worker, which the person's own variables override.
const DEFAULTS: [(&str, &str); 4] = [
    // By default claude retries ten times, for about three minutes, before it
    // reports that the service is unreachable. Four retries take eight seconds,
    // enough for a hiccup; the caller handles anything longer.
    ("CLAUDE_CODE_MAX_RETRIES", "4"),
    // A turn is over when claude reports its end: nothing continues unseen, and
    // no background task starts a turn of its own.
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("CLAUDE_CODE_DISABLE_CRON", "1"),
    // Workers must not update the person's program, least of all concurrently.
    ("DISABLE_AUTOUPDATER", "1"),
];

/// Tools that move the conversation to another folder, start turns on their own,
/// or wait for a person at a terminal.
const NOT_FOR_WORKERS: &str = "EnterPlanMode,EnterWorktree,ScheduleWakeup,CronCreate";

/// Whether claude has saved the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SavedHistory {
    /// No. Claude saves nothing before the first turn, so the id is still free.
    Empty,
    /// Yes, there were turns.
    Saved,
}

/// Builds the command line of claude for one conversation.
#[derive(Debug)]
pub(super) struct ClaudeLauncher {
    program: PathBuf,
    folder: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    conversation: ConversationId,
    /// The flags that never change.
    flags: Vec<String>,
}

impl ClaudeLauncher {
    pub(super) fn new(
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        env: &AgentEnv,
        conversation: &ConversationId,
    ) -> Self {
        Self {
            program: installation.program.clone(),
            folder: spec.folder.clone(),
            environment: worker_environment(env, conversation),
            conversation: conversation.clone(),
            flags: flags(spec),
        }
    }

    /// A process for this conversation, with this schema for its answers.
    pub(super) fn launch(&self, record: SavedHistory, schema: Option<&Value>) -> Launch {
        let id = match record {
            SavedHistory::Empty => "--session-id",
            SavedHistory::Saved => "--resume",
        };
        let fixed = ["-p", "--verbose", "--replay-user-messages"];
        let formats = ["--input-format=stream-json", "--output-format=stream-json"];
        let mut args: Vec<OsString> =
            fixed.into_iter().chain(formats).map(OsString::from).collect();
        args.extend([id.into(), self.conversation.as_str().into()]);
        args.extend(
            schema.map(|schema| format!("--json-schema={}", without_dialect(schema)).into()),
        );
        args.extend(self.flags.iter().map(OsString::from));
        Launch {
            program: self.program.clone(),
            args,
            environment: self.environment.clone(),
            folder: self.folder.clone(),
            confinement: Confinement::Unconfined,
        }
    }
}

/// Claude silently ignores a schema that declares its dialect.
fn without_dialect(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        fields.remove("$schema");
    }
    schema
}

fn flags(spec: &ConversationSpec) -> Vec<String> {
    let mut flags = Vec::new();
    flags.extend(spec.model.as_ref().map(|model| format!("--model={model}")));
    flags.extend(
        spec.max_micro_usd
            .map(|most| format!("--max-budget-usd={}.{:06}", most / 1_000_000, most % 1_000_000)),
    );
    flags.extend(spec.role.as_ref().map(|role| format!("--append-system-prompt={role}")));
    if !spec.servers.is_empty() {
        flags.extend(["--mcp-config".to_owned(), mcp_config(&spec.servers).to_string()]);
    }
    if spec.servers.iter().any(|server| server.name == OWN_SERVER) {
        flags.extend(["--allowedTools".to_owned(), format!("mcp__{OWN_SERVER}")]);
    }
    flags.extend(["--disallowedTools", NOT_FOR_WORKERS].map(str::to_owned));
    let permissions: &[&str] = match spec.allow {
        // `acceptEdits` would also run `rm` and `mv` without asking. So claude
        // asks about every edit, and the policy allows those inside the folder.
        AllowLevel::Edits => &["--permission-mode", "default", "--permission-prompt-tool", "stdio"],
        AllowLevel::Commands => {
            &["--permission-mode", "acceptEdits", "--permission-prompt-tool", "stdio"]
        }
        AllowLevel::All => &["--dangerously-skip-permissions"],
    };
    flags.extend(permissions.iter().map(|&flag| flag.to_owned()));
    flags
}

fn mcp_config(servers: &[McpServerSpec]) -> Value {
    let entry = |server: &McpServerSpec| {
        let program = server.program.to_string_lossy();
        let entry = json!({
            "type": "stdio", "command": program, "args": server.args, "env": server.env,
        });
        (server.name.clone(), entry)
    };
    json!({"mcpServers": servers.iter().map(entry).collect::<serde_json::Map<_, _>>()})
}

fn worker_environment(
    env: &AgentEnv,
    conversation: &ConversationId,
) -> BTreeMap<OsString, OsString> {
    let clouds = CLOUDS.iter().filter(|(switch, _)| is_switched_on(env, switch));
    let prefixes: Vec<&str> =
        PREFIXES.into_iter().chain(clouds.flat_map(|(_, prefixes)| *prefixes).copied()).collect();
    let mut variables = agent_environment(env, &NAMES, &prefixes, conversation.as_str());
    variables.retain(|name, _| !ENCLOSING.iter().any(|enclosing| name == *enclosing));
    for (name, value) in DEFAULTS {
        variables.entry(name.into()).or_insert_with(|| value.into());
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(variables: &[(&str, &str)]) -> AgentEnv {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        AgentEnv {
            variables: variables.iter().map(pair).collect(),
            omx: PathBuf::new(),
            worker_variable: "MARK".to_owned(),
            child_variables: Default::default(),
            scenario: None,
            rehearsal_folder: PathBuf::new(),
            clock: || omx_kernel::Timestamp::from_millis(0),
        }
    }

    fn names(variables: &[(&str, &str)]) -> Vec<String> {
        let id = ConversationId::random();
        let environment = worker_environment(&env(variables), &id);
        let defaults = |name: &str| DEFAULTS.iter().any(|(known, _)| *known == name);
        let names = environment.into_keys().filter_map(|name| name.into_string().ok());
        names.filter(|name| name != "MARK" && !defaults(name)).collect()
    }

    /// A worker inside another claude has a conversation of its own.
    #[test]
    fn variables_of_an_enclosing_claude_are_removed() {
        let all: Vec<_> = ENCLOSING.iter().map(|name| (*name, "1")).collect();
        assert_eq!(names(&all), Vec::<String>::new());
        assert_eq!(
            names(&[("CLAUDECODE", "1"), ("CLAUDE_CONFIG_DIR", "/c")]),
            ["CLAUDE_CONFIG_DIR"]
        );
    }

    #[test]
    fn cloud_variables_are_passed_only_if_the_cloud_is_used() {
        let aws = ("AWS_PROFILE", "p");
        assert_eq!(names(&[aws]), Vec::<String>::new());
        assert_eq!(names(&[aws, ("CLAUDE_CODE_USE_BEDROCK", "0")]), ["CLAUDE_CODE_USE_BEDROCK"]);
        let bedrock = ("CLAUDE_CODE_USE_BEDROCK", "1");
        assert_eq!(names(&[aws, bedrock]), ["AWS_PROFILE", "CLAUDE_CODE_USE_BEDROCK"]);
    }

    #[test]
    fn the_persons_own_settings_are_kept() {
        let id = ConversationId::random();
        let chosen = worker_environment(&env(&[("CLAUDE_CODE_MAX_RETRIES", "9")]), &id);
        let value = |name: &str| chosen[std::ffi::OsStr::new(name)].clone();
        assert_eq!(value("CLAUDE_CODE_MAX_RETRIES"), "9");
        assert_eq!(value("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"), "1");
        assert_eq!(value("MARK"), id.as_str());
    }

    #[test]
    fn variables_of_an_mcp_server_are_part_of_its_entry() {
        let server = McpServerSpec {
            name: OWN_SERVER.to_owned(),
            program: "/omx".into(),
            args: vec!["mcp".to_owned()],
            env: [("OMX_CONTEXT".to_owned(), "{}".to_owned())].into(),
        };
        let entry = &mcp_config(&[server])["mcpServers"][OWN_SERVER];
        assert_eq!(entry["env"], json!({"OMX_CONTEXT": "{}"}));
    }
}
