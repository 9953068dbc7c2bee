//! Whose run a folder holds. A run folder can come with a clone, so a run is resumed,
//! merged or removed only if the person started it, or adopted it after a look.

use omx_kernel::{GuardedAct, Refusal, RefusalCode, RunId};
use omx_runs::overview::{Overview, overview};
use omx_runs::{Record, RunSpec, recorded_changes};
use omx_store::runs::{HeldRun, RunFolder, RunRegistry, RunTitle};

use super::find::open_folder;
use super::select::RunSelector;
use crate::context::Context;

pub(super) fn registry(context: &Context<'_>) -> Option<RunRegistry> {
    context.runs.registry_folder(context.dialect).map(RunRegistry::new)
}

/// Whether the person started or adopted this run. Without a home there are no records,
/// and every run counts as the person's.
pub(crate) fn is_own(context: &Context<'_>, folder: &RunFolder) -> Result<bool, Refusal> {
    match registry(context) {
        Some(registry) => {
            Ok(registry.title(folder, &recorded_changes(folder))? != RunTitle::Foreign)
        }
        None => Ok(true),
    }
}

/// Refuses a run that the person neither started nor adopted. One whose project was moved is
/// recorded in its new place.
pub fn require_own(context: &Context<'_>, folder: &RunFolder) -> Result<(), Refusal> {
    let Some(registry) = registry(context) else { return Ok(()) };
    match registry.title(folder, &recorded_changes(folder))? {
        RunTitle::Own => return Ok(()),
        RunTitle::Moved => {
            // The next command tries again.
            let _ = registry.own(folder, &recorded_changes(folder), context.now());
            return Ok(());
        }
        RunTitle::Foreign => {}
    }
    let (id, program) = (folder.id(), context.dialect.name);
    Err(Refusal::new(
        RefusalCode::NeedsTrust,
        format!(
            "run {id} is foreign: you did not start it here, it was changed or copied, or its \
             record is not on this machine (a restored backup, an earlier version); see what it would do, and make it \
             yours: {program} runs adopt {id}"
        ),
    ))
}

/// Records that the person started a run. Returns a warning on failure.
pub(super) fn record_start(context: &Context<'_>, folder: &RunFolder) -> Option<String> {
    let error = registry(context)?.own(folder, &[], context.now()).err()?;
    let (id, program) = (folder.id(), context.dialect.name);
    Some(format!(
        "the run cannot be recorded as yours ({error}); to resume or merge it later, adopt \
         it first: {program} runs adopt {id}"
    ))
}

/// Appends records with which the person changes a run. A run whose journal changes what it
/// was asked to do without such a record of the person is foreign from then on.
pub(super) fn append_changes(
    context: &Context<'_>,
    held: &mut HeldRun,
    records: &[Record],
) -> Result<(), Refusal> {
    let texts = records.iter().filter_map(Record::spec_change_text);
    let changes: Vec<String> = recorded_changes(held.folder()).into_iter().chain(texts).collect();
    let is_change = records.iter().any(|record| record.spec_change_text().is_some());
    let registry = registry(context).filter(|_| is_change);
    if let Some(registry) = &registry {
        registry.announce_change(held.folder(), &changes, context.now())?;
    }
    for record in records {
        held.journal().append(context.now(), record)?;
    }
    if let Some(registry) = registry {
        registry.own(held.folder(), &changes, context.now())?;
    }
    Ok(())
}

/// Forgets runs that are gone.
pub(super) fn forget<'a>(context: &Context<'_>, runs: impl IntoIterator<Item = &'a RunId>) {
    let Some(registry) = registry(context) else { return };
    for run in runs {
        // A record of a run that is gone is harmless.
        let _ = registry.disown(run);
    }
}

/// A run that the person may adopt, with everything that a resume would use.
#[derive(Debug)]
pub struct ForeignRun {
    /// The run.
    pub seen: Overview,
    folder: RunFolder,
}

impl ForeignRun {
    /// What it was asked to do.
    pub fn spec(&self) -> &RunSpec {
        &self.seen.spec
    }
}

/// Finds a run to adopt; `None` if it is the person's already.
pub fn run_to_adopt(
    context: &Context<'_>,
    run: &RunSelector,
) -> Result<Option<ForeignRun>, Refusal> {
    context.check_act(GuardedAct::OfPerson("adopt a run"))?;
    let (store, id) = run.find(context)?;
    let folder = open_folder(&store, &id)?;
    if is_own(context, &folder)? {
        return Ok(None);
    }
    Ok(Some(ForeignRun { seen: overview(&store, &folder)?, folder }))
}

/// Makes a run the person's.
pub fn run_adopt(context: &Context<'_>, run: &ForeignRun) -> Result<(), Refusal> {
    context.check_act(GuardedAct::OfPerson("adopt a run"))?;
    let registry = registry(context)
        .ok_or_else(|| Refusal::new(RefusalCode::Io, "cannot record the run: HOME is not set"))?;
    Ok(registry.own(&run.folder, &recorded_changes(&run.folder), context.now())?)
}
