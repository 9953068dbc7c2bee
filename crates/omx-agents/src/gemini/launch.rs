//! How gemini is started.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use omx_kernel::approval::Allow;
use serde_json::json;

use super::account::{self, Account, Method};
use crate::agent::Opening;
use crate::driver::{Installation, Surroundings};
use crate::environment::{environment, variable};
use crate::protocol::Launch;
use crate::trouble::Cause;

/// Where gemini is told to write its log.
const LOG: &str = "GEMINI_DEBUG_LOG_FILE";
/// Names the file with the settings that count least.
const DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
/// Names the file with the settings that count most.
const SYSTEM: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
/// The ways into the person's editor, which would show every change there.
const EDITOR: &str = "GEMINI_CLI_IDE_";

/// The mode gemini is started in. What it answers tells whether it trusts the
/// folder: in others it starts in its default mode, whatever it is told.
pub(super) fn starting_mode(allow: Allow) -> Mode {
    match allow {
        // Afterwards it is set to ask about everything: this one would also
        // fetch web pages unasked.
        Allow::Edits | Allow::Commands => Mode { flag: "auto_edit", id: "autoEdit" },
        Allow::All => Mode { flag: "yolo", id: "yolo" },
    }
}

/// A mode, as the command line and as the protocol name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    flag: &'static str,
    pub(super) id: &'static str,
}

/// The process of a conversation.
pub(super) fn launch(
    opening: &Opening,
    installation: &Installation,
    surroundings: &Surroundings,
) -> Result<Launch, Cause> {
    let mut args: Vec<OsString> =
        vec!["--acp".into(), "--approval-mode".into(), starting_mode(opening.allow).flag.into()];
    if let Some(model) = &opening.model {
        args.push(format!("--model={model}").into());
    }
    let names = ["CLOUD_SHELL", "DBUS_SESSION_BUS_ADDRESS", "NO_BROWSER"];
    let mark = uuid::Uuid::new_v4().to_string();
    let mut environment = environment(surroundings, &names, &["GEMINI_", "GOOGLE_"], &mark);
    environment.retain(|name, _| !name.to_string_lossy().starts_with(EDITOR));
    // A log the person wants elsewhere stays there; then retries are not seen.
    environment.entry(LOG.into()).or_insert_with(|| "/dev/stderr".into());
    if let Account::Found(method) = account::look(surroundings)?
        && !has_defaults(surroundings)
    {
        let file = write_defaults(&surroundings.scratch, method)
            .map_err(|error| Cause::CannotStart { detail: error.to_string() })?;
        environment.insert(DEFAULTS.into(), file.into());
    }
    Ok(Launch {
        program: installation.program.clone(),
        args,
        environment,
        folder: opening.folder.clone(),
    })
}

/// Whether somebody has set up such settings on this machine.
fn has_defaults(surroundings: &Surroundings) -> bool {
    let own = variable(surroundings, SYSTEM).map(Path::new).and_then(Path::parent);
    let usual = if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli"
    } else {
        "/etc/gemini-cli"
    };
    let folder = own.unwrap_or(Path::new(usual));
    variable(surroundings, DEFAULTS).is_some() || folder.join("system-defaults.json").exists()
}

/// Over its protocol gemini goes on with a conversation only if its settings
/// say how it logs in, and no variable says that. Its own way out would write
/// the choice into the person's settings.
fn write_defaults(scratch: &Path, method: Method) -> io::Result<PathBuf> {
    let word = method.as_str();
    let settings = json!({"security": {"auth": {"selectedType": word}}});
    fs::create_dir_all(scratch)?;
    let file = scratch.join(format!("gemini-{word}.json"));
    let new = scratch.join(format!("gemini-{word}.{}.new", uuid::Uuid::new_v4()));
    fs::write(&new, settings.to_string())?;
    fs::rename(&new, &file)?;
    Ok(file)
}
