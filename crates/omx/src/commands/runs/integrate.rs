//! Bringing what a run made to the branch the person is on.

use omx_kernel::{Refusal, RefusalCode};
use omx_ops::Context;
use omx_runs::spec::{RunSpec, Workspace};
use omx_runs::workspace;
use omx_store::Store;
use omx_store::runs::{LockHolder, RunAcquisition};
use serde_json::json;

use super::find;
use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn integrate(
    context: &Context<'_>,
    store: &Store,
    words: Option<&str>,
    format: Format,
) -> Result<Exit, Refusal> {
    let id = find(store, words)?;
    // Held while it is integrated, so that nothing is added meanwhile.
    let held = match store.acquire_run(&id, &LockHolder::this_process())? {
        RunAcquisition::Acquired(held) => held,
        RunAcquisition::HeldBy(_) => {
            return Err(Refusal::new(RefusalCode::Busy, format!("run {id} is still going on")));
        }
        RunAcquisition::Missing => {
            return Err(Refusal::invalid_input(format!("there is no run {id}")));
        }
    };
    let asked = RunSpec::load(held.folder())?;
    let Workspace::Worktree { branch, .. } = &asked.workspace else {
        return Err(Refusal::invalid_input(format!(
            "run {id} worked in place; there is nothing to merge"
        )));
    };
    let scratch = held.folder().scratch()?;
    let done =
        workspace::integrate(&context.project_env(store, &edge::environment()), &id, scratch)?;
    if format == Format::Json {
        let object = json!({
            "id": id.as_str(), "branch": branch, "into": done.into,
            "before": done.before.as_str(), "after": done.after.as_str(),
        });
        return Ok(output::text(&format!("{object}\n")));
    }
    if let Some(hook) = &done.hook {
        output::note(&format!("warning: {hook}"));
    }
    let words = if done.before == done.after {
        format!("{} has all of {branch} already.\n", done.into)
    } else {
        format!("Merged {branch} into {}.\n", done.into)
    };
    Ok(output::text(&words))
}
