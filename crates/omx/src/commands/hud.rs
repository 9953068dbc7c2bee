//! `hud`: prints the status line. It is drawn often, so it starts nothing and reads little.

use omx_kernel::{Dialect, Refusal, Scope, SessionId};
use omx_ops::{Context, StatusRequest, config, status};
use omx_view::{Preset, StatusLine, branch};

use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_state::HudArgs;
use crate::exit::Exit;
use crate::output::{self, Format};

/// Prints the line.
pub fn run(args: &HudArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    with_context(global, by_name, format, |context| {
        // A status line does not report an invalid session id.
        let own = context.ambient_scope().unwrap_or(Scope::Compatibility);
        let session = match (&args.session_id, own.session()) {
            (Some(id), _) => Some(SessionId::new(id)?),
            (None, own) => own.cloned(),
        };
        let request = StatusRequest { session, ..StatusRequest::default() };
        let report = status(context, &request)?;
        let branch = branch(&context.place.working_directory);
        let line = StatusLine { name: context.dialect.name, branch, report: &report };
        Ok(match format {
            Format::Json => output::value(&line.value(), format),
            Format::Text => output::lines(&[line.text(preset(context, args)?)]),
        })
    })
}

/// The preset of the flag, or else the configured one. Ignores a broken
/// configuration, because nobody asked for the status line.
fn preset(context: &Context<'_>, args: &HudArgs) -> Result<Preset, Refusal> {
    if let Some(preset) = args.preset.as_deref().and_then(Preset::named) {
        return Ok(preset);
    }
    let store = context.store()?;
    let configured = config::load(context, &store).ok();
    let name = configured.as_ref().and_then(|config| config.get("hud.preset")?.value.as_str());
    Ok(name.and_then(Preset::named).unwrap_or(Preset::Focused))
}
