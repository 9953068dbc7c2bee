//! configuration.md 1 and 3: layers, the origin of a value, errors in files, and
//! which commands they stop. The keys have their own file.

use std::fs;
use std::path::PathBuf;

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::{Value, json};

use crate::project;

const JSON_FILE: &str = ".omx-config.json";
const TREE_FILE: &str = ".omx/config.toml";

fn user_file(project: &TestProject) -> PathBuf {
    project.home().join(".config/omx/config.toml")
}

fn write_user(project: &TestProject, text: impl AsRef<[u8]>) -> PathBuf {
    let path = user_file(project);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Writes a file of the project that the person trusts.
fn write_trusted(project: &TestProject, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = project.write(name, text);
    assert_eq!(project.omx(&["trust", "--yes"]).code, Some(0));
    path
}

fn list(project: &TestProject, args: &[&str]) -> Value {
    project.omx(&[&["config", "list", "--json"], args].concat()).ok()
}

fn origin(project: &TestProject, key: &str, args: &[&str], store: &str) -> (Value, String) {
    let args = [&["config", "get", key, "--show-origin", "--json"], args].concat();
    let answer = project.omx_env(&args, &[("OMX_STORE", store)]).ok();
    (answer["value"].clone(), answer["origin"].as_str().unwrap().to_owned())
}

#[test]
fn configuration_1_later_layers_win_and_show_their_origin() {
    let project = project();
    let key = "team.store";
    let address = |name: &str| format!("postgres://{name}/db");
    let user = write_user(&project, format!("# mine\n\nteam.store = \"{}\"\n", address("user")));
    let at = |path: &std::path::Path, line: u32| format!("{}:{line}", path.display());
    assert_eq!(origin(&project, key, &[], ""), (json!(address("user")), at(&user, 3)));
    let text = format!("{{\n  // ours\n  \"team\": {{ \"store\": \"{}\" }}\n}}", address("json"));
    let path = write_trusted(&project, JSON_FILE, text);
    assert_eq!(origin(&project, key, &[], ""), (json!(address("json")), at(&path, 3)));
    let text = format!("[team]\nstore = \"{}\"\n", address("tree"));
    let path = write_trusted(&project, TREE_FILE, text);
    assert_eq!(origin(&project, key, &[], ""), (json!(address("tree")), at(&path, 2)));
    let variable = address("variable");
    let found = origin(&project, key, &[], &variable);
    assert_eq!(found, (json!(variable), "environment OMX_STORE".to_owned()));
    let flag = format!("team.store={}", address("flag"));
    let found = origin(&project, key, &["-c", &flag], &variable);
    assert_eq!(found, (json!(address("flag")), "flag".to_owned()));
    let found = origin(&project, "keywords", &[], &variable);
    assert_eq!(found, (json!("explicit"), "default".to_owned()));
}

#[test]
fn configuration_1_layers_are_merged_key_by_key() {
    let project = project();
    write_user(&project, "agent = \"codex\"\n[team]\nmaxAgents = 3\n");
    let text = r#"{"team":{"monitorIntervalMs":10},"agent":"claude"}"#;
    write_trusted(&project, JSON_FILE, text);
    let listed = list(&project, &["-c", "budget.usd=1.50"]);
    assert_eq!(listed["agent"], "claude");
    assert_eq!(listed["team.maxAgents"], 3);
    assert_eq!(listed["team.monitorIntervalMs"], 10);
    assert_eq!(listed["budget.usd"], json!(1.5));
    let text = project.omx(&["config", "list", "--show-origin"]).stdout;
    let user = user_file(&project);
    assert!(text.contains(&format!("team.maxAgents = 3  ({}:3)\n", user.display())), "{text}");
    assert!(text.contains("allow = commands  (default)\n"), "{text}");
    assert!(project.omx(&["config", "list"]).stdout.contains("\nteam.maxAgents = 3\n"));
    assert_eq!(project.omx(&["config", "get", "agent"]).stdout, "claude\n");
}

#[test]
fn configuration_1_the_users_file_follows_xdg() {
    let project = project();
    let xdg = project.folder().join("xdg");
    fs::create_dir_all(xdg.join("omx")).unwrap();
    fs::write(xdg.join("omx/config.toml"), "agent = \"gemini\"\n").unwrap();
    write_user(&project, "agent = \"codex\"\n");
    let get = |xdg: &str| {
        let outcome = project.omx_env(&["config", "get", "agent"], &[("XDG_CONFIG_HOME", xdg)]);
        outcome.stdout.trim().to_owned()
    };
    assert_eq!(get(xdg.to_str().unwrap()), "gemini");
    for none in ["", "relative"] {
        assert_eq!(get(none), "codex", "XDG wants an absolute path: {none:?}");
    }
}

#[test]
fn configuration_1_path_names_every_file_in_its_order() {
    let project = project();
    project.write(TREE_FILE, "");
    let answer = project.omx(&["config", "path", "--json"]).ok();
    let file = |path: PathBuf, layer: &str, exists: bool| json!({"path":path.to_str().unwrap(),"layer":layer,"exists":exists});
    let [json_file, tree_file] = [JSON_FILE, TREE_FILE].map(|name| project.root().join(name));
    let files = [
        file(user_file(&project), "user", false),
        file(json_file.clone(), "project", false),
        file(tree_file, "project", true),
    ];
    assert_eq!(answer, json!({ "files": files }));
    let text = project.omx(&["config", "path"]).stdout;
    assert!(text.contains(&format!("{}  (missing)\n", json_file.display())), "{text}");
}

/// `(text, line, word that must be in the message, nearest known key)`
const BROKEN_TOML: &[(&str, u32, &str, &str)] = &[
    ("agent = \"codex\"\n# x\nkeyword = \"off\"\n", 3, "keyword", "keywords"),
    ("[team]\n\nmaxAgent = 3\n", 3, "team.maxAgent", "team.maxAgents"),
    ("team.maxagents = 3\n", 1, "team.maxagents", "team.maxAgents"),
    ("\n[tiers.codx]\nlow = \"m\"\n", 2, "tiers.codx", "tiers.codex"),
    ("[limits.max_iterations]\nralf = 3\n", 2, "ralf", "limits.max_iterations.ralph"),
    ("[team]\nmaxAgents = \"3\"\n", 2, "team.maxAgents", "integer"),
    ("team = { maxAgents = 0 }\n", 1, "team.maxAgents", "integer"),
    ("agent = 3\n", 1, "agent", "codex"),
    ("\nagent = \"codx\"\n", 2, "agent", "codex"),
    ("[agent]\nname = 1\n", 1, "agent", "codex"),
    ("team = 3\n", 1, "team", "team."),
    ("budget.usd = -1\n", 1, "budget.usd", "number"),
    ("budget.usd = inf\n", 1, "budget.usd", "number"),
    ("budget.usd = nan\n", 1, "budget.usd", "number"),
    ("budget.time = 3\n", 1, "budget.time", "span of time"),
    ("agent = \"codex\"\nagent = \"codex\"\n", 2, "duplicate key", ""),
    ("\n\nagent = \n", 3, "", ""),
];

const BROKEN_JSON: &[(&str, u32, &str, &str)] = &[
    ("{\n  // c\n  \"keyword\": \"off\"\n}", 3, "keyword", "keywords"),
    ("{\n\"team\": {\n\"maxAgent\": 3 } }", 3, "team.maxAgent", "team.maxAgents"),
    ("{ /* a\nb */ \"agent\":\n 3}", 2, "agent", "codex"),
    ("{\"agent\": {\"a\":1}}", 1, "agent", "codex"),
    ("{\"agent\": null}", 1, "agent", "codex"),
    ("{\"team\": 3}", 1, "team", "team."),
    ("{\n\"team\": {\"maxAgents\": 1.5}}", 2, "team.maxAgents", "integer"),
    ("{\"budget\": {\"usd\": 1e400}}", 1, "budget.usd", "number"),
    ("\n[1]", 1, "object", ""),
    ("{\n\"agent\": \"codex\"\n\n \"keywords\": \"off\"}", 2, "comma", ""),
    ("{'agent': 'codex'}", 1, "", ""),
];

#[test]
fn configuration_1_a_broken_file_is_named_with_line_and_nearest_key() {
    for (file, table) in [(TREE_FILE, BROKEN_TOML), (JSON_FILE, BROKEN_JSON)] {
        for (text, line, word, near) in table {
            let project = project();
            let path = project.write(file, text);
            let outcome = project.omx(&["config", "list", "--json"]);
            assert_eq!(outcome.refused(), "invalid_input", "{text}");
            let message = outcome.json()["error"].as_str().unwrap().to_owned();
            let place = format!("{}:{line}: ", path.display());
            assert!(message.starts_with(&place), "{text:?}: {message}");
            assert!(message.contains(word) && message.contains(near), "{text:?}: {message}");
            let outcome = project.omx(&["config", "get", "allow"]);
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
            assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
        }
    }
}

#[test]
fn configuration_1_json_may_have_comments_and_a_schema() {
    let project = project();
    let text = "// head\n{\n  \"$schema\": \"x\", /* in */ \"agent\": \"codex\", // tail\n}\n";
    write_trusted(&project, JSON_FILE, text);
    assert_eq!(list(&project, &[])["agent"], "codex");
    for empty in ["", "// nothing\n", "{}"] {
        project.write(JSON_FILE, empty);
        assert_eq!(list(&project, &[])["allow"], "commands", "{empty:?}");
    }
}

#[test]
fn configuration_1_a_broken_file_stops_a_write_but_never_a_cancel() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    project.write(JSON_FILE, "{\"agnet\":\"codex\"}");
    let before = project.kept();
    let outcome = project.state_op("write", &json!({"mode":"ralph","iteration":1}));
    assert_eq!(outcome.refused(), "invalid_input");
    assert!(outcome.json()["error"].as_str().unwrap().contains(".omx-config.json:1: "));
    assert_eq!(project.kept(), before);
    project.omx(&["state", "read", "--mode", "ralph", "--json"]).ok();
    let answer = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(answer["cancelled"][0]["mode"], "ralph");
    assert_eq!(project.omx(&["cancel", "--force"]).code, Some(0));
}

