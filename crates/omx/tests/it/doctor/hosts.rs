//! hosts.md 6 for what setup wrote: parts that are missing, changed, duplicated or
//! broken, hooks and servers that do not answer.

use std::fs;

use omx_testkit::write_program;
use serde_json::{Value, json};

use super::kit::{DoctorProject, edit, failures};

const SETTINGS: &str = ".claude/settings.json";

/// Changes one of the person's files.
fn change(clinic: &DoctorProject, path: &str, change: impl FnOnce(&mut Value)) {
    edit(&clinic.project.home().join(path), change);
}

/// A healthy project with omx set up for a host.
#[track_caller]
fn with(host: &str) -> DoctorProject {
    let clinic = DoctorProject::new();
    clinic.set_up(host);
    let report = clinic.report(&[]);
    assert_eq!(failures(&report), [Value::Null; 0]);
    let fine = |area: &str| {
        let all = report["findings"].as_array().unwrap().iter();
        all.filter(|one| one["area"] == area && one["level"] == "ok").count()
    };
    assert_eq!((fine("setup"), fine("hooks"), fine("mcp")), (1, 1, 1), "{report:#}");
    clinic
}

/// Adds a hook for an event.
fn add_hook(settings: &mut Value, event: &str, command: &str) {
    let group = json!({"hooks": [{"type": "command", "command": command}]});
    settings["hooks"][event].as_array_mut().unwrap().push(group);
}

#[test]
fn hosts_6_hooks_and_servers_of_every_host_are_called() {
    for host in ["claude", "codex", "gemini"] {
        let clinic = with(host);
        let state = clinic.project.state("sessions/omx-doctor");
        assert!(!state.exists(), "{host}: trying a hook leaves nothing behind");
    }
}

#[test]
fn hosts_6_without_setup_a_host_is_a_warning() {
    let clinic = DoctorProject::new();
    clinic.warns("setup", "not_set_up");
}

#[test]
fn hosts_6_a_hook_that_is_missing() {
    let clinic = with("claude");
    change(&clinic, SETTINGS, |settings| settings["hooks"]["Stop"] = json!([]));
    clinic.fails_until_fixed("setup", "part", SETTINGS);
}

#[test]
fn hosts_6_a_server_that_is_missing() {
    let clinic = with("claude");
    change(&clinic, ".claude.json", |file| file["mcpServers"] = json!({}));
    clinic.fails_until_fixed("setup", "part", ".claude.json");
}

#[test]
fn hosts_6_an_agent_file_that_is_missing() {
    let clinic = with("claude");
    fs::remove_file(clinic.project.home().join(".claude/agents/critic.md")).unwrap();
    clinic.fails_until_fixed("setup", "part", "agents/critic.md");
}

#[test]
fn hosts_6_an_agent_file_the_person_changed_is_left_alone() {
    let clinic = with("claude");
    let path = clinic.home(".claude/agents/critic.md", "my own words\n");
    clinic.warns("setup", "edited");
    clinic.report(&["--fix"]);
    assert_eq!(fs::read_to_string(path).unwrap(), "my own words\n");
}

#[test]
fn hosts_6_hooks_that_codex_does_not_trust() {
    let clinic = with("codex");
    let config = clinic.project.home().join(".codex/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let hash = text.find("sha256:").unwrap();
    fs::write(&config, text.replace(&text[hash..hash + 20], "sha256:0000000000000")).unwrap();
    clinic.fails_for_good("setup", "untrusted", ".codex/config.toml");
    // Without any record of trust, `--fix` writes setup's record again.
    fs::write(&config, "").unwrap();
    clinic.fails_until_fixed("setup", "part", ".codex/config.toml");
}

#[test]
fn hosts_6_hooks_that_are_switched_off() {
    let clinic = with("codex");
    let config = clinic.project.home().join(".codex/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}\n[features]\nhooks = false\n")).unwrap();
    clinic.has("setup", "switched_off", "features.hooks");
    let clinic = with("claude");
    change(&clinic, SETTINGS, |settings| settings["disableAllHooks"] = json!(true));
    clinic.has("setup", "switched_off", "disableAllHooks");
}

#[test]
fn hosts_6_a_broken_host_file_is_named_and_left_alone() {
    let clinic = with("claude");
    let path = clinic.home(SETTINGS, "{ \"hooks\": ");
    let found = clinic.has("setup", "broken_file", SETTINGS);
    assert_eq!(found["fixable"], json!(false));
    clinic.report(&["--fix"]);
    assert_eq!(fs::read_to_string(path).unwrap(), "{ \"hooks\": ");
}

#[test]
fn hosts_6_a_manifest_that_cannot_be_read() {
    let clinic = with("claude");
    let path = clinic.project.home().join(".local/state/omx/setup/user.json");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    clinic.fails_for_good("setup", "manifest", "user.json");
    fs::write(&path, whole.replacen("\"version\": 1", "\"version\": 99", 1)).unwrap();
    if fs::read_to_string(&path).unwrap() == whole {
        edit(&path, |manifest| manifest["version"] = json!(99));
    }
    clinic.fails_for_good("setup", "manifest", "newer version");
}

