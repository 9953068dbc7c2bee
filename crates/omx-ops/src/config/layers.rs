//! The configuration layers, from built-in defaults to flags. Later layers win.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use omx_kernel::config_keys::{KEYS, Kind, check, full_name, row_of};
use omx_kernel::project_config::{ProjectValue, judge_project_value};
use omx_kernel::{Dialect, IterationLimits, Mode, Refusal, Value};
use omx_store::{ContentHash, Store, json};

use super::files::{self, ConfigFile};
use super::trust;
use crate::context::Context;

/// The configuration sources that the edge found.
#[derive(Clone, Debug, Default)]
pub struct ConfigSources {
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

/// A setting of a project that counts once the person trusts its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingSetting {
    /// The dotted key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Its line number.
    pub line: usize,
}

/// A project's file with settings that wait for trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingFile {
    /// Its path.
    pub path: PathBuf,
    /// The content that was read. Trust in the file is trust in this content.
    pub hash: ContentHash,
    /// What waits.
    pub settings: Vec<WaitingSetting>,
    /// Everything that the file sets. Trust is in all of it: what another file overrides
    /// now, or what tightens now, may loosen later.
    pub all: Vec<WaitingSetting>,
}

/// A setting that never counts in a project's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredSetting {
    /// The dotted key.
    pub key: String,
    /// Where it is.
    pub origin: Origin,
}

/// All effective settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Settings by dotted key.
    pub settings: BTreeMap<String, Setting>,
    /// What counts once the person trusts it.
    pub waiting: Vec<WaitingFile>,
    /// What a project may not set.
    pub ignored: Vec<IgnoredSetting>,
    /// Files of the project that another user owns or can write.
    pub skipped: Vec<PathBuf>,
}

impl Config {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.get(&canonical(key))
    }

    /// The waiting setting of a key, with its origin.
    pub fn waiting_for(&self, key: &str) -> Option<(&WaitingSetting, Origin)> {
        let key = canonical(key);
        self.waiting.iter().rev().find_map(|file| {
            let setting = file.settings.iter().rev().find(|setting| setting.key == key)?;
            Some((setting, Origin::File(file.path.clone(), setting.line)))
        })
    }

    fn put(&mut self, key: &str, value: Value, origin: Origin) {
        let key = canonical(key);
        // What a later layer sets would not count even if it were trusted.
        for file in &mut self.waiting {
            file.settings.retain(|setting| setting.key != key);
        }
        self.settings.insert(key, Setting { value, origin });
    }
}

/// Replaces an older name of a mode in a key by the current one.
fn canonical(key: &str) -> String {
    let renamed = key
        .strip_prefix(LIMITS)
        .and_then(|name| Mode::parse(name).ok())
        .map(|mode| format!("{LIMITS}{}", mode.name()));
    renamed.unwrap_or_else(|| full_name(key).to_owned())
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
            let setting = Setting { value: typed(row.kind, default), origin: Origin::Default };
            config.settings.insert(row.name.to_owned(), setting);
        }
    }
    if let Some(path) = &context.config.user_file {
        for setting in files::read(path)?.settings {
            config.put(&setting.key, setting.value, Origin::File(path.clone(), setting.line));
        }
    }
    let [project, in_tree] = project_files(store.root(), store.tree(), context.dialect);
    let files =
        [(&project, files::read_of_project(&project)?), (&in_tree, files::read_in_tree(&in_tree)?)];
    let skipped = files.iter().filter(|(_, file)| file.is_skipped);
    config.skipped = skipped.map(|(path, _)| (*path).clone()).collect();
    if files.iter().any(|(_, file)| !file.settings.is_empty()) {
        // A project tightens what the person set, not what another file of it set.
        let own = config.settings.clone();
        let trust_folder = context.trust_folder();
        for (path, file) in files {
            put_project_file(&mut config, &own, path, file, trust_folder.as_deref());
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
    config.waiting.retain(|file| !file.settings.is_empty());
    Ok(config)
}

/// Adds a file of the project: what counts takes effect, the rest waits for trust.
fn put_project_file(
    config: &mut Config,
    own: &BTreeMap<String, Setting>,
    path: &Path,
    file: ConfigFile,
    trust_folder: Option<&Path>,
) {
    let judge = |key: &str, value: &Value| {
        let own = own.get(&canonical(key)).map(|setting| &setting.value);
        row_of(key)
            .map_or(ProjectValue::WaitsForTrust, |row| judge_project_value(row, key, value, own))
    };
    let hash = ContentHash::from_content(file.text.as_bytes());
    let mut is_trusted = None;
    let mut waiting = Vec::new();
    let mut all = Vec::new();
    for setting in file.settings {
        let whole = WaitingSetting {
            key: canonical(&setting.key),
            value: setting.value.clone(),
            line: setting.line,
        };
        let judged = match judge(&setting.key, &setting.value) {
            ProjectValue::WaitsForTrust
                if *is_trusted
                    .get_or_insert_with(|| trust::is_trusted(trust_folder, path, &hash)) =>
            {
                ProjectValue::Counts
            }
            judged => judged,
        };
        let origin = Origin::File(path.to_owned(), setting.line);
        match judged {
            ProjectValue::Counts => {
                all.push(whole);
                config.put(&setting.key, setting.value, origin);
            }
            ProjectValue::WaitsForTrust => {
                all.push(whole.clone());
                waiting.push(whole);
            }
            ProjectValue::PersonOnly => {
                config.ignored.push(IgnoredSetting { key: setting.key, origin });
            }
        }
    }
    config.waiting.push(WaitingFile { path: path.to_owned(), hash, settings: waiting, all });
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
        // A list on the command line is separated by colons, like the search path, or commas.
        Kind::Paths if !text.starts_with('[') => {
            let paths = text.split([':', ',']).map(str::trim).filter(|path| !path.is_empty());
            Value::array(paths.map(Value::string).collect())
        }
        Kind::Count | Kind::Amount | Kind::Paths => {
            json::parse(text).unwrap_or_else(|_| Value::string(text))
        }
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
