//! What the setups of all hosts share.

use std::path::Path;

use serde_json::{Value, json};

use crate::HostKind;
use crate::hosts::host_spec;
use crate::role::Role;
use crate::setup::block::{self, BlockMarks};
use crate::setup::edit::FileFormat;
use crate::setup::fragment::{ConflictRule, DesiredFragment, FragmentSlot, Recognizer};
use crate::setup::paths::{SetupCatalog, SetupPaths};
use crate::setup::planner::SetupPlanner;

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
pub fn hook_command(paths: &SetupPaths, host: HostKind) -> String {
    format!("{} hook --host {}", call(paths), host.as_str())
}

/// The program that the hosts call, as a shell reads it.
pub(super) fn call(paths: &SetupPaths) -> String {
    let words = paths.dialect_arguments();
    [shell_word(&paths.omx)]
        .into_iter()
        .chain(words.into_iter().map(str::to_owned))
        .collect::<Vec<_>>()
        .join(" ")
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
pub(super) fn desired_hooks(paths: &SetupPaths, host: HostKind) -> Vec<DesiredFragment> {
    let command = hook_command(paths, host);
    let name = paths.dialect.name;
    let spec = host_spec(host);
    let desired = |(event, seconds): &(&str, u64)| DesiredFragment {
        slot: FragmentSlot::Element(vec!["hooks".to_owned(), (*event).to_owned()]),
        value: json!({"hooks": [hook_entry(spec.hook_form, name, &command, *seconds)]}),
        own: Recognizer::Hook(paths.dialect),
        rule: ConflictRule::Required,
        what: format!("{name}'s hook for {event}"),
    };
    spec.events.iter().map(desired).collect()
}

fn hook_entry(form: HookForm, name: &str, command: &str, seconds: u64) -> Value {
    match form {
        HookForm::Seconds => json!({"type": "command", "command": command, "timeout": seconds}),
        HookForm::NamedMilliseconds => {
            json!({"type": "command", "name": name, "command": command, "timeout": seconds * 1000})
        }
    }
}

/// omx's server in a list of servers.
pub(super) fn desired_server(paths: &SetupPaths, slot: FragmentSlot) -> DesiredFragment {
    let mut arguments = paths.dialect_arguments();
    arguments.push("mcp");
    DesiredFragment {
        slot,
        value: json!({"command": paths.omx.to_string_lossy(), "args": arguments}),
        own: Recognizer::Server(paths.dialect),
        rule: ConflictRule::Required,
        what: format!("an MCP server named {}", paths.dialect.name),
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
        what: format!("a block between {}'s marks", planner.paths.dialect.name),
    };
    planner.file(
        host,
        path,
        FileFormat::Markdown(BlockMarks::for_dialect(&planner.paths.dialect)),
        &[desired],
    );
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
