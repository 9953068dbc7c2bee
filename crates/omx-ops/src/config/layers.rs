//! The configuration layers, from built-in defaults to flags. Later layers win.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use omx_kernel::{Dialect, IterationLimits, Mode, Refusal, Value};
use omx_store::{Store, json};

use super::files;
use super::keys::{KEYS, Kind, check, row_of};
use crate::context::Context;

/// The configuration sources that the edge found.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The person's own file, which need not exist.
    pub user_file: Option<PathBuf>,
    /// Keys set by the environment: key, value, variable name.
    pub environment: Vec<(&'static str, String, String)>,
    /// `KEY=VALUE` flags.
    pub flags: Vec<String>,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The built-in default.
    Default,
    /// A file, with the line number.
    File(PathBuf, usize),
    /// An environment variable.
    Environment(String),
    /// A command-line flag.
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

/// An effective setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// Its origin.
    pub origin: Origin,
}

/// All effective settings.
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

/// Replaces an older name of a mode in a key by the current one.
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

/// The project's files; the later one wins.
pub fn project_files(root: &Path, tree: &Path, dialect: Dialect) -> [PathBuf; 2] {
    [root.join(dialect.project_config), tree.join(PROJECT_TOML)]
}

/// Reads all layers. Returns the first problem in any of them.
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

/// Parses and checks a value given as plain text for a key.
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

/// The configured iteration limits.
pub fn limits(context: &Context<'_>, store: &Store) -> Result<IterationLimits, Refusal> {
    let config = load(context, store)?;
    let limit = |mode: Mode| {
        let key = format!("{LIMITS}{}", mode.name());
        Some((mode, config.get(&key)?.value.as_u64()?))
    };
    Ok(Mode::ALL.into_iter().filter_map(limit).collect())
}
