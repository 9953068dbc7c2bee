//! Claude Code: hooks and status line in its settings, the server in its own
//! file, or in the project's `.mcp.json` together with the person's consent.
//!
//! In a project omx writes the settings that are the person's own
//! (`settings.local.json`): a path of this machine is nobody else's business.

use std::path::Path;

use serde_json::{Value, json};

use super::common::{
    HookForm, HostSetup, NAME, guidance, hook_wishes, markdown_agent, names, server_wish,
    shell_word, skills,
};
use crate::hosts::{ApprovalForm, HomeVariable, HostHome, HostSpec, OutputForm};
use crate::role::ToolAccess;
use crate::setup::edit::FileFormat;
use crate::setup::fragment::{ConflictRule, DesiredFragment, FragmentSlot, Recognizer};
use crate::setup::paths::{SetupCatalog, SetupScope};
use crate::setup::planner::{SetupNoteKind, SetupPlanner};
use crate::setup::{json, text};
use omx_kernel::HostKind;

const HOST: HostKind = HostKind::Claude;

/// The row of this host.
pub(crate) static SPEC: HostSpec = HostSpec {
    kind: HOST,
    home: HostHome {
        folder: ".claude",
        variable: "CLAUDE_CONFIG_DIR",
        names: HomeVariable::Folder,
    },
    guidance_file: "CLAUDE.md",
    guidance: include_str!("../../../../../assets/templates/guidance-claude.md"),
    hook_files: &["settings.json", "settings.local.json"],
    events: &[
        ("SessionStart", 5),
        ("UserPromptSubmit", 5),
        ("PreToolUse", 5),
        ("PostToolUse", 5),
        ("PreCompact", 5),
        ("Stop", 5),
        ("StopFailure", 5),
        ("SessionEnd", 5),
    ],
    tool_event: "PreToolUse",
    hook_form: HookForm::Seconds,
    output: OutputForm { hold: "block", arguments: "updatedInput", approval: ApprovalForm::Absent },
    environment_file: Some("CLAUDE_ENV_FILE"),
    project_folder: Some("CLAUDE_PROJECT_DIR"),
    setup: HostSetup { set_up, after_removal: |_| {} },
};

fn set_up(planner: &mut SetupPlanner<'_>, catalog: &SetupCatalog) {
    let homes = planner.paths.homes.clone();
    let omx = planner.paths.omx.clone();
    let (folder, settings, servers, words) = match planner.paths.scope.clone() {
        SetupScope::User => {
            let words = homes.folder(HOST).join("CLAUDE.md");
            let file = homes.parent(HOST).join(".claude.json");
            (homes.folder(HOST).to_owned(), "settings.json", file, words)
        }
        SetupScope::Project(root) => {
            let servers = root.join(".mcp.json");
            (root.join(".claude"), "settings.local.json", servers, root.join("CLAUDE.md"))
        }
    };
    let settings = folder.join(settings);
    let mut wishes = hook_wishes(&omx, HOST);
    wishes.extend(status_line(planner, &omx, &folder, &settings));
    if let SetupScope::Project(_) = planner.paths.scope {
        wishes.push(DesiredFragment {
            slot: FragmentSlot::Element(names(&["enabledMcpjsonServers"])),
            value: Value::from(NAME),
            own: Recognizer::Recorded,
            rule: ConflictRule::Needed,
            what: "the consent to the server".to_owned(),
        });
    }
    planner.file(HOST, &settings, FileFormat::Json, &wishes);
    let server = server_wish(&omx, FragmentSlot::Member(names(&["mcpServers", NAME])));
    planner.file(HOST, &servers, FileFormat::Json, &[server]);
    if setting(planner, &settings, "disableAllHooks") == Some(Value::Bool(true)) {
        let words = "disableAllHooks is true: claude calls no hooks, omx's neither";
        planner.note(SetupNoteKind::Hint, &settings, words);
    }
    for role in &catalog.roles {
        let path = folder.join("agents").join(format!("{}.md", role.name));
        let more: &[&str] = match role.tools {
            ToolAccess::ReadOnly => &["disallowedTools: Write, Edit, NotebookEdit"],
            ToolAccess::Write => &[],
        };
        planner.whole(HOST, &path, &markdown_agent(role, more));
    }
    skills(planner, HOST, &folder.join("skills"), catalog);
    guidance(planner, HOST, &words, catalog);
}

/// omx's status line, unless the person has one: also one in settings that
/// this one would go before.
fn status_line(
    planner: &mut SetupPlanner<'_>,
    omx: &Path,
    folder: &Path,
    settings: &Path,
) -> Option<DesiredFragment> {
    let homes = planner.paths.homes.clone();
    let others = [folder.join("settings.json"), homes.folder(HOST).join("settings.json")];
    let others = others.iter().filter(|other| *other != settings);
    let is_theirs = |other: &&std::path::PathBuf| {
        let line = setting(planner, other, "statusLine");
        line.is_some_and(|line| !Recognizer::StatusLine.matches(&line))
    };
    if let Some(other) = others.clone().find(is_theirs).cloned() {
        planner.note(SetupNoteKind::Theirs, &other, "the status line is your own");
        return None;
    }
    Some(DesiredFragment {
        slot: FragmentSlot::Member(names(&["statusLine"])),
        value: json!({"type": "command", "command": format!("{} hud", shell_word(omx))}),
        own: Recognizer::StatusLine,
        rule: ConflictRule::IfNone,
        what: "the status line".to_owned(),
    })
}

fn setting(planner: &SetupPlanner<'_>, path: &Path, name: &str) -> Option<Value> {
    let text = planner.disk.read(path).ok().flatten()?;
    let (_, body) = text::TextForm::of(&text);
    let root = json::read(body).ok()?;
    Some(root.member(name)?.node.value.clone())
}
