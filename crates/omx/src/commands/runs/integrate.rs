//! Merges a run's branch into the branch the person has checked out.

use omx_kernel::Refusal;
use omx_ops::{Context, FailedCheckPolicy, RunIntegrateRequest, RunSelector, run_integrate};

use crate::cli_runs::IntegrateArgs;
use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn integrate(
    context: &Context<'_>,
    args: IntegrateArgs,
    format: Format,
) -> Result<Exit, Refusal> {
    let failed_check =
        if args.anyway { FailedCheckPolicy::Merge } else { FailedCheckPolicy::Refuse };
    let run = RunSelector { project: None, id: args.id };
    let report = run_integrate(context, &RunIntegrateRequest { run, failed_check })?;
    if format == Format::Json {
        return Ok(output::value(&report.value(), format));
    }
    let (merge, branch) = (&report.merge, &report.branch);
    if let Some(hook) = &merge.hook {
        output::note(&format!("warning: {hook}"));
    }
    if let Some(first) = report.uncommitted.first() {
        let (count, id) = (report.uncommitted.len(), &report.id);
        output::note(&format!(
            "warning: {count} files of the workspace of run {id} are not committed and not merged, \
             such as {:?}",
            first.display().to_string()
        ));
    }
    let line = if merge.before == merge.after && !report.uncommitted.is_empty() {
        format!("Nothing is merged: everything that {branch} contains is in {}.", merge.into)
    } else if merge.before == merge.after {
        format!("{} already contains {branch}.", merge.into)
    } else {
        format!("Merged {branch} into {}.", merge.into)
    };
    Ok(output::lines(&[line]))
}
