//! `config`: shows values and their origins, and changes them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use omx_kernel::{Dialect, EscapedText, Refusal, RefusalCode, Value};
use omx_ops::Context;
use omx_ops::config::{self, Config, Origin};

use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_config::{ConfigGetArgs, ConfigListArgs, ConfigOperation, ConfigSetArgs};
use crate::exit::Exit;
use crate::output::{self, Format};

/// Runs a config operation.
pub fn run(operation: ConfigOperation, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = match &operation {
        ConfigOperation::List(args) => Format::from_flag(args.json),
        ConfigOperation::Get(args) => Format::from_flag(args.json),
        ConfigOperation::Path(args) => Format::from_flag(args.json),
        ConfigOperation::Set(_) | ConfigOperation::Schema => Format::Text,
    };
    with_context(global, by_name, format, |context| match operation {
        ConfigOperation::List(args) => list(context, &args, format),
        ConfigOperation::Get(args) => get(context, &args, format),
        ConfigOperation::Set(args) => set(context, &args),
        ConfigOperation::Path(args) => path(context, &args, format),
        ConfigOperation::Schema => {
            Ok(output::value(&config::schema(context.dialect), Format::Text))
        }
    })
}

fn load(context: &Context<'_>) -> Result<Config, Refusal> {
    config::load(context, &context.store()?)
}

/// A value as people type it.
fn plain(value: &Value) -> EscapedText<'_> {
    EscapedText::one_line(value.as_str().unwrap_or_else(|| value.as_json()))
}

fn with_origin(value: &Value, origin: &Origin) -> Value {
    Value::record([("value", value.clone()), ("origin", Value::string(&origin.to_string()))])
}

/// A setting with its origin and what waits for trust, for programs.
fn with_waiting(config: &Config, key: &str) -> Value {
    let setting = config.get(key);
    let value = setting.map_or_else(Value::null, |setting| setting.value.clone());
    let origin = setting.map_or_else(Value::null, |it| Value::string(&it.origin.to_string()));
    let mut fields = vec![("value".to_owned(), value), ("origin".to_owned(), origin)];
    if let Some((waiting, origin)) = config.waiting_for(key) {
        fields.push(("waits_for_trust".to_owned(), with_origin(&waiting.value, &origin)));
    }
    Value::object(fields)
}

/// The keys that are set or would be.
fn all_keys(config: &Config) -> BTreeSet<&str> {
    let waiting = config.waiting.iter().flat_map(|file| &file.settings);
    let waiting = waiting.map(|setting| setting.key.as_str());
    config.settings.keys().map(String::as_str).chain(waiting).collect()
}

fn list(context: &Context<'_>, args: &ConfigListArgs, format: Format) -> Result<Exit, Refusal> {
    let config = load(context)?;
    if format == Format::Json {
        let settings: Vec<(String, Value)> = if args.show_origin {
            let keys = all_keys(&config).into_iter();
            keys.map(|key| (key.to_owned(), with_waiting(&config, key))).collect()
        } else {
            let settings = config.settings.iter();
            settings.map(|(key, setting)| (key.clone(), setting.value.clone())).collect()
        };
        return Ok(output::value(&Value::object(settings), format));
    }
    let mut lines: Vec<String> = Vec::new();
    for key in all_keys(&config) {
        let shown = EscapedText::one_line(key);
        if let Some(setting) = config.get(key) {
            let origin = match args.show_origin {
                true => format!("  ({})", setting.origin),
                false => String::new(),
            };
            lines.push(format!("{shown} = {}{origin}", plain(&setting.value)));
        }
        if args.show_origin
            && let Some((waiting, origin)) = config.waiting_for(key)
        {
            let value = plain(&waiting.value);
            lines.push(format!("{shown} = {value}  ({origin}, waits for trust)"));
        }
    }
    if args.show_origin {
        let ignored = config.ignored.iter();
        lines.extend(ignored.map(|setting| {
            let key = EscapedText::one_line(&setting.key);
            format!("{key} is ignored  ({}, only your own configuration sets it)", setting.origin)
        }));
        lines.extend(config.skipped.iter().map(|path| {
            let path = path.to_string_lossy();
            let path = EscapedText::one_line(&path);
            format!("{path} is ignored: another user owns it or can write it")
        }));
        if !config.waiting.is_empty() {
            output::lines(&lines);
            let program = context.dialect.name;
            output::note(&format!("note: what waits counts after: {program} trust"));
            return Ok(Exit::Done);
        }
    }
    Ok(output::lines(&lines))
}

fn get(context: &Context<'_>, args: &ConfigGetArgs, format: Format) -> Result<Exit, Refusal> {
    let config = load(context)?;
    let Some(setting) = config.get(&args.key) else {
        let known = config::known(&args.key);
        if let Some((_, origin)) = config.waiting_for(&args.key) {
            let program = context.dialect.name;
            let why =
                format!("{} is set in {origin} and waits for trust: {program} trust", args.key);
            return Err(Refusal::new(RefusalCode::NeedsTrust, why));
        }
        let unset =
            || Refusal::invalid_input(format!("{} is not set and has no default", args.key));
        return Err(known.err().map_or_else(unset, Refusal::invalid_input));
    };
    Ok(match (format, args.show_origin) {
        (Format::Json, true) => output::value(&with_waiting(&config, &args.key), format),
        (Format::Json, false) => output::value(&setting.value, format),
        (Format::Text, true) => {
            output::lines(&[format!("{}  ({})", plain(&setting.value), setting.origin)])
        }
        (Format::Text, false) => output::lines(&[plain(&setting.value).to_string()]),
    })
}

fn set(context: &Context<'_>, args: &ConfigSetArgs) -> Result<Exit, Refusal> {
    let (path, value) = if args.project {
        let value = config::set_for_project(context, &args.key, &args.value)?;
        let tree = context.store()?.tree().to_owned();
        (tree.join(config::PROJECT_TOML), value)
    } else {
        let path = context.config.user_file.clone().ok_or_else(|| {
            Refusal::new(RefusalCode::Io, "cannot find the user configuration: HOME is not set")
        })?;
        let value = config::set_for_user(context, &path, &args.key, &args.value)?;
        (path, value)
    };
    let mut lines = vec![format!("{} = {}  ({})", args.key, plain(&value), path.display())];
    if let Some(winner) = load(context)?.get(&args.key)
        && winner.value != value
    {
        lines.push(format!("Overridden by: {}  ({})", plain(&winner.value), winner.origin));
    }
    Ok(output::lines(&lines))
}

fn path(context: &Context<'_>, args: &ConfigListArgs, format: Format) -> Result<Exit, Refusal> {
    let store = context.store()?;
    let project = config::project_files(store.root(), store.tree(), context.dialect);
    let user = context.config.user_file.iter().cloned().map(|path| (path, "user"));
    let files: Vec<(PathBuf, &str)> =
        user.chain(project.into_iter().map(|path| (path, "project"))).collect();
    if format == Format::Json {
        let files = files.iter().map(|(path, layer)| {
            Value::record([
                ("path", Value::string(&path.to_string_lossy())),
                ("layer", Value::string(layer)),
                ("exists", Value::bool(path.exists())),
            ])
        });
        let value = Value::record([("files", Value::array(files.collect()))]);
        return Ok(output::value(&value, format));
    }
    let lines: Vec<String> = files
        .iter()
        .map(|(path, layer)| {
            let layer = if args.show_origin { format!("  ({layer})") } else { String::new() };
            let there = if path.exists() { "" } else { "  (missing)" };
            format!("{}{layer}{there}", path.display())
        })
        .collect();
    Ok(output::lines(&lines))
}
