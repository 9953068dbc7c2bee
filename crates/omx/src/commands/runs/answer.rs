//! Answers an open question of a run.

use omx_kernel::Refusal;
use omx_ops::{Context, RunAnswerRequest, RunSelector, run_answer};
use omx_runs::attention::AttentionAnswer;

use crate::cli_runs::AnswerArgs;
use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn answer(
    context: &Context<'_>,
    args: AnswerArgs,
    format: Format,
) -> Result<Exit, Refusal> {
    let request = RunAnswerRequest {
        run: RunSelector { project: None, id: Some(args.id) },
        question: args.question,
        answer: AttentionAnswer::parse(&args.answer)?,
    };
    let report = run_answer(context, &request)?;
    if format == Format::Json {
        return Ok(output::value(&report.value(), format));
    }
    let (answer, what) = (report.answer.as_str(), report.question.what.one_line());
    Ok(output::lines(&[format!(
        "Answered {answer}: {what} ({}).",
        report.question.step.one_line()
    )]))
}
