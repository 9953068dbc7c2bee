//! Changes a run's limits: iterations, tokens, money, time.

use omx_kernel::{Dialect, Refusal};
use omx_ops::{Context, LimitEffect, RunLimitReport, RunLimitRequest, RunSelector, run_limit};

use crate::cli_runs::LimitArgs;
use crate::commands::conduct::request::budget;
use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn limit(
    context: &Context<'_>,
    args: LimitArgs,
    format: Format,
) -> Result<Exit, Refusal> {
    let request = RunLimitRequest {
        max_iterations: args.max_iterations,
        budget: budget(&args.budget)?,
        run: RunSelector { project: None, id: Some(args.id) },
    };
    let report = run_limit(context, &request)?;
    if format == Format::Json {
        return Ok(output::value(&report.value(), format));
    }
    Ok(output::lines(&[limit_line(&report, context.dialect)]))
}

/// What a person reads about changed limits.
pub fn limit_line(report: &RunLimitReport, dialect: Dialect) -> String {
    let (id, program) = (&report.id, dialect.name);
    match report.effect {
        LimitEffect::Now => format!("Changed the limits of run {id}. They are in force."),
        LimitEffect::OnResume => {
            format!("Changed the limits of run {id}. Resume it: {program} runs resume {id}")
        }
        LimitEffect::Pending => format!(
            "Changed the limits of run {id}. Its process does not respond; they take effect when \
             it does, or when the run is resumed."
        ),
    }
}
