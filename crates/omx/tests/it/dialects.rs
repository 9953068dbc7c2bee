//! state.md 1.5: everything that leaves the program speaks one dialect. Renders every
//! text in both dialects and looks for the names of the other.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use omx_testkit::{CommandOutcome, MODES, McpClient, TestProject};
use serde_json::{Value, json};

use crate::project;

/// How a dialect is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    Name,
    Flag,
    Variable,
}

/// A ralph that is built and verified, for the rehearsal agent.
const SCENARIO: &str = r#"
[[entry]]
role = "executor"
do = [
  { write = { path = "work.txt", content = "done" } },
  { result = { summary = "built it", changed_files = ["work.txt"], commands = [], done = true } },
]

[[entry]]
do = [{ result = { passed = true, findings = [], checks = [{ name = "read", evidence = "read it" }] } }]
"#;

/// Commands that are refused or report something, each in another part of the program.
const REPORTS: &[&[&str]] = &[
    &["doctor"],
    &["doctor", "--json"],
    &["setup", "--host", "all", "--dry-run"],
    &["uninstall", "--dry-run"],
    &["uninstall"],
    &["launch", "codex"],
    &["trust"],
    &["version"],
    &["ps"],
    &["config", "get", "nope"],
    &["config", "set", "nope", "1"],
    &["config", "set", "limits.max_holds", "many"],
    &["ask", "codex", "why?"],
    &["ask", "rehearsal", "why?"],
    &["autopilot"],
    &["autopilot", "--resume"],
    &["autopilot", "--agent", "codex", "build it"],
    &["autopilot", "--agent", "codex", "--budget-usd", "1", "build it"],
    &["autopilot", "--agent", "rehearsal", "build it"],
    &["pipeline", "--preset", "nope", "build it"],
    &["code-review"],
    &["resume"],
    &["resume", "nope"],
    &["limit", "5"],
    &["limit", "nope", "5"],
    &["runs", "show", "nope"],
    &["runs", "attach", "nope"],
    &["runs", "resume", "nope"],
    &["runs", "integrate", "nope"],
    &["runs", "discard", "nope"],
    &["runs", "gc"],
    &["cancel", "--session-id", "nope"],
    &["cancel", "--force", "--mode", "ralph"],
    &["state", "read", "--mode", "nope"],
    &["state", "write", "--input", "{"],
    &["state", "write", "--input", r#"{"mode":"ralph","activ":true}"#],
    &["state", "write", "--input", r#"{"mode":"ralph","active":true,"session_id":"../x"}"#],
    &["hook", "explain", "autopilot: build it"],
    &["hook", "explain", "please build me a parser"],
];

/// Where names of the other dialect may appear, each with its reason. White space counts
/// as one space.
const ALLOWED: &[&str] = &[
    // The values of the flag `--dialect`: in help,
    "[possible values: omx, omc]",
    // in the completions of bash, zsh and fish,
    "compgen -W \"omx omc\"",
    ":NAME:(omx omc)",
    "-f -a \"omx\\t'' omc\\t''\"",
    // and in manual pages.
    ".IP \\(bu 2 omx .IP \\(bu 2 omc",
];

struct Speaker {
    project: TestProject,
    name: &'static str,
    other: &'static str,
    selection: Selection,
    program: PathBuf,
}

impl Speaker {
    fn new(name: &'static str, selection: Selection) -> Self {
        let project = project();
        project.git();
        let folder = project.folder().join("bin");
        fs::create_dir_all(&folder).unwrap();
        let called = if selection == Selection::Name { name } else { "omx" };
        let program = folder.join(called);
        symlink(project.binary(), &program).unwrap();
        let other = if name == "omc" { "omx" } else { "omc" };
        Self { project, name, other, selection, program }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.project.command(&self.program);
        match self.selection {
            Selection::Name => {}
            Selection::Flag => {
                command.args(["--dialect", self.name]);
            }
            Selection::Variable => {
                command.env("OMX_DIALECT", self.name);
            }
        }
        command.args(args);
        command
    }

    fn run(&self, args: &[&str]) -> CommandOutcome {
        self.command(args).output().unwrap().into()
    }

    /// Runs a command and checks all it prints.
    #[track_caller]
    fn check_run(&self, args: &[&str]) -> CommandOutcome {
        let outcome = self.run(args);
        self.check(&format!("{args:?}"), &outcome.stdout);
        self.check(&format!("{args:?}"), &outcome.stderr);
        outcome
    }

    /// Fails if a text names the other dialect.
    #[track_caller]
    fn check(&self, what: &str, text: &str) {
        // The test's own folders are named after the program.
        let program = self.program.display().to_string();
        let text = text.replace(&program, "PROGRAM").replace("omx-test-", "TEST-");
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for allowed in ALLOWED {
            text = text.replace(allowed, "");
        }
        if let Some(at) = text.to_lowercase().find(self.other) {
            let around: String = text.chars().skip(at.saturating_sub(60)).take(130).collect();
            panic!("{what} of {} by {:?}: … {around} …", self.name, self.selection);
        }
    }

    fn hook(&self, event: &str, more: Value) -> Value {
        let mut payload =
            json!({"session_id": "s1", "cwd": self.project.root(), "hook_event_name": event});
        for (name, value) in more.as_object().unwrap() {
            payload[name] = value.clone();
        }
        let command = self.command(&["hook", "--host", "claude"]);
        let answer = crate::hooks::answer_of(command, payload.to_string().as_bytes());
        self.check(&format!("{event} {more}"), &answer.to_string());
        answer
    }

    fn prompt(&self, text: &str) -> Value {
        self.hook("UserPromptSubmit", json!({"prompt": text}))
    }
}

fn speakers() -> Vec<Speaker> {
    vec![
        Speaker::new("omx", Selection::Name),
        Speaker::new("omc", Selection::Name),
        Speaker::new("omc", Selection::Flag),
        Speaker::new("omc", Selection::Variable),
    ]
}

/// The names of the subcommands that a help page lists.
fn subcommands(page: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    let rows = lines.take_while(|line| line.starts_with("  "));
    rows.filter_map(|row| row.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn check_help(speaker: &Speaker, path: &[&str]) {
    let mut args = path.to_vec();
    args.push("--help");
    let page = speaker.check_run(&args).stdout;
    for name in subcommands(&page) {
        let mut inner = path.to_vec();
        inner.push(&name);
        check_help(speaker, &inner);
    }
}

#[test]
fn state_1_5_every_help_page_completion_and_manual_page_speaks_one_dialect() {
    for speaker in speakers() {
        check_help(&speaker, &[]);
        for shell in ["bash", "zsh", "fish"] {
            speaker.check_run(&["completions", shell]);
        }
        let pages = speaker.project.folder().join("man");
        speaker.check_run(&["man", "--dir", pages.to_str().unwrap()]);
        let mut count = 0;
        for entry in fs::read_dir(&pages).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            speaker.check("the name of a page", &name);
            speaker.check(&name, &fs::read_to_string(entry.path()).unwrap());
            count += 1;
        }
        assert!(count > 20, "{count} pages");
        for wrong in [&["cancle"][..], &["cancel", "--nope"], &["runs", "show", "a", "b"]] {
            speaker.check_run(wrong);
        }
    }
}

/// Checks every file below a folder.
fn check_files(speaker: &Speaker, folder: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        // omx's own record of what setup wrote has a fixed format.
        if path.ends_with(".local/state") {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            count += check_files(speaker, &path);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let name = path.strip_prefix(speaker.project.home()).unwrap().display().to_string();
            speaker.check(&name, &name);
            speaker.check(&name, &text);
            count += 1;
        }
    }
    count
}

#[test]
fn state_1_5_everything_that_setup_installs_speaks_one_dialect() {
    for speaker in speakers() {
        let outcome = speaker.check_run(&["setup", "--host", "all"]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let count = check_files(&speaker, &speaker.project.home());
        assert!(count > 130, "{count} files");
        let servers: Value = serde_json::from_str(
            &fs::read_to_string(speaker.project.home().join(".claude.json")).unwrap(),
        )
        .unwrap();
        assert!(servers["mcpServers"][speaker.name].is_object(), "{servers}");
        let guidance =
            fs::read_to_string(speaker.project.home().join(".claude/CLAUDE.md")).unwrap();
        let label = speaker.name.to_uppercase();
        assert!(guidance.contains(&format!("<!-- {label}:START -->")), "{guidance}");
        // What the host calls acts in the same dialect.
        let settings =
            fs::read_to_string(speaker.project.home().join(".claude/settings.json")).unwrap();
        let settings: Value = serde_json::from_str(&settings).unwrap();
        let command =
            settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"].as_str().unwrap();
        let mut shell = speaker.project.command("/bin/sh");
        shell.args(["-c", command]);
        let payload = json!({"session_id": "s1", "cwd": speaker.project.root(),
            "hook_event_name": "UserPromptSubmit", "prompt": "$ralph mend the parser"});
        let answer = crate::hooks::answer_of(shell, payload.to_string().as_bytes());
        speaker.check("a start through the installed hook", &answer.to_string());
        let tree = speaker.project.root().join(format!(".{}", speaker.name));
        assert!(tree.join("state/sessions/s1/ralph-state.json").exists(), "{command}: {answer}");
        speaker.check_run(&["doctor"]);
        let outcome = speaker.check_run(&["uninstall"]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    }
}

#[test]
fn state_1_5_the_catalog_and_the_tools_speak_one_dialect() {
    for speaker in speakers() {
        for kind in ["roles", "skills", "modes", "agents"] {
            let list = speaker.check_run(&["list", kind, "--json"]).stdout;
            let list: Value = serde_json::from_str(&list).unwrap();
            let items =
                list.as_array().or_else(|| list[kind].as_array()).cloned().unwrap_or_default();
            for item in items {
                let name = item["name"].as_str().unwrap().to_owned();
                let name = if kind == "modes" || kind == "agents" { continue } else { name };
                speaker.check_run(&[
                    "list",
                    "show",
                    &format!("{}:{name}", kind.trim_end_matches('s')),
                ]);
            }
        }
        let mut client = McpClient::start(speaker.command(&["mcp"]));
        let tools = client.request("tools/list", &json!({}));
        speaker.check("the MCP tools", &tools.to_string());
        for args in
            [&["config", "schema"][..], &["config", "list"], &["status"], &["runs"], &["hud"]]
        {
            speaker.check_run(args);
        }
    }
}

#[test]
fn state_1_5_hook_texts_and_cancel_messages_speak_one_dialect() {
    for speaker in speakers() {
        speaker.hook("SessionStart", json!({"source": "startup"}));
        speaker.prompt("don't stop until the build is green");
        for mode in MODES {
            speaker.prompt(&format!("${mode}"));
            let answer = speaker.prompt(&format!("${mode} mend the parser"));
            assert!(answer.to_string().contains("started"), "{answer}");
            speaker.prompt(&format!("${mode}"));
            speaker.prompt("$autopilot something else");
            speaker.prompt("continue");
            speaker.hook("Stop", json!({"last_assistant_message": "done?"}));
            speaker.hook("SessionStart", json!({"source": "compact"}));
            speaker.check_run(&["status"]);
            speaker.check_run(&["cancel", "--session-id", "s1"]);
            speaker.hook("SessionStart", json!({"source": "resume"}));
        }
        // A bound is reached.
        speaker.prompt("$ralph mend the parser");
        let mut last = Value::Null;
        for _ in 0..12 {
            last = speaker.hook("Stop", json!({"last_assistant_message": "done"}));
        }
        assert!(last.get("decision").is_none(), "{last}");
        speaker.prompt("continue");
        speaker.prompt("/cancel");
        speaker.prompt("/cancel --all");
        speaker.check_run(&["cancel"]);
        speaker.check_run(&["cancel", "nope"]);
        speaker.check_run(&["cancel", "--mode", "nope"]);
        speaker.check_run(&["cancel", "--force"]);
        speaker.check_run(&[
            "state",
            "write",
            "--input",
            r#"{"mode":"ralph","active":true,"start":true}"#,
        ]);
        speaker.check_run(&["state", "write", "--input", r#"{"mode":"team","active":true}"#]);
        speaker.check_run(&[
            "state",
            "write",
            "--input",
            r#"{"mode":"ralph","active":true,"start":true}"#,
        ]);
        speaker.check_run(&[
            "state",
            "write",
            "--input",
            r#"{"mode":"ralph","current_phase":"complete"}"#,
        ]);
    }
}

#[test]
fn state_1_5_runs_refusals_and_doctor_speak_one_dialect() {
    for speaker in speakers() {
        for args in REPORTS {
            speaker.check_run(args);
        }
        let mut broken = speaker.command(&["status"]);
        broken.env(format!("{}_CONTEXT", speaker.name.to_uppercase()), "{");
        let outcome: CommandOutcome = broken.output().unwrap().into();
        assert_ne!(outcome.code, Some(0), "{outcome:?}");
        speaker.check("a broken context", &outcome.stderr);

        // A whole run, by nobody that git knows.
        let commit = ["commit", "--quiet", "--allow-empty", "--message", "base"];
        speaker.project.run_git(&commit);
        let scenario = speaker.project.folder().join("scenario.toml");
        fs::write(&scenario, SCENARIO).unwrap();
        let scenario = scenario.to_str().unwrap();
        let ralph = ["ralph", "--agent", "rehearsal", "--scenario", scenario, "--check", "true"];
        let mut command = speaker.command(&[&ralph[..], &["make work.txt"]].concat());
        for name in ["AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"] {
            command.env_remove(format!("GIT_{name}"));
        }
        let outcome: CommandOutcome = command.output().unwrap().into();
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        speaker.check("a run", &outcome.stdout);
        speaker.check("a run", &outcome.stderr);
        let shown = speaker.check_run(&["runs", "show", "--json"]).stdout;
        let id = shown.split_once("\"id\":\"").unwrap().1[..36].to_owned();
        for args in [
            &["runs"][..],
            &["runs", "show"],
            &["runs", "attach"],
            &["runs", "resume"],
            &["resume", &id],
            &["runs", "limit", &id, "9"],
            &["runs", "answer", &id, "yes"],
            &["cancel", &id],
            &["runs", "integrate", &id],
            &["doctor"],
            &["status"],
        ] {
            speaker.check_run(args);
        }
        let branch = speaker.project.run_git(&["branch", "--list", "--all"]).stdout;
        speaker.check("the branches", &branch);
        let authors = speaker.project.run_git(&["log", "--all", "--format=%an %ae %cn %ce"]).stdout;
        speaker.check("the authors", &authors);
        assert!(authors.contains(&format!("{0} {0}@localhost", speaker.name)), "{authors}");
    }
}
