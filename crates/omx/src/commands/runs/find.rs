//! Which run is meant.

use omx_kernel::{Mode, Refusal, RunId};
use omx_runs::overview::overview;
use omx_store::Store;

/// The run whose id begins like this; without any words, the last one.
pub fn find(store: &Store, words: Option<&str>) -> Result<RunId, Refusal> {
    let runs = store.runs()?;
    let words = words.unwrap_or_default();
    let mut fits = runs.iter().filter(|run| run.id.as_str().starts_with(words));
    match (fits.next_back(), words.is_empty()) {
        (None, true) => Err(Refusal::invalid_input("there is no run in this project")),
        (None, false) => {
            Err(Refusal::invalid_input(format!("there is no run {words}; omx runs lists them")))
        }
        (Some(run), false) if fits.next().is_some() => Err(Refusal::invalid_input(format!(
            "several runs begin with {words}, {} among them; say more of its id",
            run.id
        ))),
        (Some(run), _) => Ok(run.id.clone()),
    }
}

/// The run to resume: the one named, or the last of this mode that did not finish.
pub fn find_to_resume(store: &Store, mode: Mode, words: &str) -> Result<RunId, Refusal> {
    if !words.is_empty() {
        return find(store, Some(words));
    }
    for run in store.runs()?.iter().rev() {
        let Some(folder) = store.run(&run.id)? else { continue };
        let seen = overview(store, &folder)?;
        if seen.spec.mode == mode && seen.is_resumable() {
            return Ok(run.id.clone());
        }
    }
    Err(Refusal::invalid_input(format!("there is no {} run to go on with", mode.name())))
}
