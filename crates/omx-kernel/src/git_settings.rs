//! Which settings of git omx trusts.
//!
//! Many settings of git name programs, or say where git finds its files. omx calls git in
//! folders that agents write to, so a setting that an agent can change, or a program
//! that an agent can edit, would run with the permissions of omx.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Filters that omx runs when it calls git. Their programs are installed outside every
/// project, and they read no code from the folder they work in.
const KNOWN_FILTERS: [&str; 2] = ["git-lfs", "git-crypt"];

/// Characters with a meaning for the shell. git gives a filter's command to one.
const SHELL: &[char] = &[';', '&', '|', '<', '>', '$', '`', '(', ')', '\n', '\\', '*', '?', '~'];

/// What git would execute in a repository, as far as the repository says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositorySnapshot {
    /// The settings of the repository and its worktree that concern execution, with all
    /// their values.
    pub settings: BTreeMap<String, Vec<String>>,
    /// The hooks outside the working tree, with the hashes of their content.
    pub hooks: BTreeMap<String, String>,
    /// The hash of the repository's own attributes file.
    pub attributes: Option<String>,
}

impl RepositorySnapshot {
    /// Describes what changed since an earlier snapshot, one entry for each change.
    pub fn changes_since(&self, before: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for name in keys(&self.settings, &before.settings) {
            match (before.settings.get(name), self.settings.get(name)) {
                (Some(old), Some(new)) if old == new => {}
                (_, Some(new)) => changes.push(format!("{name} = {:?}", new.join(", "))),
                (_, None) => changes.push(format!("{name} was removed")),
            }
        }
        for name in keys(&self.hooks, &before.hooks) {
            match (before.hooks.get(name), self.hooks.get(name)) {
                (Some(old), Some(new)) if old == new => {}
                (Some(_), Some(_)) => changes.push(format!("the hook {name} was edited")),
                (None, _) => changes.push(format!("the hook {name} is new")),
                (_, None) => changes.push(format!("the hook {name} was removed")),
            }
        }
        if self.attributes != before.attributes {
            changes.push("info/attributes was edited".to_owned());
        }
        changes
    }
}

fn keys<'a, V>(one: &'a BTreeMap<String, V>, other: &'a BTreeMap<String, V>) -> Vec<&'a String> {
    let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Whether a change of this setting could make git execute something or work elsewhere.
///
/// Everything counts except what people change while they work beside a run: remotes,
/// upstream branches, and who they are. A remote's program still counts.
pub fn concerns_execution(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let (section, rest) = key.split_once('.').unwrap_or((&key, ""));
    let last = rest.rsplit('.').next().unwrap_or_default();
    match section {
        "branch" | "user" | "author" | "committer" | "color" | "advice" | "gui" => false,
        "remote" => !matches!(
            last,
            "url" | "pushurl" | "fetch" | "push" | "tagopt" | "prune" | "prunetags" | "gh-resolved"
        ),
        "submodule" => !matches!(last, "url" | "active"),
        _ => true,
    }
}

/// Whether agents get this setting of the repository in the git directory of their own:
/// how files and objects are stored, and who the person is.
pub fn is_for_agents(key: &str) -> bool {
    matches!(
        key.to_ascii_lowercase().as_str(),
        "core.filemode"
            | "core.symlinks"
            | "core.ignorecase"
            | "core.autocrlf"
            | "core.eol"
            | "core.safecrlf"
            | "core.precomposeunicode"
            | "core.sparsecheckout"
            | "core.sparsecheckoutcone"
            | "extensions.objectformat"
            | "user.name"
            | "user.email"
            | "merge.conflictstyle"
    )
}

/// A driver of git that has a name: the section of its settings and that name.
fn driver<'a>(key: &'a str, section: &str) -> Option<(&'a str, &'a str)> {
    let rest = key.get(..section.len()).filter(|start| start.eq_ignore_ascii_case(section));
    let rest = rest.and_then(|start| key.get(start.len()..)?.strip_prefix('.'))?;
    rest.rsplit_once('.')
}

