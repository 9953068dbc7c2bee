//! What the setups of all hosts share.

use std::path::Path;

use serde_json::{Value, json};

use crate::HostKind;
use crate::hosts::host_spec;
use crate::role::Role;
use crate::setup::block;
use crate::setup::edit::FileFormat;
use crate::setup::fragment::{ConflictRule, DesiredFragment, FragmentSlot, Recognizer};
use crate::setup::paths::SetupCatalog;
use crate::setup::planner::SetupPlanner;

/// The name of omx's server, and of its hooks if the host names them.
pub(super) const NAME: &str = "omx";

/// How setup changes a host's files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostSetup {
    /// Adds omx's parts.
    pub set_up: fn(&mut SetupPlanner<'_>, &SetupCatalog),
    /// Repairs what depends on the parts that uninstall took out.
    pub after_removal: fn(&mut SetupPlanner<'_>),
}

/// How a host writes a hook entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookForm {
    /// With its time limit in seconds.
    Seconds,
    /// With a name, and its time limit in milliseconds.
    NamedMilliseconds,
}

/// The command line of omx's hook, as a shell reads it.
pub fn hook_command(omx: &Path, host: HostKind) -> String {
    format!("{} hook --host {}", shell_word(omx), host.as_str())
}

/// Quotes a path for a shell.
pub(super) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// omx's hooks, one group for each event.
pub(super) fn desired_hooks(omx: &Path, host: HostKind) -> Vec<DesiredFragment> {
    let command = hook_command(omx, host);
    let spec = host_spec(host);
    let desired = |(event, seconds): &(&str, u64)| DesiredFragment {
        slot: FragmentSlot::Element(vec!["hooks".to_owned(), (*event).to_owned()]),
        value: json!({"hooks": [hook_entry(spec.hook_form, &command, *seconds)]}),
        own: Recognizer::Hook,
        rule: ConflictRule::Required,
        what: format!("omx's hook for {event}"),
    };
    spec.events.iter().map(desired).collect()
}

fn hook_entry(form: HookForm, command: &str, seconds: u64) -> Value {
    match form {
        HookForm::Seconds => json!({"type": "command", "command": command, "timeout": seconds}),
        HookForm::NamedMilliseconds => {
            json!({"type": "command", "name": NAME, "command": command, "timeout": seconds * 1000})
        }
    }
}

/// omx's server in a list of servers.
pub(super) fn desired_server(omx: &Path, slot: FragmentSlot) -> DesiredFragment {
    DesiredFragment {
        slot,
        value: json!({"command": omx.to_string_lossy(), "args": ["mcp"]}),
        own: Recognizer::Server,
        rule: ConflictRule::Required,
        what: "an MCP server named omx".to_owned(),
    }
}

/// A path of names.
pub(super) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Adds the marked block of guidance.
pub(super) fn add_guidance(
    planner: &mut SetupPlanner<'_>,
    host: HostKind,
    path: &Path,
    catalog: &SetupCatalog,
) {
    let Some(text) = catalog.guidance(host) else { return };
    // A file that two hosts share needs only one block.
    if planner.is_shared(host, path) {
        return;
    }
    let desired = DesiredFragment {
        slot: FragmentSlot::Block,
        value: Value::String(block::normalize(text)),
        own: Recognizer::Recorded,
        rule: ConflictRule::Required,
        what: "a block between omx's marks".to_owned(),
    };
    planner.file(host, path, FileFormat::Markdown, &[desired]);
}

/// Writes skills, each in its folder.
pub(super) fn add_skills(
    planner: &mut SetupPlanner<'_>,
    host: HostKind,
    folder: &Path,
    catalog: &SetupCatalog,
) {
    for skill in &catalog.skills {
        let path = folder.join(&skill.name).join("SKILL.md");
        planner.whole(host, &path, &skill.text);
    }
}

/// Formats a role as a Markdown file with front matter, to which `more` lines are added.
pub(super) fn format_markdown_agent(role: &Role, more: &[&str]) -> String {
    let description = Value::from(role.description.as_str());
    let mut head = format!("---\nname: {}\ndescription: {description}\n", role.name);
    for line in more {
        head.push_str(line);
        head.push('\n');
    }
    format!("{head}---\n\n{}\n", role.prompt)
}
