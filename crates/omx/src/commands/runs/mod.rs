//! `runs`: what there is, what it did, and going on with it.

use omx_conductor::asked::Asked;
use omx_kernel::{Dialect, Mode, Refusal, RunId};
use omx_ops::Input;
use omx_store::Store;

use super::conduct::{drive::Afterwards, go_on};
use super::with_context;
use crate::cli::Global;
use crate::cli_runs::{RunsArgs, RunsOperation};
use crate::exit::Exit;
use crate::output::Format;

/// Does it.
pub fn run(args: RunsArgs, global: &Global, by_name: Dialect) -> Exit {
    with_context(global, by_name, Format::from_flag(args.json), |context| {
        let store = context.store(&Input::default())?;
        match args.operation {
            Some(RunsOperation::Drive(args)) => {
                let id = find(&store, args.id.as_deref())?;
                go_on(context, &store, &id, &[], Afterwards::Stay, Format::Text)
            }
            Some(RunsOperation::Resume(args)) => {
                let id = find(&store, args.id.as_deref())?;
                let afterwards = if args.detach { Afterwards::Detach } else { Afterwards::Stay };
                let format = Format::from_flag(args.json);
                go_on(context, &store, &id, &args.decide, afterwards, format)
            }
            _ => Err(Refusal::input("not yet")),
        }
    })
}

/// The run whose id begins like this; without any words, the last one.
pub fn find(store: &Store, words: Option<&str>) -> Result<RunId, Refusal> {
    let runs = store.runs()?;
    let words = words.unwrap_or_default();
    let mut fits = runs.iter().filter(|run| run.id.as_str().starts_with(words));
    match (fits.next_back(), words.is_empty()) {
        (None, true) => Err(Refusal::input("there is no run in this project")),
        (None, false) => {
            Err(Refusal::input(format!("there is no run {words}; omx runs lists them")))
        }
        (Some(run), false) if fits.next().is_some() => Err(Refusal::input(format!(
            "several runs begin with {words}, {} among them; say more of its id",
            run.id
        ))),
        (Some(run), _) => Ok(run.id.clone()),
    }
}

/// The run to resume: the one named, or the last of this mode that is not complete.
pub fn find_to_resume(store: &Store, mode: Mode, words: &str) -> Result<RunId, Refusal> {
    if !words.is_empty() {
        return find(store, Some(words));
    }
    for run in store.runs()?.iter().rev() {
        let Some(folder) = store.run(&run.id)? else { continue };
        let asked: Asked = folder.asked()?;
        if asked.mode == mode && !is_complete(store, &run.id, mode) {
            return Ok(run.id.clone());
        }
    }
    Err(Refusal::input(format!("there is no {} run to go on with", mode.name())))
}

fn is_complete(store: &Store, id: &RunId, mode: Mode) -> bool {
    let outcome = || {
        let scope = omx_kernel::Scope::Session(omx_kernel::SessionId::new(id.as_str()).ok()?);
        let document = store.read().ok()??.document(&scope, mode).ok()??;
        document.text("run_outcome").map(|outcome| outcome == "finish")
    };
    outcome().unwrap_or(false)
}
