//! hosts.md 2.1 with the real programs: after `omx setup` in a fresh home the host
//! calls omx's hooks because of its own files alone, and its agent can call omx's
//! tools.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

use omx_testkit::model::{ModelScript, ModelServer, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};
use omx_testkit::{CommandOutcome, write_program};
use serde_json::{Value, json};

const OMX: &str = env!("CARGO_BIN_EXE_omx");

/// A home in which omx is set up under a path that a shell must quote.
struct Place {
    server: ModelServer,
    home: AgentHome,
    cli: AgentCli,
}

impl Place {
    fn new(cli: AgentCli, scope: &str) -> Self {
        let place = Self::bare(cli);
        place.set_up(scope);
        place
    }

    fn bare(cli: AgentCli) -> Self {
        let input = json!({"mode": "ralph", "session_id": "s", "active": true});
        let script =
            ModelScript::named("go").mcp("omx", "state_write", input).shell("true").say("done");
        let server = ModelServer::start([script]);
        let home = AgentHome::new(cli, &server);
        home.configure();
        fs::create_dir(home.folder().join("my bin")).unwrap();
        symlink(OMX, home.folder().join("my bin/omx")).unwrap();
        Self { server, home, cli }
    }

    /// The program as the person calls it.
    fn omx(&self) -> PathBuf {
        self.home.folder().join("my bin/omx")
    }

    #[track_caller]
    fn set_up(&self, scope: &str) {
        let args = ["setup", "--host", self.cli.name(), "--scope", scope];
        let done: CommandOutcome =
            self.home.command(self.omx()).args(args).output().unwrap().into();
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    }

    /// From now on the program at that path also records its input.
    fn listen(&self) {
        fs::remove_file(self.omx()).unwrap();
        let events = self.home.folder().join("events");
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = hook ]; then\n  payload=$(cat)\n  \
             printf '%s\\n' \"$payload\" >> '{0}'\n  printf '%s' \"$payload\" | '{OMX}' \"$@\"\n  \
             exit $?\nfi\nexec '{OMX}' \"$@\"\n",
            events.display()
        );
        write_program(&self.omx(), &text);
    }

    /// One turn, with no flag that has to do with hooks.
    #[track_caller]
    fn turn(&self) {
        let mut args = match self.cli {
            AgentCli::Codex => vec!["exec", "--json"],
            AgentCli::Claude => vec![
                "-p",
                "--output-format=stream-json",
                "--verbose",
                "--allowedTools=Bash,mcp__omx__state_write",
            ],
            AgentCli::Gemini => vec!["--approval-mode=yolo", "-m", "gemini-2.5-flash", "-p"],
        };
        args.push("go [[script:go]]");
        let run = self.run(&args);
        assert_eq!(run.code, Some(0), "{run:#?}");
        assert_eq!(self.server.turns("go").len(), 3, "{:?} {run:#?}", self.server.seen());
    }

    fn run(&self, args: &[&str]) -> CommandOutcome {
        let mut command = self.home.command("timeout");
        command.args(["--kill-after=2", "45"]).arg(self.cli.program()).args(args);
        command.output().expect("timeout runs").into()
    }

    /// The events that omx received, each once.
    fn events(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home.folder().join("events")).unwrap_or_default();
        let name = |line: &str| -> Option<String> {
            let event: Value = serde_json::from_str(line).ok()?;
            Some(event["hook_event_name"].as_str()?.to_owned())
        };
        let mut names: Vec<String> = text.lines().filter_map(name).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The agent called an omx tool, and it took effect here.
    #[track_caller]
    fn has_state(&self) {
        let stored = self.home.read(".omx/state/sessions/s/ralph-state.json");
        let stored: Value = serde_json::from_str(&stored).unwrap();
        assert_eq!(stored["active"], true, "{stored}");
    }

    /// What Codex itself thinks of the hooks it knows: event and trust.
    #[track_caller]
    fn codex_hooks(&self) -> Vec<(String, String)> {
        let mut command = self.home.command("timeout");
        command.args(["--kill-after=2", "45"]).arg(self.cli.program()).arg("app-server");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("timeout runs");
        let mut stdin = child.stdin.take().unwrap();
        let client = json!({"name": "t", "title": "t", "version": "0"});
        for message in [
            json!({"id": 1, "method": "initialize", "params": {"clientInfo": client}}),
            json!({"method": "initialized"}),
            json!({"id": 2, "method": "hooks/list", "params": {"cwds": [self.home.root()]}}),
        ] {
            writeln!(stdin, "{message}").unwrap();
        }
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut messages = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let answer = messages.find(|message| message["id"] == 2).expect("an answer");
        drop(stdin);
        child.wait().unwrap();
        let list = answer["result"]["data"][0].clone();
        assert_eq!(list["errors"], json!([]), "{list:#}");
        let text = |hook: &Value, name: &str| hook[name].as_str().unwrap().to_owned();
        let hooks = list["hooks"].as_array().unwrap();
        hooks.iter().map(|hook| (text(hook, "eventName"), text(hook, "trustStatus"))).collect()
    }
}

