//! Removing runs that ended long ago.

use omx_conductor::overview::overview;
use omx_kernel::Refusal;
use omx_ops::Context;
use omx_ops::config::{self, span_seconds};
use omx_store::Store;
use serde_json::json;

use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn gc(context: &Context<'_>, store: &Store, format: Format) -> Result<Exit, Refusal> {
    let config = config::load(context, store)?;
    let kept =
        config.get("retention").and_then(|setting| setting.value.as_str()).and_then(span_seconds);
    let kept = i64::try_from(kept.unwrap_or(30 * 86_400)).unwrap_or(i64::MAX) * 1000;
    let now = context.clock.now();
    let mut removed = Vec::new();
    for run in store.runs()? {
        let Some(folder) = store.run(&run.id)? else { continue };
        let Ok(seen) = overview(store, &folder) else { continue };
        // One that could be gone on with is never old enough.
        let old = seen.last.is_some_and(|last| now.millis_since(last) > kept);
        if old && seen.state != "running" && !seen.is_open() {
            store.lock(context.lock_deadline, "runs gc")?.remove_run(&run.id)?;
            removed.push(run.id.to_string());
        }
    }
    if format == Format::Json {
        return Ok(output::text(&format!("{}\n", json!({ "removed": removed }))));
    }
    let words = match removed.len() {
        0 => "Nothing is old enough to be removed.\n".to_owned(),
        many => format!("Removed {many} of the runs.\n"),
    };
    Ok(output::text(&words))
}
