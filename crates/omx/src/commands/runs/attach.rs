//! Follows a run that another process drives.

use omx_kernel::Refusal;
use omx_ops::{Context, RunSelector, find_run, run_attach};
use omx_store::Store;

use crate::exit::Exit;
use crate::live::Live;
use crate::output::{self, Format};

pub(super) fn attach(
    context: &Context<'_>,
    store: &Store,
    words: Option<&str>,
    format: Format,
) -> Result<Exit, Refusal> {
    let id = find_run(store, words)?;
    let live = Live::new(format, &id, context.dialect);
    let run = RunSelector { project: None, id: Some(id.as_str().to_owned()) };
    let report = run_attach(context, &run, |progress| live.show(progress));
    live.finish();
    let report = report?;
    if format == Format::Json {
        return Ok(output::value(&report.value(), format));
    }
    let seen = &report.overview;
    Ok(output::lines(&[format!("{} {}", seen.state, seen.why.one_line())]))
}
