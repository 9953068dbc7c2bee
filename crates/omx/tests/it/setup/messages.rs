//! What setup prints, for a person and for a program, and where it installs.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use super::kit::{home, json, person, put};
use crate::project;

#[test]
fn hosts_2_1_without_a_host_flag_installed_hosts_are_set_up() {
    let project = project();
    let bare = |args: &[&str]| -> omx_testkit::CommandOutcome {
        project.omx_command(args).env("PATH", "/nowhere").output().unwrap().into()
    };
    let none = bare(&["setup"]);
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(none.stderr.contains("name one with --host"), "{none:?}");
    fs::create_dir(project.home().join(".gemini")).unwrap();
    let done = bare(&["setup", "--json"]).ok();
    assert_eq!(done["hosts"], json!(["gemini"]));
    assert!(!project.home().join(".codex").exists());
}

#[test]
fn hosts_2_1_json_output_is_one_object() {
    let project = person();
    put(&project.home().join(".codex/hooks.json"), "{");
    let done = project.omx(&["setup", "--host", "codex", "--json"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(1), ""), "{done:?}");
    let report = done.json();
    assert_eq!((&report["ok"], &report["dry_run"]), (&json!(false), &json!(false)));
    assert_eq!(report["notes"][0]["kind"], "refused");
    let path = project.home().join(".codex/config.toml");
    assert_eq!(report["changes"][0], json!({"path": path, "action": "change"}));
    let manifest = report["manifest"].as_str().unwrap();
    assert!(fs::read_to_string(manifest).unwrap().contains("mcp_servers"));
    let gone = project.omx(&["uninstall", "--json"]).ok();
    assert_eq!(gone["changes"].as_array().unwrap().last().unwrap()["action"], "change");
    let nothing = project.omx(&["uninstall"]);
    assert_eq!(nothing.stdout, "nothing to do: omx is not set up here\n");
}

#[test]
fn hosts_2_1_hooks_server_agents_skills_guidance_and_a_status_line() {
    let project = project();
    assert_eq!(project.omx(&["setup", "--host", "all"]).code, Some(0));
    let omx = project.binary().to_str().unwrap();
    for (path, host) in [(".claude/settings.json", "claude"), (".gemini/settings.json", "gemini")] {
        let settings = json(&project, path);
        for groups in settings["hooks"].as_object().unwrap().values() {
            let hook = &groups[0]["hooks"][0];
            assert_eq!(hook["command"], format!("{omx} hook --host {host}"));
        }
    }
    let line = json(&project, ".claude/settings.json")["statusLine"].clone();
    assert_eq!(line, json!({"type": "command", "command": format!("{omx} hud")}));
    for (path, words) in [
        (".claude/CLAUDE.md", "<!-- OMX:START -->"),
        (".codex/AGENTS.md", "<!-- OMX:START -->"),
        (".gemini/GEMINI.md", "<!-- OMX:START -->"),
        (".claude/agents/critic.md", "disallowedTools: Write, Edit, NotebookEdit"),
        (".codex/agents/critic.toml", "developer_instructions = "),
        (".gemini/agents/critic.md", "name: critic"),
        (".claude/skills/cancel/SKILL.md", "name: cancel"),
        (".codex/skills/cancel/SKILL.md", "name: cancel"),
        (".gemini/skills/cancel/SKILL.md", "name: cancel"),
    ] {
        assert!(home(&project, path).contains(words), "{path}");
    }
    // Nothing disables a host's own safeguards.
    for (path, (_, bytes)) in super::kit::tree(&project.home()) {
        let text = String::from_utf8_lossy(&bytes);
        for flag in ["bypass-hook-trust", "dangerously", "\"trust\": true", "trust_level"] {
            assert!(!text.contains(flag), "{}: {flag}", path.display());
        }
    }
}

