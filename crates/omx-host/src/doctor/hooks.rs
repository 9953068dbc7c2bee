//! Hooks: each once, nobody else's beside them, and really answered. A hook is
//! called the way a host calls it, by its command line and through a shell.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::finding::{Area, Finding, Mend};
use super::patient::Patient;
use super::settings::{Entry, entries, plugins};
use super::trial::{Trial, run};
use crate::HostKind;

const AREA: Area = Area::Hooks;

/// Hosts wait longer; a hook that needs this long is felt at every step.
const DEADLINE: Duration = Duration::from_secs(2);

/// The session of the event that is sent to try a hook.
const SESSION: &str = "omx-doctor";

/// How the relatives of omx name themselves in command lines and plugins.
const RELATIVES: [&str; 7] = [
    "oh-my-codex",
    "oh-my-claudecode",
    "oh-my-claude-sisyphus",
    "codex-native-hook",
    "persistent-mode.",
    "keyword-detector.",
    "/.claude/hooks/omc",
];

pub(super) fn check(patient: &Patient<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for host in HostKind::ALL {
        let all: Vec<Entry> =
            patient.installed.iter().flat_map(|one| entries(&one.ground, host)).collect();
        let (ours, others): (Vec<Entry>, Vec<Entry>) = all.into_iter().partition(Entry::is_ours);
        if let Some(first) = ours.first() {
            findings.extend(doubles(&ours));
            findings.extend(relatives(patient, host, &others));
            findings.push(tried(patient, first));
        }
    }
    findings
}

/// Events for which omx would be called twice.
fn doubles(ours: &[Entry]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for (index, entry) in ours.iter().enumerate() {
        let earlier = ours[..index].iter().filter(|one| one.event == entry.event).count();
        if earlier == 1 {
            let what = format!("{} calls omx twice for {}", entry.host.as_str(), entry.event);
            let fix = format!("take one of the two out: {}", entry.command);
            findings.push(Finding::failure(AREA, "double", what, fix).at(&entry.file));
        }
    }
    findings
}

/// Hooks and plugins that do the same as omx and would do it again.
fn relatives(patient: &Patient<'_>, host: HostKind, others: &[Entry]) -> Vec<Finding> {
    let is_relative = |text: &str| RELATIVES.iter().any(|name| text.contains(name));
    let hooks = others.iter().filter(|entry| is_relative(&entry.command));
    let mut found: Vec<(String, std::path::PathBuf)> =
        hooks.map(|entry| (format!("the hook {}", entry.command), entry.file.clone())).collect();
    for installed in &patient.installed {
        let on = plugins(&installed.ground, host).into_iter();
        found.extend(
            on.filter(|(name, _)| is_relative(name))
                .map(|(name, file)| (format!("the plugin {name}"), file)),
        );
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (name, file) in found {
        // One line for each file: they come by the dozen.
        let place = file.to_string_lossy();
        if findings.iter().all(|one| one.place.as_deref() != Some(&*place)) {
            let what = format!("{name} does what omx does, a second time");
            let fix = "keep one of the two: switch that off, or run omx uninstall";
            findings.push(Finding::failure(AREA, "foreign", what, fix).at(&file));
        }
    }
    findings
}

/// Calls a hook with an event that changes nothing.
fn tried(patient: &Patient<'_>, entry: &Entry) -> Finding {
    let host = entry.host.as_str();
    let event = match entry.host {
        HostKind::Codex | HostKind::Claude => "PreToolUse",
        HostKind::Gemini => "BeforeTool",
    };
    let payload = json!({
        "session_id": SESSION,
        "hook_event_name": event,
        "cwd": patient.store.root(),
        "tool_name": SESSION,
        "tool_input": {},
    });
    let mut command = Command::new("sh");
    command.args(["-c", &entry.command]).current_dir(patient.store.root());
    let why = match run(command, payload.to_string().as_bytes(), DEADLINE) {
        Trial::Ended(Some(0), said, _) => match is_answer(&said) {
            true => {
                let what = format!("{host} is answered");
                return Finding::fine(AREA, "hook", what).at(&entry.file);
            }
            false => format!("it answers {:?}", first_line(&said)),
        },
        Trial::Ended(code, _, said) => {
            let code = code.map_or("a signal".to_owned(), |code| format!("exit {code}"));
            format!("{code}: {}", first_line(&said))
        }
        Trial::Late => format!("no answer within {} s", DEADLINE.as_secs()),
        Trial::NotStarted(why) => why,
    };
    let what = format!("{host} calls a hook that does not work: {}: {why}", entry.command);
    let fix = "omx setup, or omx doctor --fix";
    Finding::failure(AREA, "hook", what, fix).at(&entry.file).mended_by(Mend::SetUp)
}

/// Nothing, or one object.
fn is_answer(said: &str) -> bool {
    let said = said.trim();
    said.is_empty()
        || serde_json::from_str::<serde_json::Value>(said).is_ok_and(|one| one.is_object())
}

fn first_line(said: &str) -> String {
    said.trim().lines().next().unwrap_or_default().chars().take(120).collect()
}
