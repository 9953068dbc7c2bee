//! Checks hooks: each is installed once, no relative of omx is installed beside it, and
//! it answers. A hook is run as the host runs it: its command line, through a shell.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding, Fix};
use super::probe::{Probe, run};
use super::settings::{HookEntry, read_hooks, read_plugins};
use omx_kernel::HostKind;

use crate::hosts::host_spec;

const AREA: CheckArea = CheckArea::Hooks;

/// Hosts wait longer, but the person would notice this delay at every step.
const DEADLINE: Duration = Duration::from_secs(2);

/// The session id in the test event.
const SESSION: &str = "omx-doctor";

/// Names of omx's relatives in command lines and plugins.
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
            env.installed.iter().flat_map(|one| read_hooks(&one.paths, host)).collect();
        let (ours, others): (Vec<HookEntry>, Vec<HookEntry>) =
            all.into_iter().partition(HookEntry::is_ours);
        if let Some(first) = ours.first() {
            findings.extend(doubles(env.program(), &ours));
            findings.extend(relatives(env, host, &others));
            findings.push(check_hook(env, first));
        }
    }
    findings
}

/// Events for which a host calls omx twice.
fn doubles(program: &str, ours: &[HookEntry]) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> = Vec::new();
    for (index, entry) in ours.iter().enumerate() {
        let earlier = ours[..index].iter().filter(|one| one.event == entry.event).count();
        if earlier == 1 {
            let (host, event) = (entry.host.as_str(), &entry.event);
            let what = format!("{host} calls {program} twice for {event}");
            let fix = format!("remove one of the two entries: {}", entry.command);
            findings.push(DoctorFinding::failure(AREA, "double", what, fix).at(&entry.file));
        }
    }
    findings
}

/// Hooks and plugins that do what omx does.
fn relatives(env: &DoctorEnv<'_>, host: HostKind, others: &[HookEntry]) -> Vec<DoctorFinding> {
    let is_relative = |text: &str| RELATIVES.iter().any(|name| text.contains(name));
    let hooks = others.iter().filter(|entry| is_relative(&entry.command));
    let mut found: Vec<(String, std::path::PathBuf)> =
        hooks.map(|entry| (format!("the hook {}", entry.command), entry.file.clone())).collect();
    for installed in &env.installed {
        let on = read_plugins(&installed.paths, host).into_iter();
        found.extend(
            on.filter(|(name, _)| is_relative(name))
                .map(|(name, file)| (format!("the plugin {name}"), file)),
        );
    }
    let mut findings: Vec<DoctorFinding> = Vec::new();
    for (name, file) in found {
        // Report each file once: relatives install many hooks.
        let place = file.to_string_lossy();
        if findings.iter().all(|one| one.place.as_deref() != Some(&*place)) {
            let program = env.program();
            let what = format!("{name} duplicates what {program} does");
            let fix = format!("keep one of the two: disable it, or run {program} uninstall");
            findings.push(DoctorFinding::failure(AREA, "foreign", what, fix).at(&file));
        }
    }
    findings
}

/// Runs a hook with an event that changes nothing.
fn check_hook(env: &DoctorEnv<'_>, entry: &HookEntry) -> DoctorFinding {
    let host = entry.host.as_str();
    let event = host_spec(entry.host).tool_event;
    let payload = json!({
        "session_id": SESSION,
        "hook_event_name": event,
        "cwd": env.store.root(),
        "tool_name": SESSION,
        "tool_input": {},
    });
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &entry.command]).current_dir(env.store.root());
    let why = match run(command, payload.to_string().as_bytes(), DEADLINE) {
        Probe::Exited(Some(0), said, _) => match is_valid_output(&said) {
            true => {
                let what = format!("{host}: the hook answers");
                return DoctorFinding::fine(AREA, "hook", what).at(&entry.file);
            }
            false => format!("its output is {:?}", first_line(&said)),
        },
        Probe::Exited(code, _, said) => {
            let code = code.map_or("a signal".to_owned(), |code| format!("exit {code}"));
            format!("{code}: {}", first_line(&said))
        }
        Probe::TimedOut => format!("no output within {} s", DEADLINE.as_secs()),
        Probe::NotStarted(why) => why,
    };
    let what = format!("{host}: the hook does not work: {}: {why}", entry.command);
    let program = env.program();
    let fix = format!("{program} setup, or {program} doctor --fix");
    DoctorFinding::failure(AREA, "hook", what, fix).at(&entry.file).fixed_by(Fix::SetUp)
}

/// Whether the output is empty or one JSON object.
fn is_valid_output(said: &str) -> bool {
    let message = said.trim();
    message.is_empty()
        || serde_json::from_str::<serde_json::Value>(message).is_ok_and(|one| one.is_object())
}

fn first_line(said: &str) -> String {
    said.trim().lines().next().unwrap_or_default().chars().take(120).collect()
}