const CODEX: [&str; 6] =
    ["PostToolUse", "PreToolUse", "SessionEnd", "SessionStart", "Stop", "UserPromptSubmit"];

fn codex_calls(scope: &str) {
    let place = Place::new(AgentCli::Codex, scope);
    place.listen();
    let hooks = place.codex_hooks();
    assert_eq!(hooks.len(), 8, "{hooks:?}");
    assert!(hooks.iter().all(|(_, trust)| trust == "trusted"), "{hooks:?}");
    place.turn();
    assert_eq!(place.events(), CODEX);
    place.has_state();
    let listed = place.run(&["mcp", "list", "--json"]);
    assert!(listed.stdout.contains("\"name\": \"omx\""), "{listed:?}");
}

#[test]
fn hosts_2_1_codex_calls_the_hooks_of_user_scope() {
    offline(&[AgentCli::Codex], || codex_calls("user"));
}

#[test]
fn hosts_2_1_codex_calls_the_hooks_of_project_scope() {
    offline(&[AgentCli::Codex], || codex_calls("project"));
}

/// Codex identifies a hook by the path of its file, also through a link.
#[test]
fn hosts_2_1_codex_trusts_hooks_behind_a_link() {
    offline(&[AgentCli::Codex], || {
        let place = Place::bare(AgentCli::Codex);
        let (folder, moved) = (place.home.home().join(".codex"), place.home.home().join("dot"));
        fs::rename(&folder, &moved).unwrap();
        symlink("dot", &folder).unwrap();
        place.set_up("user");
        let hooks = place.codex_hooks();
        assert_eq!(hooks.len(), 8, "{hooks:?}");
        assert!(hooks.iter().all(|(_, trust)| trust == "trusted"), "{hooks:?}");
    });
}

/// Foreign hooks keep their place, so that Codex's trust in them holds, and
/// after an uninstall nothing of ours is known to it.
#[test]
fn hosts_2_4_codex_keeps_its_trust_in_foreign_hooks() {
    offline(&[AgentCli::Codex], || {
        let place = Place::bare(AgentCli::Codex);
        let codex = place.home.home().join(".codex");
        let hook = |command: &str| json!({"hooks": [{"type": "command", "command": command}]});
        let hooks = json!({"hooks": {"Stop": [hook("true"), hook("true 2")]}});
        fs::write(codex.join("hooks.json"), hooks.to_string()).unwrap();
        let config = fs::read_to_string(codex.join("config.toml")).unwrap();
        let key = format!("{}:stop:1:0", codex.join("hooks.json").display());
        let hash = omx_host::setup::trusted_hash("Stop", "true 2", 600);
        let state = format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"{hash}\"\n");
        fs::write(codex.join("config.toml"), config + &state).unwrap();
        let count =
            |trust: &str| place.codex_hooks().iter().filter(|(_, status)| status == trust).count();
        assert_eq!((count("trusted"), count("untrusted")), (1, 1));
        place.set_up("user");
        assert_eq!((count("trusted"), count("untrusted")), (9, 1));
        // One is added after ours; when ours is removed, it moves up.
        let text = fs::read_to_string(codex.join("hooks.json")).unwrap();
        let mut hooks: Value = serde_json::from_str(&text).unwrap();
        hooks["hooks"]["Stop"].as_array_mut().unwrap().push(hook("true 3"));
        fs::write(codex.join("hooks.json"), hooks.to_string()).unwrap();
        let config = fs::read_to_string(codex.join("config.toml")).unwrap();
        let key = format!("{}:stop:3:0", codex.join("hooks.json").display());
        let hash = omx_host::setup::trusted_hash("Stop", "true 3", 600);
        let state = format!("\n[hooks.state.\"{key}\"]\ntrusted_hash = \"{hash}\"\n");
        fs::write(codex.join("config.toml"), config + &state).unwrap();
        assert_eq!((count("trusted"), count("untrusted")), (10, 1));
        let gone = place.home.command(place.omx()).arg("uninstall").output().unwrap();
        assert!(gone.status.success());
        assert_eq!((count("trusted"), count("untrusted")), (2, 1), "{:?}", place.codex_hooks());
    });
}

const CLAUDE: [&str; 6] = CODEX;

