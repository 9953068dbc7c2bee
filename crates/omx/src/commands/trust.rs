//! `trust`: shows what a project's configuration would enable, and records the person's
//! consent.

use std::path::{Path, PathBuf};

use omx_kernel::{Dialect, EscapedText, Refusal, Value};
use omx_ops::Context;
use omx_ops::config::{self, Config};
use omx_store::Store;

use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_trust::TrustArgs;
use crate::consent;
use crate::exit::Exit;
use crate::output::{self, Format};

/// Runs the command.
pub fn run(args: &TrustArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    with_context(global, by_name, format, |context| {
        if args.list {
            return list(context, format);
        }
        let store = match &args.path {
            Some(path) => context.store_for(Some(&project_of(context, path)))?,
            None => context.store()?,
        };
        if args.revoke {
            return revoke(context, &store, format);
        }
        trust(context, &store, args, format)
    })
}

/// The project's folder, if the path is that of a configuration file in it.
fn project_of(context: &Context<'_>, path: &Path) -> PathBuf {
    let path = context.place.working_directory.join(path);
    let folder = match path.parent() {
        Some(parent) if !path.is_dir() => parent,
        _ => return path,
    };
    match folder.parent() {
        Some(root) if folder.ends_with(context.dialect.dir_name) => root.to_owned(),
        _ => folder.to_owned(),
    }
}

fn trust(
    context: &Context<'_>,
    store: &Store,
    args: &TrustArgs,
    format: Format,
) -> Result<Exit, Refusal> {
    let config = config::load(context, store)?;
    if format == Format::Text {
        if config.waiting.is_empty() {
            return Ok(output::text("Nothing in this project's configuration waits for trust.\n"));
        }
        output::lines(&consent::preview(&config, &config.waiting));
    }
    let question = "Trust this configuration?";
    let is_trusted = config.waiting.is_empty()
        || args.yes
        || (consent::is_interactive() && consent::confirm(question));
    if is_trusted {
        config::trust_files(context, &config.waiting)?;
    }
    if format == Format::Json {
        output::value(&report(&config, is_trusted), format);
    } else if is_trusted {
        output::text("Trusted until the file changes.\n");
    } else {
        output::note("not trusted; after reading the above, trust it with --yes");
    }
    Ok(if is_trusted { Exit::Done } else { Exit::NeedsPerson })
}

fn report(config: &Config, is_trusted: bool) -> Value {
    let files = config.waiting.iter().map(|file| {
        let settings = file.settings.iter();
        let settings = settings.map(|setting| (setting.key.clone(), setting.value.clone()));
        let all = file.all.iter();
        let all = all.map(|setting| (setting.key.clone(), setting.value.clone()));
        Value::record([
            ("path", Value::string(&file.path.to_string_lossy())),
            ("settings", Value::object(settings.collect())),
            ("all", Value::object(all.collect())),
        ])
    });
    Value::record([("trusted", Value::bool(is_trusted)), ("files", Value::array(files.collect()))])
}

fn list(context: &Context<'_>, format: Format) -> Result<Exit, Refusal> {
    let entries = config::trust_list(context)?;
    if format == Format::Json {
        let files = entries.iter().map(|entry| {
            Value::record([
                ("path", Value::string(&entry.path.to_string_lossy())),
                ("trusted_at", Value::string(&entry.at.to_string())),
                ("state", Value::string(entry.state.as_str())),
            ])
        });
        let files = Value::array(files.collect());
        return Ok(output::value(&Value::record([("files", files)]), format));
    }
    if entries.is_empty() {
        return Ok(output::text("You trust no project's configuration.\n"));
    }
    let lines = entries.iter().map(|entry| {
        let path = entry.path.to_string_lossy();
        format!("{:<7}  {}  {}", entry.state.as_str(), entry.at, EscapedText::one_line(&path))
    });
    Ok(output::lines(&lines.collect::<Vec<_>>()))
}

fn revoke(context: &Context<'_>, store: &Store, format: Format) -> Result<Exit, Refusal> {
    let revoked = config::trust_revoke(context, store)?;
    if format == Format::Json {
        let paths = revoked.iter().map(|path| Value::string(&path.to_string_lossy()));
        let value = Value::record([("revoked", Value::array(paths.collect()))]);
        return Ok(output::value(&value, format));
    }
    if revoked.is_empty() {
        return Ok(output::text("Nothing in this project was trusted.\n"));
    }
    let line = |path: &PathBuf| {
        format!("No longer trusted: {}", EscapedText::one_line(&path.to_string_lossy()))
    };
    Ok(output::lines(&revoked.iter().map(line).collect::<Vec<_>>()))
}
