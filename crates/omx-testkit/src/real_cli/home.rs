//! A home for one agent program, with the configuration that makes it work
//! against the scripted model without a person and without a network.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{AgentCli, AgentRun};
use crate::model::ModelServer;
use crate::run::CommandOutcome;

/// No run of a test takes longer; then it is killed with everything it started.
const DEADLINE: Duration = Duration::from_secs(45);

/// A throw-away folder with `home/`, `tmp/` and a git repository `project/`,
/// and an agent program that lives in it.
#[derive(Debug)]
pub struct AgentHome {
    folder: TempDir,
    cli: AgentCli,
    url: String,
    servers: Vec<(String, PathBuf, Vec<String>)>,
    variables: Vec<(String, String)>,
    settings: String,
}

impl AgentHome {
    /// A home for this program, whose model is this server.
    pub fn new(cli: AgentCli, server: &ModelServer) -> Self {
        Self::with_model_at(cli, server.url())
    }

    /// A home for this program, whose model is said to be at this address.
    pub fn with_model_at(cli: AgentCli, url: String) -> Self {
        let folder = tempfile::Builder::new().prefix("omx-agent-").tempdir().unwrap();
        let home = Self {
            folder,
            cli,
            url,
            servers: Vec::new(),
            variables: Vec::new(),
            settings: String::new(),
        };
        for name in ["home", "tmp", "project"] {
            fs::create_dir(home.folder().join(name)).unwrap();
        }
        let init = ["init", "--quiet", "--initial-branch=main"];
        let status = home.command("git").args(init).status().expect("git runs (apt package git)");
        assert!(status.success());
        home
    }

