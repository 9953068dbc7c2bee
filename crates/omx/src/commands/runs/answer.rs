//! The person's answer to a question of a run.

use omx_kernel::{Refusal, RefusalCode};
use omx_runs::attention::{self, AttentionAnswer};
use omx_store::Store;

use super::find;
use crate::cli_runs::AnswerArgs;
use crate::exit::Exit;
use crate::output;
use crate::text::printable;

pub(super) fn answer(store: &Store, args: &AnswerArgs) -> Result<Exit, Refusal> {
    let id = find(store, Some(&args.id))?;
    let folder =
        store.run(&id)?.ok_or_else(|| Refusal::invalid_input(format!("run {id} is gone")))?;
    let open = attention::open(&folder)?;
    let question = match args.question {
        Some(number) => open.iter().find(|question| question.number == number),
        None => open.first(),
    };
    let question = question.ok_or_else(|| {
        Refusal::invalid_input(match args.question {
            Some(number) => format!("run {id} asks no question {number}"),
            None => format!("run {id} does not ask anything"),
        })
    })?;
    attention::answer(&folder, question.number, AttentionAnswer::parse(&args.answer)?).map_err(
        |error| Refusal::new(RefusalCode::Io, format!("the answer cannot be written: {error}")),
    )?;
    let (answer, what) = (&args.answer, printable(&question.what));
    Ok(output::text(&format!("Answered {answer}: {what} ({}).\n", question.step)))
}
