//! quality.md R13: setup preserves the person's files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use omx_testkit::strace::{Injection, inject, trace};
use omx_testkit::tree::copy;
use serde_json::json;

use super::kit::{CLAUDE, edit, home, json, person, put, run, times, tree, under};

const ALL: [&str; 3] = ["setup", "--host", "all"];

#[test]
fn r13_setup_setup_upgrade_uninstall_restores_the_original_bytes() {
    let project = person();
    put(&project.home().join(".gemini/settings.json"), "{ \"theme\": dark }\n");
    let (old_home, old_root) = (tree(&project.home()), tree(&project.root()));
    let old = under(&project, "old/omx");
    let new = under(&project, "new place/omx");

    // A broken file is named and left alone; the rest is set up.
    let first = run(&project, &old, &ALL);
    assert_eq!(first.code, Some(1), "{first:?}");
    let named =
        format!("error: did not change {}", project.home().join(".gemini/settings.json").display());
    assert!(first.stderr.starts_with(&named), "{first:?}");
    assert_eq!(home(&project, ".gemini/settings.json"), "{ \"theme\": dark }\n");
    assert_eq!(first.stderr.lines().count(), 1, "{first:?}");
    let claude = json(&project, ".claude/settings.json");
    assert_eq!(claude["hooks"]["Stop"][1]["hooks"][0]["timeout"], 5);
    assert!(home(&project, ".codex/config.toml").contains("[mcp_servers.omx]"));

    assert_eq!(run(&project, &old, &ALL).code, Some(1));
    assert_eq!(run(&project, &new, &ALL).code, Some(1));
    for path in [".claude/settings.json", ".claude.json", ".codex/hooks.json", ".codex/config.toml"]
    {
        let text = home(&project, path);
        assert!(text.contains("new place/omx") && !text.contains("old/omx"), "{path}: {text}");
    }
    let gone = run(&project, &new, &["uninstall"]);
    assert_eq!((gone.code, gone.stderr.as_str()), (Some(0), ""), "{gone:?}");
    assert_eq!(tree(&project.home()), old_home);
    assert_eq!(tree(&project.root()), old_root);
}

