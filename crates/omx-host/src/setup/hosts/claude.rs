//! Claude Code: hooks and status line in its settings, the server in its own
//! file, or in the project's `.mcp.json` together with the person's consent.
//!
//! In a project omx writes the settings that are the person's own
//! (`settings.local.json`): a path of this machine is nobody else's business.

use std::path::Path;

use serde_json::{Value, json};

use super::common::{
    NAME, guidance, hook_wishes, markdown_agent, names, server_wish, shell_word, skills,
};
use crate::HostKind;
use crate::role::Tools;
use crate::setup::edit::Kind;
use crate::setup::ground::{Catalogue, Scope};
use crate::setup::part::{Own, Rule, Slot, Wish};
use crate::setup::planner::{NoteKind, Planner};
use crate::setup::{json, text};

const HOST: HostKind = HostKind::Claude;

pub(crate) fn set_up(planner: &mut Planner<'_>, catalogue: &Catalogue) {
    let homes = planner.ground.homes.clone();
    let omx = planner.ground.omx.clone();
    let (folder, settings, servers, words) = match planner.ground.scope.clone() {
        Scope::User => {
            let words = homes.claude.join("CLAUDE.md");
            (homes.claude.clone(), "settings.json", homes.claude_file.clone(), words)
        }
        Scope::Project(root) => {
            let servers = root.join(".mcp.json");
            (root.join(".claude"), "settings.local.json", servers, root.join("CLAUDE.md"))
        }
    };
    let settings = folder.join(settings);
    let mut wishes = hook_wishes(&omx, HOST);
    wishes.extend(status_line(planner, &omx, &folder, &settings));
    if let Scope::Project(_) = planner.ground.scope {
        wishes.push(Wish {
            slot: Slot::Element(names(&["enabledMcpjsonServers"])),
            value: Value::from(NAME),
            own: Own::Recorded,
            rule: Rule::Needed,
            what: "the consent to the server".to_owned(),
        });
    }
    planner.file(HOST, &settings, Kind::Json, &wishes);
    let server = server_wish(&omx, Slot::Member(names(&["mcpServers", NAME])));
    planner.file(HOST, &servers, Kind::Json, &[server]);
    if setting(planner, &settings, "disableAllHooks") == Some(Value::Bool(true)) {
        let words = "disableAllHooks is true: claude calls no hooks, omx's neither";
        planner.note(NoteKind::Hint, &settings, words);
    }
    for role in &catalogue.roles {
        let path = folder.join("agents").join(format!("{}.md", role.name));
        let more: &[&str] = match role.tools {
            Tools::ReadOnly => &["disallowedTools: Write, Edit, NotebookEdit"],
            Tools::Write => &[],
        };
        planner.whole(HOST, &path, &markdown_agent(role, more));
    }
    skills(planner, HOST, &folder.join("skills"), catalogue);
    guidance(planner, HOST, &words, catalogue);
}

/// omx's status line, unless the person has one: also one in settings that
/// this one would go before.
fn status_line(
    planner: &mut Planner<'_>,
    omx: &Path,
    folder: &Path,
    settings: &Path,
) -> Option<Wish> {
    let homes = planner.ground.homes.clone();
    let others = [folder.join("settings.json"), homes.claude.join("settings.json")];
    let others = others.iter().filter(|other| *other != settings);
    let is_theirs = |other: &&std::path::PathBuf| {
        let line = setting(planner, other, "statusLine");
        line.is_some_and(|line| !Own::StatusLine.recognises(&line))
    };
    if let Some(other) = others.clone().find(is_theirs).cloned() {
        planner.note(NoteKind::Theirs, &other, "the status line is your own");
        return None;
    }
    Some(Wish {
        slot: Slot::Member(names(&["statusLine"])),
        value: json!({"type": "command", "command": format!("{} hud", shell_word(omx))}),
        own: Own::StatusLine,
        rule: Rule::IfNone,
        what: "the status line".to_owned(),
    })
}

fn setting(planner: &Planner<'_>, path: &Path, name: &str) -> Option<Value> {
    let text = planner.disk.read(path).ok().flatten()?;
    let (_, body) = text::Form::of(&text);
    let root = json::read(body).ok()?;
    Some(root.member(name)?.node.value.clone())
}