#[test]
fn hosts_2_1_project_scope_keeps_the_persons_status_line() {
    let project = person();
    let root = project.root();
    let done = project.omx(&["setup", "--host", "all", "--scope", "project"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("start codex there once"), "{}", done.stdout);
    let local = project.read(".claude/settings.local.json");
    assert!(local.contains("hook --host claude") && !local.contains("statusLine"), "{local}");
    assert!(project.read(".mcp.json").contains("\"omx\""));
    assert!(project.read(".codex/hooks.json").contains("hook --host codex"));
    assert!(project.read("AGENTS.md").contains("OMX:START"));
    let key = format!("{}:stop:0:0", root.join(".codex/hooks.json").display());
    assert!(home(&project, ".codex/config.toml").contains(&key));
    // Nothing else of the home is touched.
    assert_eq!(home(&project, ".claude/settings.json"), super::kit::CLAUDE);
    assert_eq!(project.omx(&["uninstall", "--scope", "project"]).code, Some(0));
    assert_eq!(home(&project, ".codex/config.toml"), super::kit::CODEX);
    assert_eq!(project.run_git(&["status", "--porcelain"]).stdout, "");
}

/// `CLAUDE.md` is often a link to `AGENTS.md`: one file gets one block.
#[test]
fn hosts_2_1_one_file_under_two_names_gets_one_block() {
    let project = project();
    put(&project.root().join("AGENTS.md"), "# Rules\n");
    std::os::unix::fs::symlink("AGENTS.md", project.root().join("CLAUDE.md")).unwrap();
    let done = project.omx(&["setup", "--host", "all", "--scope", "project"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(project.read("AGENTS.md").matches("OMX:START").count(), 1);
    let again = project.omx(&["setup", "--host", "all", "--scope", "project"]);
    assert!(again.stdout.starts_with("nothing to do"), "{again:?}");
    assert_eq!(project.omx(&["uninstall", "--scope", "project"]).code, Some(0));
    assert_eq!(project.read("AGENTS.md"), "# Rules\n");
    assert!(project.root().join("CLAUDE.md").is_symlink());
}

/// A hook or a server that is already present in another form.
#[test]
fn hosts_2_2_unknown_shapes_are_left_and_named() {
    for (path, text) in [
        (".claude/settings.json", "{\"hooks\": \"off\"}"),
        (".claude/settings.json", "[]"),
        (".claude/settings.json", "{\"hooks\": {}, \"hooks\": {}}"),
        (".claude/settings.json", "\u{1}\u{0}"),
        (".codex/config.toml", "mcp_servers = 1\n"),
        (".codex/config.toml", "a = \n"),
        (".codex/hooks.json", "{\"hooks\": {\"Stop\": {}}}"),
        (".codex/AGENTS.md", "<!-- OMX:START -->\nno end\n"),
    ] {
        let project = project();
        put(&project.home().join(path), text);
        let host = if path.starts_with(".claude") { "claude" } else { "codex" };
        let done = project.omx(&["setup", "--host", host]);
        assert_eq!(done.code, Some(1), "{text}: {done:?}");
        assert!(done.stderr.contains(path), "{text}: {done:?}");
        assert_eq!(home(&project, path), text);
        assert_eq!(project.omx(&["uninstall"]).code, Some(0));
        assert_eq!(home(&project, path), text);
    }
}

#[test]
fn hosts_2_2_an_unusable_manifest_stops_everything() {
    for (text, words) in [
        ("{", "user.json: EOF"),
        ("{\"version\": 2}", "written by a newer version"),
        ("{\"version\": 1, \"files\": 7}", "user.json: "),
    ] {
        let project = person();
        let before = super::kit::times(&project.home().join(".claude"));
        put(&project.home().join(".local/state/omx/setup/user.json"), text);
        for command in ["setup", "uninstall"] {
            let refused = project.omx(&[command, "--host", "claude"]);
            assert_eq!(refused.code, Some(1), "{refused:?}");
            assert!(refused.stderr.contains(words), "{words}: {refused:?}");
        }
        assert_eq!(super::kit::times(&project.home().join(".claude")), before);
    }
}

#[test]
fn hosts_2_3_concurrent_setups_equal_one() {
    let project = person();
    let before = super::kit::tree(&project.home());
    let args = ["setup", "--host", "claude"];
    let start = |_| project.omx_command(&args).stdout(Stdio::null()).spawn().unwrap();
    let all: Vec<_> = (0..4).map(start).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    let again = project.omx(&args);
    assert!(again.stdout.starts_with("nothing to do"), "{again:?}");
    let groups = json(&project, ".claude/settings.json")["hooks"]["Stop"].as_array().unwrap().len();
    assert_eq!(groups, 2);
    assert_eq!(project.omx(&["uninstall"]).code, Some(0));
    assert_eq!(super::kit::tree(&project.home()), before);
}
