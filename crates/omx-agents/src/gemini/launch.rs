//! How gemini is started.

use std::ffi::OsString;

use omx_kernel::approval::AllowLevel;

use crate::agent::ConversationSpec;
use crate::driver::{AgentEnv, AgentInstallation};
use crate::environment::agent_environment;
use crate::protocol::Launch;

/// Where gemini is told to write its log.
const LOG: &str = "GEMINI_DEBUG_LOG_FILE";
/// The ways into the person's editor, which would show every change there.
const EDITOR: &str = "GEMINI_CLI_IDE_";

/// The mode gemini is started in. What it answers tells whether it trusts the
/// folder: in others it starts in its default mode, whatever it is told.
pub(super) fn starting_mode(allow: AllowLevel) -> StartingMode {
    match allow {
        // Afterwards it is set to ask about everything: this one would also
        // fetch web pages unasked.
        AllowLevel::Edits | AllowLevel::Commands => {
            StartingMode { flag: "auto_edit", id: "autoEdit" }
        }
        AllowLevel::All => StartingMode { flag: "yolo", id: "yolo" },
    }
}

/// A mode, as the command line and as the protocol name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartingMode {
    flag: &'static str,
    pub(super) id: &'static str,
}

/// The process of a conversation.
pub(super) fn launch(
    spec: &ConversationSpec,
    installation: &AgentInstallation,
    env: &AgentEnv,
) -> Launch {
    let mut args: Vec<OsString> =
        vec!["--acp".into(), "--approval-mode".into(), starting_mode(spec.allow).flag.into()];
    if let Some(model) = &spec.model {
        args.push(format!("--model={model}").into());
    }
    let names = ["CLOUD_SHELL", "DBUS_SESSION_BUS_ADDRESS", "NO_BROWSER"];
    let mark = uuid::Uuid::new_v4().to_string();
    let mut environment = agent_environment(env, &names, &["GEMINI_", "GOOGLE_"], &mark);
    environment.retain(|name, _| !name.to_string_lossy().starts_with(EDITOR));
    // A log the person wants elsewhere stays there; then retries are not seen.
    environment.entry(LOG.into()).or_insert_with(|| "/dev/stderr".into());
    Launch { program: installation.program.clone(), args, environment, folder: spec.folder.clone() }
}