/// Overrides that keep git from running programs that a configuration names and omx does
/// not know: filters, and hooks that are configured rather than installed. `settings` are
/// the effective settings of all scopes, in git's order.
pub fn neutral_overrides(settings: &[(String, String)]) -> Vec<(String, &'static str)> {
    let mut overrides = Vec::new();
    let filters = settings.iter().filter_map(|(key, value)| Some((driver(key, "filter")?, value)));
    let mut unknown: Vec<&str> = filters
        .filter(|((_, what), command)| {
            matches!(what.to_ascii_lowercase().as_str(), "clean" | "smudge" | "process")
                && !is_known_filter(command)
        })
        .map(|((name, _), _)| name)
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    for name in unknown {
        for what in ["clean", "smudge", "process"] {
            overrides.push((format!("filter.{name}.{what}"), ""));
        }
        overrides.push((format!("filter.{name}.required"), "false"));
    }
    let hooks = settings.iter().filter_map(|(key, _)| driver(key, "hook"));
    let mut hooks: Vec<&str> = hooks.map(|(name, _)| name).collect();
    hooks.sort_unstable();
    hooks.dedup();
    overrides.extend(hooks.into_iter().map(|name| (format!("hook.{name}.enabled"), "false")));
    overrides
}

/// The filters that [`neutral_overrides`] turns off, by name.
pub fn disabled_filters(settings: &[(String, String)]) -> Vec<String> {
    let overrides = neutral_overrides(settings);
    let names = overrides.iter().filter_map(|(key, _)| driver(key, "filter"));
    names.filter(|(_, what)| *what == "required").map(|(name, _)| name.to_owned()).collect()
}

/// Whether a filter's command is a program that omx knows, found on `PATH`, without
/// anything for the shell besides git's own placeholder.
fn is_known_filter(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let Some(first) = words.next() else { return true };
    let program = first.trim_matches('"');
    let is_known = KNOWN_FILTERS.contains(&program)
        // git-lfs is also a command of git.
        || (program == "git" && words.next() == Some("lfs"));
    is_known && !command.contains(SHELL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(settings: &[(&str, &str)]) -> RepositorySnapshot {
        let settings = settings.iter().map(|(key, value)| ((*key).into(), vec![(*value).into()]));
        RepositorySnapshot { settings: settings.collect(), ..RepositorySnapshot::default() }
    }

    #[test]
    fn every_change_is_described() {
        let mut before = snapshot(&[("core.bare", "false"), ("core.x", "1")]);
        before.hooks.insert("pre-commit".into(), "1".into());
        before.hooks.insert("pre-push".into(), "1".into());
        assert_eq!(before.changes_since(&before), Vec::<String>::new());
        let mut now = snapshot(&[("core.bare", "false"), ("filter.x.clean", "sh\u{1b} evil")]);
        now.hooks.insert("pre-commit".into(), "2".into());
        now.hooks.insert("post-commit".into(), "2".into());
        now.attributes = Some("3".into());
        assert_eq!(
            now.changes_since(&before),
            [
                "core.x was removed",
                "filter.x.clean = \"sh\\u{1b} evil\"",
                "the hook post-commit is new",
                "the hook pre-commit was edited",
                "the hook pre-push was removed",
                "info/attributes was edited",
            ]
        );
    }

    #[test]
    fn what_people_change_beside_a_run_does_not_concern_execution() {
        for key in ["branch.main.merge", "remote.origin.url", "user.name", "submodule.a.b.url"] {
            assert!(!concerns_execution(key), "{key}");
        }
        for key in [
            "core.hooksPath",
            "core.fsmonitor",
            "filter.x.clean",
            "remote.origin.uploadpack",
            "submodule.a.update",
            "include.path",
            "alias.st",
        ] {
            assert!(concerns_execution(key), "{key}");
        }
    }

    #[test]
    fn only_known_filters_stay_on() {
        let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let known = [
            setting("filter.lfs.clean", "git-lfs clean -- %f"),
            setting("filter.lfs.process", "git-lfs filter-process"),
            setting("filter.lfs.required", "true"),
            setting("filter.crypt.smudge", "\"git-crypt\" smudge"),
            setting("filter.media.clean", "git lfs clean -- %f"),
            setting("filter.none.clean", ""),
        ];
        assert_eq!(neutral_overrides(&known), []);
        for command in ["./clean.sh", "git-lfs clean; ./evil", "python3 -m nbstripout", "git-lfsx"]
        {
            let unknown = [setting("filter.a.b=c.Clean", command)];
            assert_eq!(disabled_filters(&unknown), ["a.b=c"], "{command}");
            let keys: Vec<String> =
                neutral_overrides(&unknown).into_iter().map(|(key, _)| key).collect();
            assert_eq!(
                keys,
                ["clean", "smudge", "process", "required"].map(|it| format!("filter.a.b=c.{it}"))
            );
        }
        let hook = [setting("hook.lint.command", "make lint")];
        assert_eq!(neutral_overrides(&hook), [("hook.lint.enabled".to_owned(), "false")]);
    }
}
