//! Claude Code: hooks and status line in its settings, the server in `.claude.json` or,
//! with the person's consent, in the project's `.mcp.json`.
//!
//! In a project omx writes the person's own settings (`settings.local.json`), because
//! the path of a program on this machine must not be committed.

use std::path::Path;

use serde_json::{Value, json};

use super::common::{
    HookForm, HostSetup, add_guidance, add_skills, call, desired_hooks, desired_server,
    format_markdown_agent, names,
};
use crate::hosts::{ApprovalForm, FeedbackSupport, HomeVariable, HostHome, HostSpec, OutputForm};
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
    output: OutputForm {
        hold: "block",
        feedback: Some(FeedbackSupport {
            variable: "AI_AGENT",
            prefix: "claude-code_",
            since: [2, 1, 197],
        }),
        arguments: "updatedInput",
        approval: ApprovalForm::Absent,
    },
    interrupt_mark: Some("[Request interrupted by user"),
    environment_file: Some("CLAUDE_ENV_FILE"),
    project_folder: Some("CLAUDE_PROJECT_DIR"),
    setup: HostSetup { set_up, after_removal: |_| {} },
};

fn set_up(planner: &mut SetupPlanner<'_>, catalog: &SetupCatalog) {
    let homes = planner.paths.homes.clone();
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
    let mut desired = desired_hooks(planner.paths, HOST);
    desired.extend(status_line(planner, &folder, &settings));
    if let SetupScope::Project(_) = planner.paths.scope {
        desired.push(DesiredFragment {
            slot: FragmentSlot::Element(names(&["enabledMcpjsonServers"])),
            value: Value::from(planner.paths.dialect.name),
            own: Recognizer::Recorded,
            rule: ConflictRule::Required,
            what: "the consent to the server".to_owned(),
        });
    }
    planner.file(HOST, &settings, FileFormat::Json, &desired);
    let server = desired_server(
        planner.paths,
        FragmentSlot::Member(names(&["mcpServers", planner.paths.dialect.name])),
    );
    planner.file(HOST, &servers, FileFormat::Json, &[server]);
    if setting(planner, &settings, "disableAllHooks") == Some(Value::Bool(true)) {
        let name = planner.paths.dialect.name;
        let words = format!("disableAllHooks is true, so claude runs no hooks, including {name}'s");
        planner.note(SetupNoteKind::Hint, &settings, words);
    }
    for role in &catalog.roles {
        let path = folder.join("agents").join(format!("{}.md", role.name));
        let more: &[&str] = match role.tools {
            ToolAccess::ReadOnly => &["disallowedTools: Write, Edit, NotebookEdit"],
            ToolAccess::Write => &[],
        };
        planner.whole(HOST, &path, &format_markdown_agent(role, more));
    }
    add_skills(planner, HOST, &folder.join("skills"), catalog);
    add_guidance(planner, HOST, &words, catalog);
}

/// omx's status line, unless the person has one, in these settings or in settings
/// that these would override.
fn status_line(
    planner: &mut SetupPlanner<'_>,
    folder: &Path,
    settings: &Path,
) -> Option<DesiredFragment> {
    let homes = planner.paths.homes.clone();
    let dialect = planner.paths.dialect;
    let others = [folder.join("settings.json"), homes.folder(HOST).join("settings.json")];
    let others = others.iter().filter(|other| *other != settings);
    let is_theirs = |other: &&std::path::PathBuf| {
        let line = setting(planner, other, "statusLine");
        line.is_some_and(|line| !Recognizer::StatusLine(dialect).matches(&line))
    };
    if let Some(other) = others.clone().find(is_theirs).cloned() {
        planner.note(SetupNoteKind::Theirs, &other, "the status line is your own");
        return None;
    }
    Some(DesiredFragment {
        slot: FragmentSlot::Member(names(&["statusLine"])),
        value: json!({"type": "command", "command": format!("{} hud", call(planner.paths))}),
        own: Recognizer::StatusLine(dialect),
        rule: ConflictRule::OnlyIfMissing,
        what: "the status line".to_owned(),
    })
}

fn setting(planner: &SetupPlanner<'_>, path: &Path, name: &str) -> Option<Value> {
    let text = planner.disk.read(path).ok().flatten()?;
    let (_, body) = text::TextForm::split(&text);
    let root = json::read(body).ok()?;
    Some(root.member(name)?.node.value.clone())
}
