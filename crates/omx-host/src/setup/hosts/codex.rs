//! Codex: hooks in `hooks.json`, the server and the records of trust in
//! `config.toml`.
//!
//! Codex passes over a hook it was not told to trust, without a word. It keeps
//! its trust in the person's `config.toml`: for each hook, by file, event,
//! group and place in the group, the hash of what the hook was when it was
//! trusted. omx records it as Codex itself would after asking.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toml_edit::Item;

use super::common::{HookForm, HostSetup, NAME, guidance, hook_wishes, names, server_wish, skills};
use crate::HostKind;
use crate::hosts::{ApprovalForm, HomeVariable, HostHome, HostSpec, OutputForm};
use crate::role::Role;
use crate::setup::edit::FileFormat;
use crate::setup::fragment::{ConflictRule, DesiredFragment, FragmentSlot, Recognizer};
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
        arguments: "updatedInput",
        approval: ApprovalForm::Required,
    },
    environment_file: None,
    project_folder: None,
    setup: HostSetup { set_up, after_removal: keep_trust },
};

fn set_up(planner: &mut SetupPlanner<'_>, catalog: &SetupCatalog) {
    let home = planner.paths.homes.folder(HOST).to_owned();
    let scope = planner.paths.scope.clone();
    let folder = folder_of(planner);
    let words = match &scope {
        SetupScope::User => home.join("AGENTS.md"),
        SetupScope::Project(root) => root.join("AGENTS.md"),
    };
    let omx = planner.paths.omx.clone();
    let hooks = folder.join("hooks.json");
    let wishes = match is_hooked(planner) {
        true => Vec::new(),
        false => hook_wishes(&omx, HOST),
    };
    let written = planner.file(HOST, &hooks, FileFormat::Json, &wishes);
    let person = home.join("config.toml");
    let trust = match &written {
        Some(text) => {
            let (old, _) = planner.texts(&hooks);
            trust_wishes(&spellings(planner, &hooks), old.as_deref(), text, &wishes)
        }
        None if wishes.is_empty() => Vec::new(),
        None => remembered_trust(planner, &person),
    };
    let server = server_wish(&omx, FragmentSlot::Table(names(&["mcp_servers", NAME])));
    if let SetupScope::Project(root) = &scope {
        planner.file(HOST, &folder.join("config.toml"), FileFormat::Toml, &[server]);
        planner.file(HOST, &person, FileFormat::Toml, &trust);
        hint_of_trust(planner, &person, root);
    } else {
        let wishes: Vec<DesiredFragment> = [server].into_iter().chain(trust).collect();
        planner.file(HOST, &person, FileFormat::Toml, &wishes);
    }
    hint_of_hooks(planner, &person);
    for role in &catalog.roles {
        let path = folder.join("agents").join(format!("{}.toml", role.name));
        planner.whole(HOST, &path, &agent(role));
    }
    skills(planner, HOST, &folder.join("skills"), catalog);
    guidance(planner, HOST, &words, catalog);
}

/// Whether Codex calls omx in every project already; it would call it twice.
fn is_hooked(planner: &mut SetupPlanner<'_>) -> bool {
    let SetupScope::Project(root) = planner.paths.scope.clone() else { return false };
    let is_hooked = planner.paths.hooked.contains(&HOST);
    if is_hooked {
        let words =
            "codex calls omx's hooks in all your projects already; they are not set up twice";
        planner.note(SetupNoteKind::Hint, &root, words);
    }
    is_hooked
}

/// The names Codex may know a file by: as it is reached, and as it really is.
fn spellings(planner: &SetupPlanner<'_>, hooks: &Path) -> Vec<PathBuf> {
    let folder = hooks.parent().unwrap_or(hooks);
    let real = planner.disk.real(folder).join(hooks.file_name().unwrap_or_default());
    let mut all = vec![hooks.to_owned(), real];
    all.dedup();
    all
}

/// The records of trust for omx's hooks as they stand in this text.
fn trust_wishes(
    spellings: &[PathBuf],
    old: Option<&str>,
    text: &str,
    hooks: &[DesiredFragment],
) -> Vec<DesiredFragment> {
    let root = |text: &str| json::read(TextForm::of(text).1).ok();
    let Some(after) = root(text) else { return Vec::new() };
    let before = old.and_then(root);
    let mut wishes = Vec::new();
    for hook in hooks {
        let event = hook.slot.path().last().map(String::as_str).unwrap_or_default();
        let groups = after.at(hook.slot.path()).and_then(|node| node.value.as_array());
        let group = groups.and_then(|groups| groups.iter().position(|one| *one == hook.value));
        let Some(group) = group else { continue };
        let command = hook.value["hooks"][0]["command"].as_str().unwrap_or_default();
        let seconds = hook.value["hooks"][0]["timeout"].as_u64().unwrap_or_default();
        let label = label(event);
        // What stood in this place before tells what the trust was in.
        let was = before.as_ref().and_then(|root| root.at(hook.slot.path())?.value.get(group));
        let own = match was.is_some_and(|was| Recognizer::Hook.matches(was)) {
            true => Recognizer::Trust,
            false => Recognizer::NewTrust,
        };
        for path in spellings {
            let key = format!("{}:{label}:{group}:0", path.display());
            wishes.push(DesiredFragment {
                slot: FragmentSlot::Table(vec!["hooks".to_owned(), "state".to_owned(), key]),
                value: json!({"trusted_hash": trusted_hash(event, command, seconds)}),
                own,
                rule: ConflictRule::Needed,
                what: format!("the trust in omx's hook for {event}"),
            });
        }
    }
    wishes
}

