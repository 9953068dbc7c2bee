//! The person's word on a run: an answer, a higher limit.

use omx_conductor::drive::NEEDS_FOLDER;
use omx_conductor::record::Record;
use omx_kernel::{Code, Refusal};
use omx_ops::Context;
use omx_store::Store;
use omx_store::runs::{Holder, Taking};

use super::find;
use crate::cli_runs::{AnswerArgs, LimitArgs};
use crate::exit::Exit;
use crate::output;

pub(super) fn answer(store: &Store, args: &AnswerArgs) -> Result<Exit, Refusal> {
    let id = find(store, Some(&args.id))?;
    let folder = store.run(&id)?.ok_or_else(|| Refusal::input(format!("run {id} is gone")))?;
    let needs = folder.path().join(NEEDS_FOLDER);
    let mut open: Vec<u64> = std::fs::read_dir(&needs)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
        .collect();
    open.sort_unstable();
    let number = match args.question {
        Some(number) if open.contains(&number) => number,
        Some(number) => return Err(Refusal::input(format!("run {id} asks no question {number}"))),
        None => *open
            .first()
            .ok_or_else(|| Refusal::input(format!("run {id} does not ask anything")))?,
    };
    let path = needs.join(format!("{number}.answer"));
    let io = |error: std::io::Error| Refusal::new(Code::Io, format!("{}: {error}", path.display()));
    let whole = needs.join(format!(".{number}.tmp"));
    // Under its name only when it is whole.
    std::fs::write(&whole, &args.answer).map_err(io)?;
    std::fs::rename(&whole, &path).map_err(io)?;
    Ok(output::text(&format!("Answered {} to question {number}.\n", args.answer)))
}

pub(super) fn limit(
    context: &Context<'_>,
    store: &Store,
    args: &LimitArgs,
) -> Result<Exit, Refusal> {
    let id = find(store, Some(&args.id))?;
    let mut held = match store.take_run(&id, &Holder::this_process())? {
        Taking::Taken(held) => held,
        Taking::HeldBy(_) => {
            return Err(Refusal::new(
                Code::Busy,
                format!("run {id} is going on; its limit can be raised when it has stopped"),
            ));
        }
        Taking::Missing => return Err(Refusal::input(format!("there is no run {id}"))),
    };
    let record = Record::LimitRaised { max_iterations: args.max_iterations };
    held.journal().append(context.clock.now(), &record)?;
    let words = format!(
        "Run {id} may take {} iterations. Go on: omx runs resume {id}\n",
        args.max_iterations
    );
    Ok(output::text(&words))
}
