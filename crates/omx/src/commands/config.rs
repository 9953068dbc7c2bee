//! `config`: shows values and their origins, and changes them.

use std::path::PathBuf;

use omx_kernel::{Dialect, Refusal, RefusalCode, Value};
use omx_ops::Context;
use omx_ops::config::{self, Config, Setting};

use super::with_context;
use crate::cli::Global;
use crate::cli_config::{ConfigGetArgs, ConfigListArgs, ConfigOperation, ConfigSetArgs};
use crate::exit::Exit;
use crate::output::{self, Format};

/// Runs a config operation.
pub fn run(operation: ConfigOperation, global: &Global, by_name: Dialect) -> Exit {
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
        ConfigOperation::Schema => Ok(output::value(&config::schema(), Format::Text)),
    })
}

fn load(context: &Context<'_>) -> Result<Config, Refusal> {
    config::load(context, &context.store()?)
}

/// A value as people type it.
fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| value.as_json())
}

fn with_origin(setting: &Setting) -> Value {
    Value::record([
        ("value", setting.value.clone()),
        ("origin", Value::string(&setting.origin.to_string())),
    ])
}

fn list(context: &Context<'_>, args: &ConfigListArgs, format: Format) -> Result<Exit, Refusal> {
    let config = load(context)?;
    if format == Format::Json {
        let settings = config.settings.iter().map(|(key, setting)| {
            let value = if args.show_origin { with_origin(setting) } else { setting.value.clone() };
            (key.clone(), value)
        });
        return Ok(output::value(&Value::object(settings.collect()), format));
    }
    let lines: Vec<String> = config
        .settings
        .iter()
        .map(|(key, setting)| match args.show_origin {
            true => format!("{key} = {}  ({})", plain(&setting.value), setting.origin),
            false => format!("{key} = {}", plain(&setting.value)),
        })
        .collect();
    Ok(output::lines(&lines))
}

fn get(context: &Context<'_>, args: &ConfigGetArgs, format: Format) -> Result<Exit, Refusal> {
    let config = load(context)?;
    let Some(setting) = config.get(&args.key) else {
        let known = config::known(&args.key);
        let unset =
            || Refusal::invalid_input(format!("{} is not set and has no default", args.key));
        return Err(known.err().map_or_else(unset, Refusal::invalid_input));
    };
    Ok(match (format, args.show_origin) {
        (Format::Json, true) => output::value(&with_origin(setting), format),
        (Format::Json, false) => output::value(&setting.value, format),
        (Format::Text, true) => {
            output::lines(&[format!("{}  ({})", plain(&setting.value), setting.origin)])
        }
        (Format::Text, false) => output::lines(&[plain(&setting.value).to_owned()]),
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