/// The records of trust that are there, for when nothing else is known.
fn remembered_trust(planner: &SetupPlanner<'_>, config: &Path) -> Vec<DesiredFragment> {
    let parts = planner.old.file(config).map(|record| record.parts.clone()).unwrap_or_default();
    let is_trust = |slot: &FragmentSlot| slot.path().first().is_some_and(|name| name == "hooks");
    let trust = parts.into_iter().filter(|part| is_trust(&part.slot));
    let wish = |part: crate::setup::Fragment| DesiredFragment {
        slot: part.slot,
        value: part.value,
        own: Recognizer::Trust,
        rule: ConflictRule::Needed,
        what: "the trust in omx's hooks".to_owned(),
    };
    trust.map(wish).collect()
}

/// Codex's trust in a hook hangs on the hook's place. When ours goes, those
/// after it move up, and the trust in them moves with them.
fn keep_trust(planner: &mut SetupPlanner<'_>) {
    let hooks = folder_of(planner).join("hooks.json");
    let (Some(old), Some(new)) = planner.texts(&hooks) else { return };
    let moved = moved_groups(&old, &new);
    let config = planner.paths.homes.folder(HOST).join("config.toml");
    let (_, Some(text)) = planner.texts(&config) else { return };
    let (form, body) = TextForm::of(&text);
    let mut body = body.to_owned();
    for (event, from, to, count) in moved {
        for path in spellings(planner, &hooks) {
            for place in 0..count {
                let key =
                    |group: usize| format!("{}:{}:{group}:{place}", path.display(), label(&event));
                body = toml::renamed(&body, &names(&["hooks", "state", &key(from)]), &key(to));
            }
        }
    }
    let whole = form.whole(body);
    if whole != text {
        planner.rewrite(&config, whole);
    }
}

/// Groups of hooks that stand in another place: event, from where, to where,
/// and how many hooks they hold.
fn moved_groups(old: &str, new: &str) -> Vec<(String, usize, usize, usize)> {
    let value = |text: &str| json::read(TextForm::of(text).1).ok().map(|root| root.value);
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

/// The folder of what is set up.
fn folder_of(planner: &SetupPlanner<'_>) -> PathBuf {
    match &planner.paths.scope {
        SetupScope::User => planner.paths.homes.folder(HOST).to_owned(),
        SetupScope::Project(root) => root.join(".codex"),
    }
}

/// An event as Codex writes it in its records: `PreToolUse` is `pre_tool_use`.
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

/// The hash by which Codex knows a hook again: of the hook as JSON without
/// white space, its names in order.
pub fn trusted_hash(event: &str, command: &str, seconds: u64) -> String {
    // The names of a `Value` are always in order.
    let identity = json!({
        "event_name": label(event),
        "hooks": [{"async": false, "command": command, "timeout": seconds, "type": "command"}],
    });
    hash(identity.to_string().as_bytes())
}

/// Says when Codex does not look at this project's settings.
fn hint_of_trust(planner: &mut SetupPlanner<'_>, person: &Path, root: &Path) {
    let text = planner.disk.read(person).ok().flatten().unwrap_or_default();
    let is_trusted = |root: &Path| {
        let path = names(&["projects", &root.to_string_lossy(), "trust_level"]);
        read_at(&text, &path) == Some(Value::from("trusted"))
    };
    if !is_trusted(root) && !is_trusted(&planner.disk.real(root)) {
        let words = "codex reads the settings of a project only when you trust it: start codex \
                     there once and say so";
        planner.note(SetupNoteKind::Hint, root, words);
    }
}

/// Says when hooks are switched off.
fn hint_of_hooks(planner: &mut SetupPlanner<'_>, person: &Path) {
    let text = planner.disk.read(person).ok().flatten().unwrap_or_default();
    if read_at(&text, &names(&["features", "hooks"])) == Some(Value::Bool(false)) {
        let words = "features.hooks is false: codex calls no hooks, omx's neither";
        planner.note(SetupNoteKind::Hint, person, words);
    }
}

fn read_at(text: &str, path: &[String]) -> Option<Value> {
    let (_, body) = TextForm::of(text);
    let document = toml::read(body).ok()?;
    toml::at(&document, path).map(|item: &Item| toml::value_of(item))
}

/// A role as Codex reads it.
fn agent(role: &Role) -> String {
    let text = |text: &str| toml_edit::Value::from(text).to_string();
    format!(
        "name = {}\ndescription = {}\ndeveloper_instructions = {}\n",
        text(&role.name),
        text(&role.description),
        text(&role.prompt)
    )
}