#[test]
fn hosts_2_2_the_persons_content_survives_setup_and_uninstall() {
    let project = person();
    let done = project.omx(&ALL);
    assert_eq!(done.code, Some(0), "{done:?}");
    // Foreign entries keep their place, and every byte around ours stays.
    let claude = home(&project, ".claude/settings.json");
    assert!(claude.starts_with('\u{feff}') && !claude.replace("\r\n", "").contains('\n'));
    assert!(claude.contains("\"hooks\": [ {\"type\": \"command\", \"command\": \"say done\"} ]"));
    let settings = json(&project, ".claude/settings.json");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(settings["statusLine"]["command"], "my-line");
    assert_eq!(json(&project, ".claude.json")["mcpServers"]["mine"], json!({"command": "m"}));
    let codex = home(&project, ".codex/config.toml");
    assert!(codex.starts_with(super::kit::CODEX), "{codex}");
    let gemini = home(&project, ".gemini/settings.json");
    assert!(
        gemini.starts_with("// mine\n{\n\t\"theme\": \"dark\"")
            && gemini.contains("/* none yet */")
    );
    // The link is a link, and what it leads to has the mode it had.
    assert!(project.home().join(".codex/AGENTS.md").is_symlink());
    let mode = fs::metadata(project.home().join(".codex/config.toml")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o640);
    // The person's own agents are preserved and named.
    assert_eq!(home(&project, ".claude/agents/critic.md"), "my critic\n");
    assert!(done.stdout.contains("critic.md: it is your own"), "{}", done.stdout);
    assert!(done.stdout.contains("the status line is your own"), "{}", done.stdout);
    // omx's own records are private.
    let manifest = project.home().join(".local/state/omx/setup/user.json");
    assert_eq!(fs::metadata(&manifest).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = fs::metadata(manifest.parent().unwrap()).unwrap().permissions();
    assert_eq!(folder.mode() & 0o777, 0o700);
}

#[test]
fn hosts_2_3_setup_twice_changes_nothing() {
    for scope in ["user", "project"] {
        let project = person();
        let args = ["setup", "--host", "all", "--scope", scope];
        assert_eq!(project.omx(&args).code, Some(0));
        let before = times(&project.folder());
        let again = project.omx(&args);
        assert_eq!(again.code, Some(0), "{again:?}");
        assert!(again.stdout.starts_with("nothing to do"), "{again:?}");
        assert_eq!(times(&project.folder()), before, "{scope}");
    }
}

#[test]
fn hosts_2_3_a_dry_run_prints_a_diff_and_writes_nothing() {
    let project = person();
    let before = times(&project.folder());
    let report = project.omx(&["setup", "--host", "codex", "--dry-run"]);
    assert_eq!((report.code, report.stderr.as_str()), (Some(0), ""), "{report:?}");
    assert_eq!(times(&project.folder()), before);
    let config = project.home().join(".codex/config.toml");
    let head = format!("--- {0}\n+++ {0}\n", config.display());
    assert!(report.stdout.contains(&head), "{}", report.stdout);
    assert!(report.stdout.contains("+[mcp_servers.omx]\n"), "{}", report.stdout);
    // The diff equals the change.
    project.omx(&["setup", "--host", "codex"]);
    for line in home(&project, ".codex/config.toml").lines().filter(|line| line.contains("omx")) {
        assert!(report.stdout.contains(&format!("+{line}\n")), "{line}");
    }
    let before = times(&project.folder());
    let report = project.omx(&["uninstall", "--dry-run"]);
    assert!(report.stdout.contains("\n-[mcp_servers.omx]\n"), "{}", report.stdout);
    assert_eq!(times(&project.folder()), before);
}

#[test]
fn hosts_2_3_a_part_the_person_edited_stays_and_is_named() {
    let project = person();
    assert_eq!(project.omx(&ALL).code, Some(0));
    edit(
        &project,
        ".codex/config.toml",
        "args = [\"mcp\"]",
        "args = [\"mcp\", \"--tools\", \"state\"]",
    );
    edit(&project, ".codex/agents/critic.toml", "name = ", "# softer\nname = ");
    let settings = home(&project, ".claude/settings.json");
    let at = settings.find("hook --host claude").unwrap();
    let timeout = at + settings[at..].find("\"timeout\": 5").unwrap();
    let edited = format!("{}\"timeout\": 50{}", &settings[..timeout], &settings[timeout + 12..]);
    fs::write(project.home().join(".claude/settings.json"), edited).unwrap();

    // Neither setup nor an update touches it.
    let moved = under(&project, "moved/omx");
    let before = hosts(&project);
    let again = project.omx(&ALL);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(hosts(&project), before);
    for words in ["MCP server named omx has changed", "hook for", "critic.toml: it has changed"] {
        assert!(again.stdout.contains(words), "{words}: {}", again.stdout);
    }
    assert_eq!(run(&project, &moved, &ALL).code, Some(0));
    assert!(home(&project, ".codex/config.toml").contains("--tools"));

    let gone = project.omx(&["uninstall"]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    for words in [
        "\"mcp_servers\".\"omx\" has changed",
        "critic.toml: it has changed",
        "settings.json: the entry \"hooks\".\"Stop\" has changed",
    ] {
        assert!(gone.stdout.contains(words), "{words}: {}", gone.stdout);
    }
    assert!(home(&project, ".codex/config.toml").contains("[mcp_servers.omx]"));
    assert!(!home(&project, ".codex/config.toml").contains("trusted_hash"));
    assert!(home(&project, ".codex/agents/critic.toml").starts_with("# softer"));
    let hooks = json(&project, ".claude/settings.json")["hooks"].clone();
    let left =
        hooks.as_object().unwrap().values().filter(|groups| groups.to_string().contains("omx"));
    assert_eq!(left.count(), 1, "{hooks:#}");
    assert_eq!(hooks["Stop"][0]["hooks"][0]["command"], "say done");
}

/// The whole home except omx's own records.
fn hosts(project: &omx_testkit::TestProject) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut files = tree(&project.home());
    files.retain(|path, _| !path.starts_with(".local"));
    files
}

#[test]
fn hosts_2_3_content_added_meanwhile_survives_byte_for_byte() {
    let project = person();
    assert_eq!(project.omx(&ALL).code, Some(0));
    edit(&project, ".claude/settings.json", "\"model\": \"opus\"", "\"model\":   \"sonnet\"");
    edit(&project, ".codex/config.toml", "[features]", "[features]\nnew = true");
    edit(&project, ".codex/config.toml", "[mcp_servers.omx]", "# about omx\n[mcp_servers.omx]");
    edit(&project, "dotfiles/AGENTS.md", "Be brief.", "Be very brief.");
    assert_eq!(project.omx(&["uninstall"]).code, Some(0));
    let wanted = CLAUDE.replace("\"model\": \"opus\"", "\"model\":   \"sonnet\"");
    assert_eq!(home(&project, ".claude/settings.json"), wanted);
    let codex = home(&project, ".codex/config.toml");
    let wanted = super::kit::CODEX.replace("[features]", "[features]\nnew = true");
    assert!(codex.starts_with(&wanted) && codex.contains("# about omx"), "{codex}");
    assert!(!codex.contains("[mcp_servers.omx]") && !codex.contains("trusted_hash"), "{codex}");
    assert_eq!(home(&project, "dotfiles/AGENTS.md"), "# Rules\r\nBe very brief.");
}

/// A host rewrites its file in its own format: still only omx's parts are removed.
#[test]
fn hosts_2_3_a_file_rewritten_by_its_host_loses_only_omx_parts() {
    let project = person();
    assert_eq!(project.omx(&ALL).code, Some(0));
    for path in [".claude/settings.json", ".claude.json", ".codex/hooks.json"] {
        let value = json(&project, path);
        fs::write(project.home().join(path), serde_json::to_string_pretty(&value).unwrap())
            .unwrap();
    }
    let again = project.omx(&ALL);
    assert!(again.stdout.starts_with("nothing to do"), "{again:?}");
    assert_eq!(project.omx(&["uninstall"]).code, Some(0));
    let plain = |text: &str| -> serde_json::Value {
        serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
    };
    assert_eq!(json(&project, ".claude/settings.json"), plain(CLAUDE));
    assert_eq!(json(&project, ".claude.json"), plain(super::kit::CLAUDE_FILE));
    assert_eq!(json(&project, ".codex/hooks.json"), plain(super::kit::HOOKS));
}

#[test]
fn hosts_2_2_a_dangling_link_gets_its_target_created() {
    let project = crate::project();
    fs::create_dir_all(project.home().join(".codex")).unwrap();
    fs::create_dir_all(project.home().join("dot")).unwrap();
    symlink("../dot/config.toml", project.home().join(".codex/config.toml")).unwrap();
    assert_eq!(project.omx(&["setup", "--host", "codex"]).code, Some(0));
    assert!(project.home().join(".codex/config.toml").is_symlink());
    assert!(home(&project, "dot/config.toml").contains("[mcp_servers.omx]"));
}

#[test]
fn hosts_2_1_a_foreign_server_of_the_same_name_is_left_and_named() {
    let project = crate::project();
    put(
        &project.home().join(".claude.json"),
        "{\"mcpServers\":{\"omx\":{\"command\":\"theirs\"}}}",
    );
    let done = project.omx(&["setup", "--host", "claude"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stderr.contains("an MCP server named omx exists and was not written by omx"));
    assert_eq!(
        home(&project, ".claude.json"),
        "{\"mcpServers\":{\"omx\":{\"command\":\"theirs\"}}}"
    );
    assert!(home(&project, ".claude/settings.json").contains("hook --host claude"));
}

/// Without the manifest, omx recognizes what it wrote by its form.
#[test]
fn hosts_2_3_without_a_manifest_nothing_is_duplicated() {
    let project = person();
    let old = under(&project, "old/omx");
    assert_eq!(run(&project, &old, &ALL).code, Some(0));
    fs::remove_dir_all(project.home().join(".local")).unwrap();
    assert_eq!(project.omx(&ALL).code, Some(0));
    for path in [".claude/settings.json", ".codex/hooks.json", ".codex/config.toml"] {
        assert!(!home(&project, path).contains("old/omx"), "{path}");
    }
    let groups = json(&project, ".claude/settings.json")["hooks"]["Stop"].as_array().unwrap().len();
    assert_eq!(groups, 2);
    assert_eq!(project.omx(&["uninstall"]).code, Some(0));
    for path in [".claude/settings.json", ".codex/hooks.json", ".codex/config.toml", ".claude.json"]
    {
        assert!(!home(&project, path).contains("omx"), "{path}: {}", home(&project, path));
    }
}

/// hosts.md 2.3, quality.md R1: killed anywhere, setup repeated finishes, and
/// uninstall restores.
#[test]
fn r13_setup_killed_anywhere_can_be_repeated_and_undone() {
    // A copy has files where there were links.
    let template = copy(&person());
    let rehearsal = copy(&template);
    let args = ["setup", "--host", "claude"];
    let (outcome, calls) = trace(&rehearsal, &args);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let before = tree(&template.home());
    let wanted = tree(&rehearsal.home()).into_keys().collect::<Vec<_>>();
    let points: Vec<_> = calls.iter().filter(|call| call.is_mutating()).collect();
    assert!(points.len() > 100, "{}", points.len());
    // Each of the first files, but only some of the many similar ones.
    let chosen = points.into_iter().enumerate().filter(|(at, _)| *at < 40 || at % 17 == 0);
    let chosen: Vec<_> = chosen.map(|(_, call)| call.clone()).collect();
    omx_testkit::in_parallel(2, &chosen, |call| {
        let at = format!("{} {}: {}", call.name, call.nth, call.text);
        let killed = || {
            let project = copy(&template);
            let killed = inject(&project, &args, call, Injection::Kill);
            assert!(killed.code.is_none(), "{at}: {killed:?}");
            project
        };
        // Undone from here, or finished and then undone.
        let project = killed();
        assert_eq!(project.omx(&["uninstall"]).code, Some(0), "{at}");
        assert_same(&tree(&project.home()), &before, &at);
        let project = killed();
        let done = project.omx(&args);
        assert_eq!(done.code, Some(0), "{at}: {done:?}");
        assert_eq!(tree(&project.home()).into_keys().collect::<Vec<_>>(), wanted, "{at}");
        assert_eq!(project.omx(&["uninstall"]).code, Some(0), "{at}");
        assert_same(&tree(&project.home()), &before, &at);
    });
}

/// Equal, except for empty folders that a kill left before the manifest was written.
#[track_caller]
fn assert_same(
    found: &BTreeMap<PathBuf, (u32, Vec<u8>)>,
    wanted: &BTreeMap<PathBuf, (u32, Vec<u8>)>,
    at: &str,
) {
    let mut found = found.clone();
    found.retain(|path, _| wanted.contains_key(path) || !path.starts_with(".local"));
    assert_eq!(&found, wanted, "{at}");
}
