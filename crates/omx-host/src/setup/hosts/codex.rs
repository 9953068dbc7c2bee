//! Codex: hooks in `hooks.json`, the server and trust records in `config.toml`.
//!
//! Codex silently skips a hook that the person has not trusted. Its trust records in
//! `config.toml` are keyed by file, event, group and position in the group, and hold
//! the hash of the hook at that time. omx writes the records that Codex would write
//! after asking the person.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toml_edit::Item;

use super::common::{
    HookForm, HostSetup, add_guidance, add_skills, desired_hooks, desired_server, names,
};
use crate::HostKind;
use crate::hosts::{ApprovalForm, HomeVariable, HostHome, HostSpec, OutputForm};
use crate::role::Role;
use crate::setup::edit::FileFormat;
use crate::setup::fragment::{ConflictRule, DesiredFragment, Fragment, FragmentSlot, Recognizer};
use crate::setup::paths::{SetupCatalog, SetupScope};
use crate::setup::planner::{SetupNoteKind, SetupPlanner};
use crate::setup::text::{TextForm, hash};
use crate::setup::{json, toml};

const HOST: HostKind = HostKind::Codex;

/// The row of this host.
pub(crate) static SPEC: HostSpec = HostSpec {
    kind: HOST,
    home: HostHome { folder: ".codex", variable: "CODEX_HOME", names: HomeVariable::Folder },
    guidance_file: "AGENTS.md",
    guidance: include_str!("../../../../../assets/templates/guidance-codex.md"),
    hook_files: &["hooks.json"],
    events: &[
        ("SessionStart", 5),
        ("UserPromptSubmit", 5),
        ("PreToolUse", 5),
        ("PostToolUse", 5),
        ("PreCompact", 5),
        ("Stop", 5),
        // Codex allows no more for these.
        ("Interrupt", 3),
        ("SessionEnd", 3),
    ],
    tool_event: "PreToolUse",
    hook_form: HookForm::Seconds,
    output: OutputForm {
        hold: "block",
        feedback: None,
        arguments: "updatedInput",
        approval: ApprovalForm::Required,
    },
    interrupt_mark: None,
    environment_file: None,
    project_folder: None,
    setup: HostSetup { set_up, after_removal: keep_trust },
};

fn set_up(planner: &mut SetupPlanner<'_>, catalog: &SetupCatalog) {
    let home = planner.paths.homes.folder(HOST).to_owned();
    let scope = planner.paths.scope.clone();
    let folder = codex_folder(planner);
    let words = match &scope {
        SetupScope::User => home.join("AGENTS.md"),
        SetupScope::Project(root) => root.join("AGENTS.md"),
    };
    let hooks = folder.join("hooks.json");
    let desired = match is_hooked_everywhere(planner) {
        true => Vec::new(),
        false => desired_hooks(planner.paths, HOST),
    };
    let written = planner.file(HOST, &hooks, FileFormat::Json, &desired);
    let person = home.join("config.toml");
    let trust = match &written {
        Some(text) => {
            let (old, _) = planner.texts(&hooks);
            desired_trust(&known_paths(planner, &hooks), old.as_deref(), text, &desired)
        }
        None if desired.is_empty() => Vec::new(),
        None => recorded_trust(planner, &person),
    };
    let server = desired_server(
        planner.paths,
        FragmentSlot::Table(names(&["mcp_servers", planner.paths.dialect.name])),
    );
    if let SetupScope::Project(root) = &scope {
        planner.file(HOST, &folder.join("config.toml"), FileFormat::Toml, &[server]);
        planner.file(HOST, &person, FileFormat::Toml, &trust);
        note_untrusted_project(planner, &person, root);
    } else {
        let desired: Vec<DesiredFragment> = [server].into_iter().chain(trust).collect();
        planner.file(HOST, &person, FileFormat::Toml, &desired);
    }
    note_disabled_hooks(planner, &person);
    for role in &catalog.roles {
        let path = folder.join("agents").join(format!("{}.toml", role.name));
        planner.whole(HOST, &path, &format_agent(role));
    }
    add_skills(planner, HOST, &folder.join("skills"), catalog);
    add_guidance(planner, HOST, &words, catalog);
}

/// Whether Codex already calls omx in every project; another hook would be a second call.
fn is_hooked_everywhere(planner: &mut SetupPlanner<'_>) -> bool {
    let SetupScope::Project(root) = planner.paths.scope.clone() else { return false };
    let is_hooked = planner.paths.hooked.contains(&HOST);
    if is_hooked {
        let text = format!(
            "codex already calls {}'s hooks in all your projects, so this project gets none of its own",
            planner.paths.dialect.name
        );
        planner.note(SetupNoteKind::Hint, &root, text);
    }
    is_hooked
}

