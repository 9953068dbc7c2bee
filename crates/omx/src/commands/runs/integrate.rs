//! Merges a run's branch into the branch the person has checked out.

use omx_kernel::Refusal;
use omx_ops::{Context, RunSelector, run_integrate};

use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn integrate(
    context: &Context<'_>,
    run: &RunSelector,
    format: Format,
) -> Result<Exit, Refusal> {
    let report = run_integrate(context, run)?;
    if format == Format::Json {
        return Ok(output::value(&report.value(), format));
    }
    let (merge, branch) = (&report.merge, &report.branch);
    if let Some(hook) = &merge.hook {
        output::note(&format!("warning: {hook}"));
    }
    let line = if merge.before == merge.after {
        format!("{} already contains {branch}.", merge.into)
    } else {
        format!("Merged {branch} into {}.", merge.into)
    };
    Ok(output::lines(&[line]))
}
