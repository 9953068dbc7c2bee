//! Hooks: each once, nobody else's beside them, and really answered. A hook is
//! called the way a host calls it, by its command line and through a shell.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding, Fix};
use super::probe::{Probe, run};
use super::settings::{HookEntry, entries, plugins};
use omx_kernel::HostKind;

use crate::hosts::host_spec;

const AREA: CheckArea = CheckArea::Hooks;

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

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for host in HostKind::ALL {
        let all: Vec<HookEntry> =
            env.installed.iter().flat_map(|one| entries(&one.paths, host)).collect();
        let (ours, others): (Vec<HookEntry>, Vec<HookEntry>) =
            all.into_iter().partition(HookEntry::is_ours);
        if let Some(first) = ours.first() {
            findings.extend(doubles(&ours));
            findings.extend(relatives(env, host, &others));
            findings.push(tried(env, first));
        }
    }
    findings
}

/// Events for which omx would be called twice.
fn doubles(ours: &[HookEntry]) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> = Vec::new();
    for (index, entry) in ours.iter().enumerate() {
        let earlier = ours[..index].iter().filter(|one| one.event == entry.event).count();
        if earlier == 1 {
            let what = format!("{} calls omx twice for {}", entry.host.as_str(), entry.event);
            let fix = format!("take one of the two out: {}", entry.command);
            findings.push(DoctorFinding::failure(AREA, "double", what, fix).at(&entry.file));
        }
    }
    findings
}

/// Hooks and plugins that do the same as omx and would do it again.
fn relatives(env: &DoctorEnv<'_>, host: HostKind, others: &[HookEntry]) -> Vec<DoctorFinding> {
    let is_relative = |text: &str| RELATIVES.iter().any(|name| text.contains(name));
    let hooks = others.iter().filter(|entry| is_relative(&entry.command));
    let mut found: Vec<(String, std::path::PathBuf)> =
        hooks.map(|entry| (format!("the hook {}", entry.command), entry.file.clone())).collect();
    for installed in &env.installed {
        let on = plugins(&installed.paths, host).into_iter();
        found.extend(
            on.filter(|(name, _)| is_relative(name))
                .map(|(name, file)| (format!("the plugin {name}"), file)),
        );
    }
    let mut findings: Vec<DoctorFinding> = Vec::new();
    for (name, file) in found {
        // One line for each file: they come by the dozen.
        let place = file.to_string_lossy();
        if findings.iter().all(|one| one.place.as_deref() != Some(&*place)) {
            let what = format!("{name} does what omx does, a second time");
            let fix = "keep one of the two: switch that off, or run omx uninstall";
            findings.push(DoctorFinding::failure(AREA, "foreign", what, fix).at(&file));
        }
    }
    findings
}

/// Calls a hook with an event that changes nothing.
fn tried(env: &DoctorEnv<'_>, entry: &HookEntry) -> DoctorFinding {
    let host = entry.host.as_str();
    let event = host_spec(entry.host).tool_event;
    let payload = json!({
        "session_id": SESSION,
        "hook_event_name": event,
        "cwd": env.store.root(),
        "tool_name": SESSION,
        "tool_input": {},
    });
    let mut command = Command::new("sh");
    command.args(["-c", &entry.command]).current_dir(env.store.root());
    let why = match run(command, payload.to_string().as_bytes(), DEADLINE) {
        Probe::Exited(Some(0), said, _) => match is_answer(&said) {
            true => {
                let what = format!("{host} is answered");
                return DoctorFinding::fine(AREA, "hook", what).at(&entry.file);
            }
            false => format!("it answers {:?}", first_line(&said)),
        },
        Probe::Exited(code, _, said) => {
            let code = code.map_or("a signal".to_owned(), |code| format!("exit {code}"));
            format!("{code}: {}", first_line(&said))
        }
        Probe::TimedOut => format!("no answer within {} s", DEADLINE.as_secs()),
        Probe::NotStarted(why) => why,
    };
    let what = format!("{host} calls a hook that does not work: {}: {why}", entry.command);
    let fix = "omx setup, or omx doctor --fix";
    DoctorFinding::failure(AREA, "hook", what, fix).at(&entry.file).fixed_by(Fix::SetUp)
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