#[test]
fn configuration_1_a_pipe_a_folder_or_a_link_is_not_read() {
    for (what, code) in
        [("pipe", "invalid_input"), ("folder", "invalid_input"), ("link", "unsafe_path")]
    {
        let project = project();
        let secret = project.folder().join("secret");
        fs::write(&secret, "agent = \"codex\"\n").unwrap();
        let path = project.root().join(TREE_FILE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match what {
            "pipe" => assert!(project.command("mkfifo").arg(&path).status().unwrap().success()),
            "folder" => fs::create_dir(&path).unwrap(),
            _ => std::os::unix::fs::symlink(&secret, &path).unwrap(),
        }
        for args in [
            &["config", "list", "--json"][..],
            &["state", "write", "--json", "--input", r#"{"mode":"ralph","active":true}"#],
        ] {
            let outcome = project.omx_promptly(args);
            assert_eq!(outcome.refused(), code, "{what}");
            assert!(outcome.json()["error"].as_str().unwrap().contains(TREE_FILE), "{what}");
        }
        let outcome = project.omx_promptly(&["config", "set", "--project", "agent", "claude"]);
        assert_eq!(outcome.code, Some(1), "{what}");
        assert_eq!(fs::read_to_string(&secret).unwrap(), "agent = \"codex\"\n");
    }
}

#[test]
fn configuration_1_flags_and_keys_on_the_command_line_are_checked_too() {
    let project = project();
    for (args, word) in [
        (&["-c", "agnet=codex", "config", "list"][..], "agent"),
        (&["-c", "agent", "config", "list"], "KEY=VALUE"),
        (&["--config", "team.maxAgents=many", "config", "list"], "integer"),
        (&["config", "get", "agnet"], "agent"),
        (&["config", "get", "agent"], "not set"),
        (&["config", "set", "agnet", "codex"], "agent"),
        (&["config", "set", "team.maxAgents", "0"], "integer"),
        (&["config", "set", "--project", "keywords", "on"], "explicit"),
    ] {
        let outcome = project.omx(args);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{args:?}");
        assert!(outcome.stderr.contains(word), "{args:?}: {outcome:?}");
    }
    let outcome = project.omx_env(&["config", "list"], &[("OMX_STORE", "mysql://x")]);
    assert!(outcome.stderr.contains("OMX_STORE: team.store must be"), "{outcome:?}");
    assert!(!user_file(&project).exists() && !project.root().join(".omx").exists());
}

#[test]
fn configuration_1_set_changes_one_value_and_no_other_byte() {
    let cases = [
        (
            "\u{feff}# head\r\n\r\nagent   =  'codex'  # c\r\n[team] # t\r\n  maxAgents=3\t# d\r\n# end",
            "\r\n",
        ),
        ("# head\n\nagent   =  'codex'  # c\n[team] # t\n  maxAgents=3\t# d\n# end\n", "\n"),
        ("# é\r\n\nagent   =  'codex'  # c\n[team] # t\n  maxAgents=3\t# d", "\r\n"),
    ];
    for (text, _) in cases {
        let project = project();
        let path = write_user(&project, text);
        let set = |key: &str, value: &str| {
            let outcome = project.omx(&["config", "set", key, value]);
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
            fs::read_to_string(&path).unwrap()
        };
        let expected = text.replace("'codex'", "\"claude\"");
        assert_eq!(set("agent", "claude"), expected);
        let expected = expected.replace("maxAgents=3", "maxAgents=5");
        assert_eq!(set("team.maxAgents", "5"), expected);
    }
    for (text, end) in cases {
        let project = project();
        let path = write_user(&project, text);
        for (key, value) in
            [("keywords", "off"), ("team.store", "postgres://h/d"), ("hud.preset", "full")]
        {
            let before = fs::read_to_string(&path).unwrap();
            assert_eq!(project.omx(&["config", "set", key, value]).code, Some(0));
            let after = fs::read_to_string(&path).unwrap();
            let start = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
            let tail = &before.as_bytes()[start..];
            assert!(after.as_bytes().ends_with(tail), "only added: {before:?} {after:?}");
            let added = &after[start..after.len() - tail.len()];
            assert!(end == "\n" || !added.replace("\r\n", "").contains('\n'), "{added:?}");
            assert_eq!(list(&project, &[])[key], value);
        }
    }
}

#[test]
fn configuration_1_set_creates_the_file_and_leaves_a_broken_one_alone() {
    let project = project();
    project.git();
    assert_eq!(project.omx(&["config", "set", "agent", "codex"]).code, Some(0));
    assert_eq!(fs::read_to_string(user_file(&project)).unwrap(), "agent = \"codex\"\n");
    let outcome = project.omx(&["config", "set", "--project", "limits.max_iterations.ralph", "7"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(project.read(TREE_FILE), "[limits.max_iterations]\nralph = 7\n");
    assert_eq!(project.run_git(&["status", "--porcelain"]).stdout, "");
    let broken = "agent = \n# mine\n";
    write_user(&project, broken);
    let outcome = project.omx(&["config", "set", "agent", "claude"]);
    assert!(outcome.code == Some(1) && outcome.stderr.contains("config.toml:1: "), "{outcome:?}");
    assert_eq!(fs::read_to_string(user_file(&project)).unwrap(), broken);
}

#[test]
fn configuration_1_set_reports_when_a_later_layer_wins() {
    let project = project();
    write_trusted(&project, JSON_FILE, "{\"agent\":\"gemini\"}");
    let text = project.omx(&["config", "set", "agent", "codex"]).stdout;
    assert!(
        text.contains("Overridden by: gemini") && text.contains(".omx-config.json:1"),
        "{text}"
    );
}

#[test]
fn configuration_3_the_environment_has_these_names_and_no_others() {
    let project = project();
    let file = project.folder().join("elsewhere.toml");
    fs::write(&file, "agent = \"rehearsal\"\n").unwrap();
    write_user(&project, "agent = \"codex\"\n");
    let config = file.to_str().unwrap();
    let get =
        |variables: &[(&str, &str)]| project.omx_env(&["config", "get", "agent"], variables).stdout;
    assert_eq!(get(&[("OMX_CONFIG", config)]), "rehearsal\n", "instead of the user's file");
    assert_eq!(get(&[("OMX_CONFIG", "")]), "codex\n");
    let plain = list(&project, &[]);
    let others = [
        ("OMX_AGENT", "gemini"),
        ("OMX_KEYWORDS", "off"),
        ("OMX_TEAM_MAXAGENTS", "1"),
        ("OMX_CHECK", "x"),
        ("OMX_ALLOW", "all"),
        ("OMC_STORE", "postgres://h/d"),
        ("OMC_CONFIG", config),
        ("OMX_LOG", "trace"),
        ("OMX_WORKER", "1"),
        ("OMX_TEAM_TOKEN", "t"),
    ];
    assert_eq!(project.omx_env(&["config", "list", "--json"], &others).ok(), plain);
}

#[test]
fn configuration_1_each_dialect_has_its_own_files() {
    let project = project();
    let folder = project.home().join(".config/omc");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "agent = \"claude\"\n").unwrap();
    write_user(&project, "agent = \"codex\"\n");
    project.write(".omc-config.json", "{\"keywords\":\"off\"}");
    project.write(".omc/config.toml", "allow = \"edits\"\n");
    let omc = |args: &[&str], variables: &[(&str, &str)]| -> CommandOutcome {
        project.omx_env(&[&["--dialect", "omc"], args].concat(), variables)
    };
    let listed = omc(&["config", "list", "--json"], &[]).ok();
    assert_eq!(
        [&listed["agent"], &listed["keywords"], &listed["allow"]],
        ["claude", "off", "edits"]
    );
    assert_eq!(list(&project, &[])["keywords"], "explicit");
    let store = [("OMX_STORE", "postgres://h/d")];
    let outcome = omc(&["config", "get", "team.store", "--show-origin"], &store);
    assert_eq!(outcome.stdout, "postgres://h/d  (environment OMX_STORE)\n", "not one of the four");
    assert_eq!(omc(&["config", "set", "--project", "agent", "gemini"], &[]).code, Some(0));
    assert_eq!(project.read(".omc/config.toml"), "allow = \"edits\"\nagent = \"gemini\"\n");
    assert!(!project.root().join(".omx").exists());
}
