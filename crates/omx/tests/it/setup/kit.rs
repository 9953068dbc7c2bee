//! A person with existing files, and what setup does to them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::Value;

use crate::project;

/// Claude's settings: a byte-order mark, `\r\n`, a foreign hook, an own status
/// line, no last line end.
pub const CLAUDE: &str = "\u{feff}{\r\n  \"model\": \"opus\",\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      {\r\n        \"hooks\": [ {\"type\": \"command\", \"command\": \"say done\"} ]\r\n      }\r\n    ],\r\n    \"PreToolUse\": []\r\n  },\r\n  \"statusLine\": {\"type\": \"command\", \"command\": \"my-line\"}\r\n}";

/// Claude's own file, on one line.
pub const CLAUDE_FILE: &str =
    r#"{"numStartups":41,"mcpServers":{"mine":{"command":"m"}},"projects":{}}"#;

/// Codex's configuration, with comments and no last line end.
pub const CODEX: &str = "# mine\nmodel = \"gpt-5.5\"   # the good one\nnotify = [\"say\"]\n\n[mcp_servers.mine]\ncommand = \"m\" # server\n\n[features]\nplugins = false";

/// Codex's hooks: a foreign one.
pub const HOOKS: &str = "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say stop\",\"timeout\":9}]}]}}\n";

/// Gemini's settings, with comments and commas at the end.
pub const GEMINI: &str = "// mine\n{\n\t\"theme\": \"dark\", // nice\n\t\"mcpServers\": {\n\t\t/* none yet */\n\t},\n}\n";

/// A project whose home is in use, in git.
pub fn person() -> TestProject {
    let project = project();
    project.git();
    for (path, text) in [
        (".claude/settings.json", CLAUDE),
        (".claude.json", CLAUDE_FILE),
        (".codex/config.toml", CODEX),
        (".codex/hooks.json", HOOKS),
        (".gemini/settings.json", GEMINI),
        ("dotfiles/AGENTS.md", "# Rules\r\nBe brief."),
        (".claude/agents/critic.md", "my critic\n"),
        (".claude/skills/cancel/SKILL.md", "my cancel\n"),
        (".gemini/GEMINI.md", ""),
    ] {
        put(&project.home().join(path), text);
    }
    symlink("../dotfiles/AGENTS.md", project.home().join(".codex/AGENTS.md")).unwrap();
    let mode = fs::Permissions::from_mode(0o640);
    fs::set_permissions(project.home().join(".codex/config.toml"), mode).unwrap();
    project
}

pub fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Everything below a folder: bytes and modes of files, targets of links.
pub fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    walk(folder, &mut |path, data| {
        let content = match data.file_type() {
            kind if kind.is_symlink() => {
                fs::read_link(path).unwrap().into_os_string().into_encoded_bytes()
            }
            kind if kind.is_dir() => Vec::new(),
            _ => fs::read(path).unwrap(),
        };
        let name = path.strip_prefix(folder).unwrap().to_owned();
        found.insert(name, (data.mode(), content));
    });
    found
}

/// When each file below a folder was last changed, and which file it is.
pub fn times(folder: &Path) -> BTreeMap<PathBuf, (i64, i64, u64)> {
    let mut found = BTreeMap::new();
    walk(folder, &mut |path, data| {
        found.insert(path.to_owned(), (data.mtime(), data.mtime_nsec(), data.ino()));
    });
    found
}

fn walk(folder: &Path, call: &mut dyn FnMut(&Path, &fs::Metadata)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == ".git") {
            continue;
        }
        let data = fs::symlink_metadata(&path).unwrap();
        call(&path, &data);
        if data.is_dir() {
            walk(&path, call);
        }
    }
}

/// The program under another path, as after a move or an update.
pub fn under(project: &TestProject, path: &str) -> PathBuf {
    let link = project.folder().join(path);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(project.binary(), &link).unwrap();
    link
}

/// Runs a program in the project.
pub fn run(project: &TestProject, program: &Path, args: &[&str]) -> CommandOutcome {
    project.command(program).args(args).output().expect("it runs").into()
}

/// A file of the home.
#[track_caller]
pub fn home(project: &TestProject, path: &str) -> String {
    let path = project.home().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads a JSON file of the home, without its byte-order mark.
#[track_caller]
pub fn json(project: &TestProject, path: &str) -> Value {
    serde_json::from_str(home(project, path).trim_start_matches('\u{feff}')).unwrap()
}

/// Changes a file of the home.
#[track_caller]
pub fn edit(project: &TestProject, path: &str, from: &str, to: &str) {
    let text = home(project, path);
    assert!(text.contains(from), "{path} has no {from:?}: {text}");
    fs::write(project.home().join(path), text.replacen(from, to, 1)).unwrap();
}