#[test]
fn hosts_6_a_program_that_moved() {
    let clinic = with("claude");
    let path = clinic.project.home().join(".local/state/omx/setup/user.json");
    edit(&path, |manifest| manifest["omx"] = json!("/nonexistent/omx"));
    clinic.fails_until_fixed("setup", "program_gone", "/nonexistent/omx");
}

#[test]
fn hosts_6_a_duplicate_hook() {
    let clinic = with("claude");
    let command = format!("{} hook --host claude", clinic.project.binary().display());
    change(&clinic, SETTINGS, |settings| add_hook(settings, "Stop", &command));
    clinic.has("hooks", "double", "twice for Stop");
}

#[test]
fn hosts_6_a_related_program_with_the_same_hooks() {
    let clinic = with("claude");
    let command = "node /opt/oh-my-claudecode/scripts/persistent-mode.mjs";
    change(&clinic, SETTINGS, |settings| add_hook(settings, "Stop", command));
    clinic.fails_for_good("hooks", "foreign", "persistent-mode.mjs");
    let clinic = with("claude");
    change(&clinic, SETTINGS, |settings| {
        settings["enabledPlugins"] = json!({"oh-my-claudecode@omc": true, "other@x": true});
    });
    clinic.fails_for_good("hooks", "foreign", "the plugin oh-my-claudecode@omc");
}

#[test]
fn hosts_6_foreign_hooks_are_ignored() {
    let clinic = with("claude");
    change(&clinic, SETTINGS, |settings| add_hook(settings, "Stop", "/usr/bin/say done"));
    assert_eq!(clinic.failures(&[]).len(), 0);
}

#[test]
fn hosts_6_hooks_are_actually_called() {
    let clinic = with("claude");
    let program = clinic.bin().join("stand-in");
    let command = format!("{} hook --host claude", program.display());
    change(&clinic, SETTINGS, |settings| {
        for (_, groups) in settings["hooks"].as_object_mut().unwrap() {
            groups[0]["hooks"][0]["command"] = json!(command);
        }
    });
    clinic.has("hooks", "hook", "exit 127");
    for (script, told) in [
        ("#!/bin/sh\necho no such thing >&2\nexit 3\n", "exit 3: no such thing"),
        ("#!/bin/sh\necho hello\n", "its output is"),
        ("#!/bin/sh\nsleep 600\n", "no output within 2 s"),
    ] {
        write_program(&program, script);
        let found = clinic.has("hooks", "hook", told);
        assert!(found["what"].as_str().unwrap().contains("stand-in hook --host claude"));
    }
    write_program(&program, "#!/bin/sh\ncat > /dev/null\n");
    let report = clinic.report(&[]);
    assert!(failures(&report).iter().all(|one| one["name"] != "hook"), "{report:#}");
}

#[test]
fn hosts_6_a_server_that_does_not_answer() {
    let clinic = with("claude");
    let program = clinic.bin().join("stand-in");
    change(&clinic, ".claude.json", |file| file["mcpServers"]["omx"]["command"] = json!(program));
    clinic.has("mcp", "server", "stand-in");
    write_program(&program, "#!/bin/sh\necho hello\n");
    clinic.has("mcp", "server", "printed");
    write_program(&program, "#!/bin/sh\nexit 0\n");
    clinic.has("mcp", "server", "stand-in");
}

#[test]
fn hosts_6_text_output_has_one_line_per_check_and_the_remedy() {
    let clinic = with("claude");
    fs::remove_file(clinic.project.home().join(".claude/agents/critic.md")).unwrap();
    let outcome = clinic.omx(&["doctor"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let home = clinic.project.home();
    let wanted = format!(
        "\nSetup\n  failed   a file that setup wrote is missing ({}/.claude/agents/critic.md)\n           omx setup, or omx doctor --fix\n",
        home.display()
    );
    assert!(outcome.stdout.contains(&wanted), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("1 failure, "), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains('\u{1b}'), "no colours into a pipe");
    let outcome = clinic.omx(&["doctor", "--fix"]);
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stdout.contains("fixed: wrote "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("everything works"), "{}", outcome.stdout);
}

#[test]
fn hosts_6_a_file_with_comments_and_a_byte_order_mark_is_checked_too() {
    let clinic = with("claude");
    change(&clinic, SETTINGS, |settings| add_hook(settings, "Stop", "node oh-my-claudecode/x.mjs"));
    let path = clinic.project.home().join(SETTINGS);
    let text = fs::read_to_string(&path).unwrap();
    for text in [format!("\u{feff}{text}"), format!("// mine\n{text}")] {
        fs::write(&path, text).unwrap();
        clinic.fails("hooks", "foreign", SETTINGS);
        let report = clinic.report(&[]);
        let is_called =
            |one: &Value| one["area"] == "hooks" && one["name"] == "hook" && one["level"] == "ok";
        assert!(report["findings"].as_array().unwrap().iter().any(is_called), "{report:#}");
    }
}