/// The paths under which Codex may know a file: as given, and with links resolved.
fn known_paths(planner: &SetupPlanner<'_>, hooks: &Path) -> Vec<PathBuf> {
    let folder = hooks.parent().unwrap_or(hooks);
    let real = planner.disk.real(folder).join(hooks.file_name().unwrap_or_default());
    let mut all = vec![hooks.to_owned(), real];
    all.dedup();
    all
}

/// The trust records for omx's hooks in this text.
fn desired_trust(
    spellings: &[PathBuf],
    old: Option<&str>,
    text: &str,
    hooks: &[DesiredFragment],
) -> Vec<DesiredFragment> {
    let root = |text: &str| json::read(TextForm::split(text).1).ok();
    let Some(after) = root(text) else { return Vec::new() };
    let before = old.and_then(root);
    let mut desired = Vec::new();
    for hook in hooks {
        let event = hook.slot.path().last().map(String::as_str).unwrap_or_default();
        let groups = after.at(hook.slot.path()).and_then(|node| node.value.as_array());
        let group = groups.and_then(|groups| groups.iter().position(|one| *one == hook.value));
        let Some(group) = group else { continue };
        let command = hook.value["hooks"][0]["command"].as_str().unwrap_or_default();
        let seconds = hook.value["hooks"][0]["timeout"].as_u64().unwrap_or_default();
        let label = label(event);
        // The hook that was in this place before tells what a record is about.
        let was = before.as_ref().and_then(|root| root.at(hook.slot.path())?.value.get(group));
        let own = match was.is_some_and(|was| hook.own.matches(was)) {
            true => Recognizer::Trust,
            false => Recognizer::NewTrust,
        };
        for path in spellings {
            let key = format!("{}:{label}:{group}:0", path.display());
            desired.push(DesiredFragment {
                slot: FragmentSlot::Table(vec!["hooks".to_owned(), "state".to_owned(), key]),
                value: json!({"trusted_hash": trusted_hash(event, command, seconds)}),
                own,
                rule: ConflictRule::Required,
                what: format!("the trust in the hook for {event}"),
            });
        }
    }
    desired
}

/// The trust records from the manifest, for when `hooks.json` cannot be read.
fn recorded_trust(planner: &SetupPlanner<'_>, config: &Path) -> Vec<DesiredFragment> {
    let parts = planner.old.file(config).map(|record| record.parts.clone()).unwrap_or_default();
    let is_trust = |slot: &FragmentSlot| slot.path().first().is_some_and(|name| name == "hooks");
    let trust = parts.into_iter().filter(|part| is_trust(&part.slot));
    let desired = |part: Fragment| DesiredFragment {
        slot: part.slot,
        value: part.value,
        own: Recognizer::Trust,
        rule: ConflictRule::Required,
        what: "the trust in the hooks".to_owned(),
    };
    trust.map(desired).collect()
}

/// Moves trust records with their hooks. Codex keys them by position, so when omx's
/// hook is removed, the hooks after it move up.
fn keep_trust(planner: &mut SetupPlanner<'_>) {
    let hooks = codex_folder(planner).join("hooks.json");
    let (Some(old), Some(new)) = planner.texts(&hooks) else { return };
    let moved = moved_groups(&old, &new);
    let config = planner.paths.homes.folder(HOST).join("config.toml");
    let (_, Some(text)) = planner.texts(&config) else { return };
    let (form, body) = TextForm::split(&text);
    let mut body = body.to_owned();
    for (event, from, to, count) in moved {
        for path in known_paths(planner, &hooks) {
            for place in 0..count {
                let key =
                    |group: usize| format!("{}:{}:{group}:{place}", path.display(), label(&event));
                body = toml::rename_table(&body, &names(&["hooks", "state", &key(from)]), &key(to));
            }
        }
    }
    let body = remove_moved_trust(planner, &config, &known_paths(planner, &hooks), body);
    let whole = form.join(body);
    if whole != text {
        planner.rewrite(&config, whole);
    }
}

