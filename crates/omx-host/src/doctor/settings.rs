//! Reads the hooks in a host's files, whoever wrote them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::setup::{SetupPaths, SetupScope, parse_settings};
use omx_kernel::HostKind;

use crate::hosts::host_spec;

/// One hook in a host's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookEntry {
    /// The host.
    pub host: HostKind,
    /// The event.
    pub event: String,
    /// Its command line.
    pub command: String,
    /// The file.
    pub file: PathBuf,
}

impl HookEntry {
    /// Whether it calls omx for a host.
    pub fn is_ours(&self) -> bool {
        self.command.contains(" hook --host ")
    }
}

/// The files of a host that can hold hooks.
fn files(paths: &SetupPaths, host: HostKind) -> Vec<PathBuf> {
    let home = paths.homes.folder(host);
    let root = match &paths.scope {
        SetupScope::User => None,
        SetupScope::Project(root) => Some(root),
    };
    let spec = host_spec(host);
    let folder = root.map_or_else(|| home.to_owned(), |root| root.join(spec.home.folder));
    spec.hook_files.iter().map(|name| folder.join(name)).collect()
}

/// Reads a JSON file; `None` if it is missing or invalid, which is a finding of setup. Like
/// setup, and like the hosts, it accepts a byte-order mark and comments.
pub(super) fn read_json(path: &Path) -> Option<Value> {
    parse_settings(&std::fs::read_to_string(path).ok()?)
}

/// Reads all hooks of a host in one scope.
pub(super) fn read_hooks(paths: &SetupPaths, host: HostKind) -> Vec<HookEntry> {
    let mut entries = Vec::new();
    for file in files(paths, host) {
        let Some(settings) = read_json(&file) else { continue };
        for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
            let groups = groups.as_array().map(Vec::as_slice).unwrap_or_default();
            let hooks = groups.iter().flat_map(|group| group["hooks"].as_array()).flatten();
            entries.extend(hooks.filter_map(|hook| {
                let command = hook["command"].as_str()?.to_owned();
                Some(HookEntry { host, event: event.clone(), command, file: file.clone() })
            }));
        }
    }
    entries
}

/// Reads the enabled plugins of a host.
pub(super) fn read_plugins(paths: &SetupPaths, host: HostKind) -> Vec<(String, PathBuf)> {
    let mut plugins = Vec::new();
    for file in files(paths, host) {
        let Some(settings) = read_json(&file) else { continue };
        for (name, on) in settings["enabledPlugins"].as_object().into_iter().flatten() {
            if on.as_bool() == Some(true) {
                plugins.push((name.clone(), file.clone()));
            }
        }
    }
    plugins
}
