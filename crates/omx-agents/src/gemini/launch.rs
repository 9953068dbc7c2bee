//! The command line and the environment of gemini.

use std::ffi::OsString;

use omx_kernel::approval::AllowLevel;

use crate::agent::ConversationSpec;
use crate::driver::{AgentEnv, AgentInstallation};
use crate::environment::agent_environment;
use crate::protocol::{Confinement, Launch};

/// The variable that names gemini's log file.
const LOG: &str = "GEMINI_DEBUG_LOG_FILE";
/// The prefix of variables that connect gemini to the person's editor, which
/// would open every change there.
const EDITOR: &str = "GEMINI_CLI_IDE_";

/// The mode in which gemini starts. Its response shows whether it trusts the
/// folder: in an untrusted one, it always starts in its default mode.
pub(super) fn starting_mode(allow: AllowLevel) -> StartingMode {
    match allow {
        // Once open, the session switches to asking about everything: this
        // mode would also fetch web pages without asking.
        AllowLevel::Edits | AllowLevel::Commands => {
            StartingMode { flag: "auto_edit", id: "autoEdit" }
        }
        AllowLevel::All => StartingMode { flag: "yolo", id: "yolo" },
    }
}

/// A mode, as named on the command line and in the protocol.
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
    let names = ["CLOUD_SHELL", "NO_BROWSER"];
    let mark = uuid::Uuid::new_v4().to_string();
    let mut environment = agent_environment(env, &names, &["GEMINI_", "GOOGLE_"], &mark);
    environment.retain(|name, _| !name.to_string_lossy().starts_with(EDITOR));
    // A log file that the person has set stays; retries are not visible then.
    environment.entry(LOG.into()).or_insert_with(|| "/dev/stderr".into());
    Launch {
        program: installation.program.clone(),
        args,
        environment,
        folder: spec.folder.clone(),
        confinement: Confinement::Unconfined,
    }
}