    /// Gives the agent an MCP server.
    pub fn mcp(mut self, name: &str, program: impl AsRef<Path>, args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        self.servers.push((name.to_owned(), program.as_ref().to_owned(), args));
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds tables to Codex's `config.toml`.
    pub fn codex_config(mut self, toml: &str) -> Self {
        self.settings.push_str(toml);
        self
    }

    /// The folder that holds everything of this test.
    pub fn folder(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    /// The home directory the agent sees.
    pub fn home(&self) -> PathBuf {
        self.folder().join("home")
    }

    /// The project the agent works in.
    pub fn root(&self) -> PathBuf {
        self.folder().join("project")
    }

    /// Reads a file of the project.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        let path = self.root().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A command in the project with the agent's environment and no other.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.root()).env_clear().envs(self.environment()).stdin(Stdio::null());
        command
    }

    /// The agent's environment: the program is on its search path.
    pub fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut path = self.cli.program().parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut variables: BTreeMap<OsString, OsString> = [
            ("PATH", path),
            ("HOME", self.home().into()),
            ("TMPDIR", self.folder().join("tmp").into()),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            ("USER", "tester".into()),
            ("SHELL", "/bin/bash".into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .into();
        variables.extend(self.own_environment().into_iter().map(|(n, v)| (n.into(), v.into())));
        variables.extend(self.variables.iter().map(|(n, v)| (n.into(), v.into())));
        variables
    }

    fn own_environment(&self) -> Vec<(&'static str, String)> {
        let url = self.url.clone();
        match self.cli {
            AgentCli::Codex => vec![("SCRIPTED_KEY", "x".to_owned())],
            AgentCli::Claude => vec![
                ("ANTHROPIC_BASE_URL", url),
                ("ANTHROPIC_API_KEY", "sk-ant-scripted-0000000000000000000000".to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("DISABLE_AUTOUPDATER", "1".to_owned()),
                // Without it root may not skip the permission questions.
                ("IS_SANDBOX", "1".to_owned()),
            ],
            AgentCli::Gemini => vec![
                ("GOOGLE_GEMINI_BASE_URL", url),
                ("GEMINI_API_KEY", "x".to_owned()),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
            ],
        }
    }

    /// The version the program says it has.
    pub fn version(&self) -> String {
        self.ended(self.command("timeout"), &["--version"]).outcome.stdout.trim().to_owned()
    }

    /// One headless turn, with more arguments for the program if need be.
    pub fn headless(&self, prompt: &str, more: &[&str]) -> AgentRun {
        self.configure();
        let servers = self.folder().join("mcp.json");
        let servers = servers.to_str().expect("a path that is text");
        let mut args = match self.cli {
            AgentCli::Codex => vec!["exec", "--json"],
            // A prompt right after `--mcp-config` would be taken for a second file.
            AgentCli::Claude => vec![
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--dangerously-skip-permissions",
                "--mcp-config",
                servers,
                "--strict-mcp-config",
            ],
            // A fixed model: otherwise a request is spent on choosing one.
            AgentCli::Gemini => {
                vec!["--approval-mode", "yolo", "-o", "stream-json", "-m", "gemini-2.5-flash", "-p"]
            }
        };
        if self.cli == AgentCli::Gemini {
            args.push(prompt);
            args.extend(more);
        } else {
            args.extend(more);
            args.push(prompt);
        }
        self.ended(self.command("timeout"), &args)
    }

    /// Runs the program under `timeout`, which kills what it started.
    fn ended(&self, mut timeout: Command, args: &[&str]) -> AgentRun {
        let start = Instant::now();
        let seconds = DEADLINE.as_secs().to_string();
        let output = timeout
            .args(["--kill-after=2", &seconds])
            .arg(self.cli.program())
            .args(args)
            .output()
            .expect("timeout runs (apt package coreutils)");
        let took = start.elapsed();
        let outcome = CommandOutcome::from(output);
        assert_ne!(outcome.code, Some(124), "{:?} did not end: {outcome:#?}", self.cli);
        let lines = outcome.stdout.lines();
        let events = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
        AgentRun { outcome, events, took, cli: self.cli }
    }

    /// Writes the program's configuration files.
    pub fn configure(&self) {
        match self.cli {
            AgentCli::Codex => self.put(".codex/config.toml", &self.codex_toml()),
            AgentCli::Claude => {
                let servers = json!({"mcpServers": self.server_list(&json!({}))});
                fs::write(self.folder().join("mcp.json"), servers.to_string()).unwrap();
            }
            AgentCli::Gemini => {
                let settings = json!({
                    "security": {
                        "auth": {"selectedType": "gemini-api-key"},
                        "folderTrust": {"enabled": false}
                    },
                    "general": {"enableAutoUpdate": false},
                    "privacy": {"usageStatisticsEnabled": false},
                    "mcpServers": self.server_list(&json!({"trust": true}))
                });
                self.put(".gemini/settings.json", &settings.to_string());
            }
        }
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The MCP servers as JSON, each with these fields besides.
    fn server_list(&self, fields: &Value) -> Value {
        let mut list = json!({});
        for (name, program, args) in &self.servers {
            let mut server = fields.clone();
            server["command"] = json!(program);
            server["args"] = json!(args);
            list[name] = server;
        }
        list
    }

    /// Codex's configuration. Without `analytics` and `plugins` off it waits
    /// five seconds for names it cannot resolve; with
    /// `unbounded_connection_retries` it would never give up on a server that
    /// is gone; the daemon would outlive the test.
    fn codex_toml(&self) -> String {
        let (url, root) = (&self.url, self.root());
        let mut text = format!(
            r#"model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
unbounded_connection_retries = false
daemon_auto_start = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 2
stream_max_retries = 2
[projects.{root:?}]
trust_level = "trusted"
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"#
        );
        for (name, program, args) in &self.servers {
            // Strings of Rust and TOML agree for plain paths and words.
            text.push_str(&format!(
                "[mcp_servers.{name}]\ncommand = {program:?}\nargs = {args:?}\n"
            ));
        }
        text.push_str(&self.settings);
        text
    }
}