/// Removes the trust records that are no longer where setup wrote them: another program
/// was removed before, and omx's hooks took its places. A hash belongs to one command line.
fn remove_moved_trust(
    planner: &SetupPlanner<'_>,
    config: &Path,
    hooks: &[PathBuf],
    mut body: String,
) -> String {
    let parts = planner.old.file(config).map(|record| record.parts.clone()).unwrap_or_default();
    for part in parts {
        let [table, state, recorded] = part.slot.path() else { continue };
        let is_about =
            |name: &str| hooks.iter().any(|path| name.starts_with(&format!("{}:", path.display())));
        let found = toml::read(&body).ok().and_then(|document| {
            let records = toml::item_at(&document, &names(&["hooks", "state"]))?;
            let mut records = records.as_table_like()?.iter();
            let moved =
                records.find(|(name, it)| is_about(name) && toml::to_json(it) == part.value);
            moved.map(|(name, _)| name.to_owned())
        });
        if let Some(name) = found.filter(|_| is_about(recorded)) {
            let text = part.text.replace(recorded.as_str(), &name);
            let slot = FragmentSlot::Table(vec![table.clone(), state.clone(), name]);
            let moved = Fragment { slot, text, ..part.clone() };
            body = toml::remove(&body, &moved).unwrap_or(body);
        }
    }
    body
}

/// Groups of hooks that have moved: event, old position, new position, number of hooks.
fn moved_groups(old: &str, new: &str) -> Vec<(String, usize, usize, usize)> {
    let value = |text: &str| json::read(TextForm::split(text).1).ok().map(|root| root.value);
    let (Some(old), Some(new)) = (value(old), value(new)) else { return Vec::new() };
    let mut moved = Vec::new();
    for (event, groups) in old["hooks"].as_object().into_iter().flatten() {
        let left = new["hooks"][event].as_array().cloned().unwrap_or_default();
        let mut next = 0;
        for (from, group) in groups.as_array().into_iter().flatten().enumerate() {
            if left.get(next) != Some(group) {
                continue;
            }
            if next != from {
                let count = group["hooks"].as_array().map_or(0, Vec::len);
                moved.push((event.clone(), from, next, count));
            }
            next += 1;
        }
    }
    moved
}

/// Codex's folder in this scope.
fn codex_folder(planner: &SetupPlanner<'_>) -> PathBuf {
    match &planner.paths.scope {
        SetupScope::User => planner.paths.homes.folder(HOST).to_owned(),
        SetupScope::Project(root) => root.join(".codex"),
    }
}

/// The name of an event in Codex's records: `PreToolUse` is `pre_tool_use`.
fn label(event: &str) -> String {
    let mut label = String::new();
    for (index, letter) in event.char_indices() {
        if letter.is_ascii_uppercase() && index > 0 {
            label.push('_');
        }
        label.push(letter.to_ascii_lowercase());
    }
    label
}

/// The hash by which Codex recognizes a hook: of its compact JSON with sorted names.
pub fn trusted_hash(event: &str, command: &str, seconds: u64) -> String {
    // The names in a `Value` are sorted.
    let identity = json!({
        "event_name": label(event),
        "hooks": [{"async": false, "command": command, "timeout": seconds, "type": "command"}],
    });
    hash(identity.to_string().as_bytes())
}

/// Notes that Codex ignores the settings of a project the person has not trusted.
fn note_untrusted_project(planner: &mut SetupPlanner<'_>, person: &Path, root: &Path) {
    let text = planner.disk.read(person).ok().flatten().unwrap_or_default();
    let is_trusted = |root: &Path| {
        let path = names(&["projects", &root.to_string_lossy(), "trust_level"]);
        read_at(&text, &path) == Some(Value::from("trusted"))
    };
    if !is_trusted(root) && !is_trusted(&planner.disk.real(root)) {
        let text = "codex reads a project's settings only if you trust the project: start codex \
                     there once and confirm";
        planner.note(SetupNoteKind::Hint, root, text);
    }
}

/// Notes that hooks are disabled.
fn note_disabled_hooks(planner: &mut SetupPlanner<'_>, person: &Path) {
    let text = planner.disk.read(person).ok().flatten().unwrap_or_default();
    if read_at(&text, &names(&["features", "hooks"])) == Some(Value::Bool(false)) {
        let text = "features.hooks is false, so codex runs no hooks at all";
        planner.note(SetupNoteKind::Hint, person, text);
    }
}

fn read_at(text: &str, path: &[String]) -> Option<Value> {
    let (_, body) = TextForm::split(text);
    let document = toml::read(body).ok()?;
    toml::item_at(&document, path).map(|item: &Item| toml::to_json(item))
}

/// Formats a role as a Codex agent.
fn format_agent(role: &Role) -> String {
    let text = |text: &str| toml_edit::Value::from(text).to_string();
    format!(
        "name = {}\ndescription = {}\ndeveloper_instructions = {}\n",
        text(&role.name),
        text(&role.description),
        text(&role.prompt)
    )
}
