//! The layers, from the built-in defaults to the flags: later wins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use omx_kernel::{Dialect, IterationLimits, Mode, Refusal, Value};
use omx_store::{Store, json};

use super::files;
use super::keys::{KEYS, Kind, check, row_of};
use crate::context::Context;

/// Where the edge found configuration.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The person's own file, whether it is there or not.
    pub user_file: Option<PathBuf>,
    /// Keys set by the environment: key, value, name of the variable.
    pub environment: Vec<(&'static str, String, String)>,
    /// `KEY=VALUE` of flags.
    pub flags: Vec<String>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A file and a line of it.
    File(PathBuf, usize),
    /// A variable.
    Environment(String),
    /// A flag of this call.
    Flag,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// A value in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// Everything in force, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Settings by dotted key.
    pub settings: BTreeMap<String, Setting>,
}

impl Config {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.get(&canonical(key))
    }

    fn put(&mut self, key: &str, value: Value, origin: Origin) {
        self.settings.insert(canonical(key), Setting { value, origin });
    }
}

/// The key with an older name of a mode replaced by the one it has now.
fn canonical(key: &str) -> String {
    let renamed = key
        .strip_prefix(LIMITS)
        .and_then(|name| Mode::parse(name).ok())
        .map(|mode| format!("{LIMITS}{}", mode.name()));
    renamed.unwrap_or_else(|| key.to_owned())
}

const LIMITS: &str = "limits.max_iterations.";

/// The project's own file inside omx's folder.
pub const PROJECT_TOML: &str = "config.toml";

/// The project's files, in the order in which they count.
pub fn project_files(root: &Path, tree: &Path, dialect: Dialect) -> [PathBuf; 2] {
    [root.join(dialect.project_config), tree.join(PROJECT_TOML)]
}

/// Reads all layers. The first thing wrong in any of them is the answer.
pub fn load(context: &Context<'_>, store: &Store) -> Result<Config, Refusal> {
    let mut config = Config::default();
    for row in KEYS {
        if let Some(default) = row.default {
            config.put(row.name, typed(row.kind, default), Origin::Default);
        }
    }
    let [project, in_tree] = project_files(store.root(), store.tree(), context.dialect);
    let mut files = Vec::new();
    for path in context.config.user_file.iter().chain([&project]) {
        files.push((path.clone(), files::read(path)?));
    }
    files.push((in_tree.clone(), files::read_in_tree(&in_tree)?));
    for (path, settings) in files {
        for setting in settings {
            config.put(&setting.key, setting.value, Origin::File(path.clone(), setting.line));
        }
    }
    for (key, text, variable) in &context.config.environment {
        let value = checked(key, text)
            .map_err(|why| Refusal::invalid_input(format!("{variable}: {why}")))?;
        config.put(key, value, Origin::Environment(variable.clone()));
    }
    for flag in &context.config.flags {
        let (key, text) = flag.split_once('=').ok_or_else(|| {
            Refusal::invalid_input(format!("--config {flag:?}: wanted KEY=VALUE"))
        })?;
        let value =
            checked(key, text).map_err(|why| Refusal::invalid_input(format!("--config: {why}")))?;
        config.put(key, value, Origin::Flag);
    }
    Ok(config)
}

/// Reads a value given as plain text, for this key.
pub fn checked(key: &str, text: &str) -> Result<Value, String> {
    let row = row_of(key)?;
    let value = typed(row.kind, text);
    check(key, row.kind, &value)?;
    Ok(value)
}

fn typed(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Count | Kind::Amount => json::parse(text).unwrap_or_else(|_| Value::string(text)),
        _ => Value::string(text),
    }
}

/// The limits of starts that the person configured.
pub fn limits(context: &Context<'_>, store: &Store) -> Result<IterationLimits, Refusal> {
    let config = load(context, store)?;
    let limit = |mode: Mode| {
        let key = format!("{LIMITS}{}", mode.name());
        Some((mode, config.get(&key)?.value.as_u64()?))
    };
    Ok(Mode::ALL.into_iter().filter_map(limit).collect())
}
