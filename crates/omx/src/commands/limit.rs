//! `limit`: changes the iteration limit of a run, or of a mode inside a conversation.

use omx_kernel::{Dialect, Mode, Refusal, SessionId};
use omx_ops::{LimitReport, LimitRequest, ModeLimitReport, limit};

use super::runs::limit_line;
use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_state::ModeLimitArgs;
use crate::exit::Exit;
use crate::output::{self, Format};

/// Changes a limit.
pub fn run(args: &ModeLimitArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    with_context(global, by_name, format, |context| {
        let report = limit(context, &request(args)?)?;
        Ok(match (format, &report) {
            (Format::Json, _) => output::value(&report.value(), format),
            (Format::Text, LimitReport::Run(run)) => {
                output::lines(&[limit_line(run, context.dialect)])
            }
            (Format::Text, LimitReport::Mode(changed)) => output::lines(&[mode_line(changed)]),
        })
    })
}

fn request(args: &ModeLimitArgs) -> Result<LimitRequest, Refusal> {
    let (target, number) = match &args.what[..] {
        [target, number] => (Some(target.clone()), number),
        [number, ..] => (None, number),
        [] => return Err(Refusal::invalid_input("name the new limit")),
    };
    let max_iterations = number.parse().ok().filter(|number| *number >= 1).ok_or_else(|| {
        Refusal::invalid_input(format!(
            "the limit must be a whole number of at least 1, not {number:?}"
        ))
    })?;
    let mode = args.mode.as_deref().map(Mode::parse).transpose()?;
    Ok(LimitRequest { project: None, target, mode, max_iterations })
}

fn mode_line(changed: &ModeLimitReport) -> String {
    let ModeLimitReport { mode, scope, max_iterations, active } = changed;
    let session = scope.session().map_or("-", SessionId::as_str);
    let name = mode.name();
    let then = match active {
        true => "It is in force.".to_owned(),
        false => format!("{} is not active; it holds when the run is resumed.", mode.title()),
    };
    format!("Changed the limit of {name} in session {session} to {max_iterations}. {then}")
}