fn claude_calls(scope: &str) {
    let place = Place::new(AgentCli::Claude, scope);
    place.listen();
    let listed = place.run(&["mcp", "list"]);
    let is_connected = |line: &str| line.starts_with("omx: ") && line.contains("Connected");
    assert!(listed.stdout.lines().any(is_connected), "{listed:?}");
    place.turn();
    assert_eq!(place.events(), CLAUDE);
    place.has_state();
}

#[test]
fn hosts_2_1_claude_calls_the_hooks_of_user_scope() {
    offline(&[AgentCli::Claude], || claude_calls("user"));
}

#[test]
fn hosts_2_1_claude_calls_the_hooks_of_project_scope() {
    offline(&[AgentCli::Claude], || claude_calls("project"));
}

/// Gemini checks before each request whether to compress the conversation.
const GEMINI: [&str; 7] = [
    "AfterAgent",
    "AfterTool",
    "BeforeAgent",
    "BeforeTool",
    "PreCompress",
    "SessionEnd",
    "SessionStart",
];

fn gemini_calls(scope: &str) {
    let place = Place::new(AgentCli::Gemini, scope);
    place.listen();
    place.turn();
    assert_eq!(place.events(), GEMINI);
    place.has_state();
}

#[test]
fn hosts_2_1_gemini_calls_the_hooks_of_user_scope() {
    offline(&[AgentCli::Gemini], || gemini_calls("user"));
}

#[test]
fn hosts_2_1_gemini_calls_the_hooks_of_project_scope() {
    offline(&[AgentCli::Gemini], || gemini_calls("project"));
}

/// With user and project scope, an event is reported once.
fn assert_reported_once(cli: AgentCli, last: &str) {
    let place = Place::new(cli, "user");
    place.set_up("project");
    place.listen();
    place.turn();
    let text = fs::read_to_string(place.home.folder().join("events")).unwrap();
    assert_eq!(text.matches(&format!("\"hook_event_name\":\"{last}\"")).count(), 1, "{text}");
}

#[test]
fn hosts_2_1_in_both_scopes_codex_reports_an_event_once() {
    offline(&[AgentCli::Codex], || assert_reported_once(AgentCli::Codex, "Stop"));
}

#[test]
fn hosts_2_1_in_both_scopes_claude_reports_an_event_once() {
    offline(&[AgentCli::Claude], || assert_reported_once(AgentCli::Claude, "Stop"));
}

#[test]
fn hosts_2_1_in_both_scopes_gemini_reports_an_event_once() {
    offline(&[AgentCli::Gemini], || assert_reported_once(AgentCli::Gemini, "AfterAgent"));
}

/// Codex's agents are omx's roles, each with its own instructions.
#[test]
fn hosts_2_1_codex_gives_an_agent_its_role_prompt() {
    offline(&[AgentCli::Codex], || {
        let place = Place::new(AgentCli::Codex, "user");
        let spawn = json!({"agent_type": "critic", "message": "judge it [[script:sub]]"});
        let spawn = ScriptTurn::new().call_in("multi_agent_v1", "spawn_agent", spawn);
        // The end waits for the agent's request.
        let end = ScriptTurn::new().say("done").following("sub", 0);
        place.server.add(ModelScript::named("main").turn(spawn).turn(end).repeating());
        place.server.add(ModelScript::named("sub").say("judged"));
        let run = place.run(&["exec", "--json", "go [[script:main]]"]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        let requested = place.server.turns("sub");
        let role = include_str!("../../../../../assets/roles/critic.md");
        let words = role.lines().find(|line| line.starts_with("You ")).unwrap();
        assert!(requested[0].body.to_string().contains(words), "{words}: {:#}", requested[0].body);
    });
}

/// Claude's skills and agents are omx's.
#[test]
fn hosts_2_1_claude_lists_the_skills_and_agents() {
    offline(&[AgentCli::Claude], || {
        let place = Place::new(AgentCli::Claude, "user");
        let args = ["-p", "--output-format=stream-json", "--verbose", "go [[script:go]]"];
        let run = place.run(&args);
        let events = run.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut events = events.filter(|event| event["subtype"] == "init");
        let init = events.next().unwrap_or_else(|| panic!("{run:#?}"));
        let has = |list: &str, name: &str| init[list].as_array().unwrap().contains(&json!(name));
        assert!(has("skills", "cancel") && has("slash_commands", "ralph"), "{init:#}");
        assert!(has("agents", "critic") && has("agents", "executor"), "{init:#}");
        assert_eq!(init["mcp_servers"], json!([{"name": "omx", "status": "connected"}]));
        assert!(has("tools", "mcp__omx__state_write"), "{init:#}");
    });
}
