//! Shows a run's report, step by step.

use omx_kernel::{ForeignText, Refusal};
use omx_ops::{Context, RunOwnership, RunSelector, run_show};
use omx_runs::Record;
use omx_store::runs::JournalEntry;

use crate::commands::conduct::{describe_absent, how_to_resume};
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::text::{printable, thousands};

pub(super) fn show(
    context: &Context<'_>,
    run: &RunSelector,
    format: Format,
) -> Result<Exit, Refusal> {
    let report = run_show(context, run)?;
    if format == Format::Json {
        return Ok(output::value(&report.value(), format));
    }
    let (seen, entries) = (&report.overview, &report.entries);
    let id = &seen.id;
    let mut lines = vec![
        format!("{} run {id}", seen.spec.mode.name()),
        format!("  task    {}", seen.spec.task.one_line()),
        format!("  state   {}{}", seen.state, reason(seen.why.raw())),
        format!("  phase   {}", printable(seen.phase.as_ref().map_or("-", ForeignText::raw))),
        format!("  agent   {}", seen.spec.agent),
        format!("  folder  {}", seen.spec.workspace.folder().display()),
        format!("  usage   {} tokens", thousands(seen.usage.tokens())),
    ];
    lines.extend(entries.iter().filter_map(line));
    lines.extend(describe_absent(&report.absent));
    let program = context.dialect.name;
    for question in &seen.attention {
        let (number, what) = (question.number, question.what.one_line());
        lines.push(format!(
            "needs you: allow {} to {what}? {program} runs answer {id} yes|no --question {number}",
            question.step.one_line()
        ));
    }
    match report.ownership {
        RunOwnership::Foreign => lines.push(format!(
            "foreign: you did not start it here; see what it would do: {program} runs adopt {id}"
        )),
        RunOwnership::Own if seen.state.is_resumable() => {
            lines.push(how_to_resume(program, id, seen.why.raw()));
        }
        RunOwnership::Own => {}
    }
    Ok(output::lines(&lines))
}

fn reason(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {}", printable(why)) }
}

fn line(entry: &JournalEntry<Record>) -> Option<String> {
    let what = match &entry.record {
        Record::Opened { .. } => "opened".to_owned(),
        Record::StepStarted { step, .. } => format!("{step} started"),
        Record::Conversation { step, agent, id } => format!("{step} in {agent} conversation {id}"),
        Record::StepFinished { step, .. } => format!("{step} finished"),
        Record::StepFailed { step, error } => format!("{step} failed: {}", printable(error)),
        Record::Committed { step, commit } => {
            format!("{step} committed {}", commit.get(..12).unwrap_or(commit))
        }
        Record::Note { step, note } => format!("{step}: {}", printable(note)),
        Record::WorkAdopted { step, .. } => format!("{step}: the workspace was accepted as it is"),
        Record::StepDiscarded { step, why } => {
            format!("{step} discarded: {}", printable(why))
        }
        Record::InputAccepted { step, .. } => format!("{step} kept as the agent left it"),
        Record::Waiting { what, until, .. } => match until {
            Some(until) => format!("waiting ({what}) until {until}"),
            None => format!("waiting ({what})"),
        },
        Record::LimitRaised { max_iterations } => {
            format!("iteration limit set to {max_iterations}")
        }
        Record::SpecChanged { change } => format!("changed: {}", printable(&change.describe())),
        Record::BudgetRaised { .. } => "budget changed".to_owned(),
        Record::Closed { outcome, why, .. } => format!("{}{}", outcome.as_str(), reason(why)),
        Record::Delivered { .. } | Record::Usage { .. } | Record::Worked { .. } => return None,
    };
    Some(format!("  {}  {what}", entry.at))
}
